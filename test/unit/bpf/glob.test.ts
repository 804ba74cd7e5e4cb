/** Patterns of thread names; that the kernel's side matches the same is in test/live/comm-globs.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { commMatcher, compileGlobs, isGlob, matchingGlobs } from '../../../src/bpf/glob.js';
import { parseComms } from '../../../src/options/parsers.js';

const MATCHES: ReadonlyArray<
	readonly [glob: string, yes: readonly string[], no: readonly string[]]
> = [
	['post*', ['postgres', 'post'], ['Postgres', 'pos', 'apost']],
	['*', ['', 'a', 'kworker/0:1-eve'], []],
	['*d', ['sshd', 'd', 'dd'], ['ssh', 'sshds']],
	['php*fpm', ['php-fpm', 'phpfpm', 'php8.2-fpm'], ['php-fpm8']],
	['kworker/?:*', ['kworker/0:1', 'kworker/7:'], ['kworker/u8:1', 'kworker/:1']],
	['Thread-[0-9]', ['Thread-0', 'Thread-9'], ['Thread-', 'Thread-10', 'Thread-a']],
	['[!a-c]x', ['dx', '-x'], ['ax', 'x', 'cx']],
	['[^a]', ['b'], ['a', '']],
	['[]]', [']'], ['[', '']],
	['[a', ['[a'], ['a']],
	['a\\*b', ['a*b'], ['ab', 'axb']],
	['a\\', ['a\\'], ['a']],
	['[a-]', ['a', '-'], ['b']],
	['**a**', ['a', 'xay'], ['x']],
	['?', ['a', '*'], ['', 'ab']],
	['caf?', ['cafe'], ['caf\u00e9']], // two bytes
	['caf??', ['caf\u00e9'], []],
];

test('stars, question marks, ranges, and what is to be itself', () => {
	for (const [glob, yes, no] of MATCHES) {
		assert.ok(isGlob(glob), glob);
		const matches = commMatcher([glob]);
		for (const name of yes) assert.ok(matches(name), `${glob} ${name}`);
		for (const name of no) assert.ok(!matches(name), `${glob} not ${name}`);
	}
});

test('several patterns and names: each is known by itself', () => {
	const tables = compileGlobs(['a*', '*b', '?']);
	assert.deepEqual(matchingGlobs(tables, 'ab'), [true, true, false]);
	assert.deepEqual(matchingGlobs(tables, 'b'), [false, true, true]);
	assert.deepEqual(matchingGlobs(tables, 'c'), [false, false, true]);
	assert.deepEqual(matchingGlobs(tables, ''), [false, false, false]);
	const matches = commMatcher(['redis*', 'sh']);
	assert.ok(matches('redis-server') && matches('sh') && !matches('bash') && !matches('shx'));
});

const letters = 'ab*?';
const glob = fc
	.array(fc.constantFrom(...letters), { maxLength: 12 })
	.map((parts) => parts.join(''))
	.filter(isGlob);
const name = fc
	.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 15 })
	.map((parts) => parts.join(''));

test('the same as a regular expression says', () => {
	fc.assert(
		fc.property(fc.array(glob, { minLength: 1, maxLength: 4 }), name, (globs, text) => {
			const expected = globs.map((each) =>
				new RegExp(`^${each.replaceAll('*', '.*').replaceAll('?', '.')}$`).test(text),
			);
			assert.deepEqual(matchingGlobs(compileGlobs(globs), text), expected);
		}),
		{ numRuns: 3000 },
	);
});

test('too long, too many: said, and not cut', () => {
	assert.throws(() => parseComms('0123456789abcdef*'), /the kernel keeps only 15 bytes/);
	assert.deepEqual(parseComms('*0123456789abcde*'), ['*0123456789abcde*']);
	const many = ['aaaaaaaaaaaaaa*', 'bbbbbbbbbbbbbb*', 'cccccccccccccc*', 'dddddddddddddd*'];
	assert.deepEqual(parseComms(many.join()), many);
	// All that there is room for: each has its end, too.
	const full = ['a'.repeat(15), 'b'.repeat(15), 'c'.repeat(15), 'd'.repeat(14)];
	assert.equal(compileGlobs([...full, '*']).ends.at(-1), 1n << 63n);
	assert.throws(() => compileGlobs([...full, 'e']), /64 characters/);
	assert.throws(() => parseComms([...many, 'eeeeee*'].join()), /64 characters/);
	assert.throws(() => parseComms('eeeeee*', many), /64 characters/);
	assert.throws(() => parseComms('0123456789abcdef'), /give "0123456789abcde"/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { profileTotal } from '../../../src/aggregate/stack-profile.js';
import { MAX_STACK_FRAMES } from '../../../src/aggregate/stack-table.js';
import { TstraceError } from '../../../src/errors.js';
import { readLines } from '../../../src/input/lines.js';
import { fromFolded, toFolded } from '../profiles.js';
import { foldedOf, profileOfText } from './formats.js';

test('lines that read the same are added up; marks tell kinds and stay', async () => {
	const { profile, notices } = await fromFolded('a;b_[k] 3\na;c_[j] 5\na;b_[k] 4\na;d_[i];e 1\n');
	assert.equal(toFolded(profile), 'a;b_[k] 7\na;c_[j] 5\na;d_[i];e 1\n');
	const { frames } = profile;
	const kinds = Array.from({ length: frames.size }, (_, frame) => frames.frame(frame));
	assert.deepEqual(kinds, [
		{ name: 'a', kind: 'user' },
		{ name: 'b', kind: 'kernel' },
		{ name: 'c', kind: 'jit' },
		{ name: 'd', kind: 'inlined' },
		{ name: 'e', kind: 'user' },
	]);
	assert.deepEqual(notices, []);
});

test('names with blanks, numbers, brackets; CRLF; no newline at the end; empty lines', async () => {
	const { profile } = await fromFolded(
		'main;operator new(unsigned long) 2\r\n\r\n\na 1;b 7 3\t\n_[k] 1',
	);
	assert.equal(toFolded(profile), '_[k] 1\na 1;b 7 3\nmain;operator new(unsigned long) 2\n');
});

test('counts: fractional ones are added as they are; large ones are exact', async () => {
	const { profile } = await fromFolded(`a 0.5\na 1.25\nb 9007199254740991\nc 1e3\nd 0\ne 2.\n`);
	assert.equal(toFolded(profile), 'a 1.75\nb 9007199254740991\nc 1000\ne 2\n');
});

test('lines without a count are left out, and it is said', async () => {
	const { profile, notices } = await fromFolded('a;b 3\n# comment\na;c\na;d 5\n');
	assert.equal(toFolded(profile), 'a;b 3\na;d 5\n');
	assert.deepEqual(notices, ['left out 2 of 4 lines: they have no count (the first: line 2)']);
});

const REFUSED: ReadonlyArray<readonly [what: string, content: string, said: RegExp]> = [
	['empty', '', /the input is empty/],
	['only newlines', '\n\n \n', /the input is empty/],
	['no counts', 'hello\nworld\n', /no line of it ends with a count/],
	['negative', 'a 3\na;b -2\n', /line 2 is negative \(-2\).*tstrace diff/],
	['too large', `a ${'9'.repeat(17)}\n`, /line 1 is larger than 9007199254740991/],
	['not finite', `a 1${'0'.repeat(400)}\n`, /line 1 is larger/],
	['differences', 'a;b 3 4\na;c 1 0\na;d 2 0\n', /two counts.*tstrace diff/],
	['too deep', `${'f;'.repeat(MAX_STACK_FRAMES)}g 1\n`, /line 1 has more than 65536 frames/],
];

for (const [what, content, said] of REFUSED) {
	test(`refused: ${what}`, async () => {
		await assert.rejects(fromFolded(content), (error: Error) => {
			assert.ok(error instanceof TstraceError);
			assert.match(error.message, said);
			return true;
		});
	});
}

test('depth 5,000, and a name of ten thousand characters', async () => {
	const deep = Array.from({ length: 5000 }, (_, i) => `f${i}`).join(';');
	const { profile } = await fromFolded(`${deep} 1\n${'n'.repeat(10_000)} 2\n`, 1000);
	assert.equal(profile.stacks.depth(0), 5000);
	assert.equal(toFolded(profile), `${deep} 1\n${'n'.repeat(10_000)} 2\n`);
});

test('any text: a profile or an error for the user, however it is cut into chunks', async () => {
	const line = fc.oneof(
		fc.string(),
		fc.tuple(fc.string(), fc.integer()).map(([name, count]) => `${name} ${count}`),
	);
	await fc.assert(
		fc.asyncProperty(fc.array(line), fc.integer({ min: 1, max: 50 }), async (lines, bytes) => {
			const outcome = async (size?: number) => {
				try {
					return toFolded((await fromFolded(lines.join('\n'), size)).profile);
				} catch (error) {
					assert.ok(error instanceof TstraceError, String(error));
					return error.message;
				}
			};
			assert.equal(await outcome(bytes), await outcome());
		}),
	);
});

const NAME = fc
	.string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
	.filter((name) => !/[;\p{C}\p{Z}]|_\[[kji]\]$/u.test(name));

test('what was written is read: all names, all counts', async () => {
	const stacks = fc.dictionary(
		fc.array(NAME, { minLength: 1, maxLength: 20 }).map((names) => names.join(';')),
		fc.integer({ min: 1, max: 2 ** 40 }),
		{ minKeys: 1, maxKeys: 50 },
	);
	await fc.assert(
		fc.asyncProperty(stacks, async (counts) => {
			const text = Object.entries(counts)
				.map(([stack, count]) => `${stack} ${count}\n`)
				.sort()
				.join('');
			const { profile } = await fromFolded(text, 7);
			assert.equal(toFolded(profile), text);
			const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
			assert.equal(profileTotal(profile), total);
		}),
	);
});

test('frames in braces, as PHP names them, are no JSON', async () => {
	const text = '{main};foo 12\n{main};{closure} 3\n';
	assert.equal(foldedOf(await profileOfText(text)), text);
});

test('brackets of a name are a mark only behind an underscore, and with something in front', async () => {
	const { profile } = await fromFolded('at[k];end_[k] 2\n');
	const { frames } = profile;
	assert.deepEqual(
		[frames.frame(0), frames.frame(1)],
		[
			{ name: 'at[k]', kind: 'user' },
			{ name: 'end', kind: 'kernel' },
		],
	);
});

test('few lines may have names that end with a number; many are differences, with decimals, too', async () => {
	const { profile } = await fromFolded('Thread 1 5\nThread 2 7\n');
	assert.equal(toFolded(profile), 'Thread 1 5\nThread 2 7\n');
	await assert.rejects(fromFolded('a 1.5 2\nb 2.5 1\nc 0.5 3\n'), /two counts/);
});

test('counts: either e, powers below one; a number is too large, or negative, in any form', async () => {
	assert.equal(toFolded((await fromFolded('a 1E3\nb 25e-1\n')).profile), 'a 1000\nb 2.5\n');
	await assert.rejects(fromFolded('a 9999999999999999\n'), /line 1 is larger/);
	await assert.rejects(fromFolded('a 9999999999999998\n'), /line 1 is larger/);
	await assert.rejects(fromFolded('a -2.5\n'), /line 1 is negative \(-2\.5\)/);
});

test('a line that is too long is named, however it came; others may be as long as there is room', async () => {
	const half = Buffer.alloc(1 << 20, 'a');
	const lines: number[] = [];
	const read = async (...chunks: Buffer[]) => {
		lines.length = 0;
		const each = async function* () {
			for (const chunk of chunks) yield chunk;
		};
		await readLines(each(), (_, from, to) => lines.push(to - from), 2 << 20);
	};
	const end = Buffer.from('\n');
	await read(end, half, half, end, half, half, end);
	assert.deepEqual(lines, [0, 2 << 20, 2 << 20]);
	await assert.rejects(read(end, end, half, half, half), {
		name: 'TstraceError',
		message: /^line 3 is longer than 2 MiB, /,
	});
});

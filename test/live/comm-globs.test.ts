/** Patterns of thread names: the kernel's side is the same as ours; who is renamed, or comes later, is traced. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compileGlobs, matchingGlobs } from '../../src/bpf/glob.js';
import { BpfObject } from '../../src/loader/object.js';
import { callable } from './program-as-function.js';
import { stackReport } from './stacks.js';
import { Tracing, tstrace, until, Workload } from './support.js';
import { switches } from './times.js';

const LAYOUT = {
	name: 'globs',
	structs: {},
	enums: {},
	sections: {
		'.rodata': {
			size: 2072,
			fields: {
				glob_accepts: { offset: 0, size: 2048 },
				glob_stays: { offset: 2048, size: 8 },
				glob_begins: { offset: 2056, size: 8 },
				glob_ends: { offset: 2064, size: 8 },
			},
		},
	},
	maps: {},
	programs: ['match_globs'],
} as const;

const STATES = 64n;

/** The kernel's own matching, with these patterns. */
function inKernel(globs: readonly string[]): { matching(name: string): boolean[]; close(): void } {
	const { accepts, stays, begins, ends } = compileGlobs(globs);
	const object = new BpfObject(`build/test-bpf/${process.arch}/globs.bpf.o`, LAYOUT);
	const table = object.constantBytes('glob_accepts');
	for (const [byte, states] of accepts.entries()) table.setBigUint64(byte * 8, states, true);
	object.constantBytes('glob_stays').setBigUint64(0, stays, true);
	object.constantBytes('glob_begins').setBigUint64(0, begins, true);
	const all = ends.reduce((sum, end) => sum | end, 0n);
	object.constantBytes('glob_ends').setBigUint64(0, all, true);
	object.load(['match_globs']);
	const match = callable(object, 'match_globs', 3);
	return {
		matching(name) {
			const bytes = Buffer.alloc(16);
			Buffer.from(name).copy(bytes, 0, 0, 15);
			const [first, second] = [bytes.readBigUInt64LE(0), bytes.readBigUInt64LE(8)];
			const low = BigInt(match(first, second, 0n));
			const high = BigInt(match(first, second, STATES / 2n));
			const states = low | (high << (STATES / 2n));
			return ends.map((end) => (states & end) !== 0n);
		},
		close: () => object.close(),
	};
}

const piece = fc.constantFrom('a', 'b', '*', '?', '[ab]', '[!a]');
const pattern = fc.array(piece, { minLength: 1, maxLength: 9 }).map((parts) => parts.join(''));
const name = fc.oneof(
	fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 15 }).map((parts) => parts.join('')),
	fc.string({ unit: 'binary', maxLength: 15 }),
);

test('the kernel matches as user space does', () => {
	const sets = fc.sample(fc.array(pattern, { minLength: 1, maxLength: 5 }), {
		numRuns: 20,
		seed: 4711,
	});
	for (const globs of [
		...sets,
		['a*', '*'.repeat(5), '?'.repeat(15), 'b'.repeat(15), 'a'.repeat(15)],
	]) {
		const kernel = inKernel(globs);
		try {
			const tables = compileGlobs(globs);
			fc.assert(
				fc.property(name, (text) => {
					assert.deepEqual(kernel.matching(text), matchingGlobs(tables, text), globs.join());
				}),
				{ numRuns: 200 },
			);
		} finally {
			kernel.close();
		}
	}
});

test('--comm "glob-*": who is renamed meanwhile, and nobody else', async () => {
	const args = ['offcputime', '--exact', '--comm', 'glob-*,*-other', '--json'];
	const tracing = await Tracing.start(args);
	// It begins as "names", and takes its name later.
	const renamed = await Workload.start('names', 'glob-later');
	const other = await Workload.start('names', 'aglob-x');
	const { pid } = renamed;
	await renamed.end();
	await other.end();
	const { stdout, stderr, status } = await tracing.end('SIGINT');
	const { stacks } = stackReport({ stdout, stderr, status });
	assert.ok(stacks.some(({ key }) => key.pid === pid));
	assert.ok(stacks.every(({ key }) => `${key.comm}`.startsWith('glob-')));
	assert.match(stderr, /only threads named glob-\* or \*-other/);
	// The one that was there has ended by now, and was seen.
	assert.doesNotMatch(stderr, /glob-\*;/);
	assert.match(stderr, /no thread has a name like \*-other/);
});

test('names that no thread has: said at the end, with the one that was meant', async () => {
	const hog = await Workload.start('hog', '0');
	const trace = (tool: string, comm: string, ...count: readonly string[]) =>
		tstrace([tool, '-p', `${hog.pid}`, '--comm', comm, '0.2', ...count]);
	const missed = trace('runqlat', 'hogg', '1');
	const found = trace('runqlat', 'h?g', '1');
	const both = trace('offcputime', 'hog,nobody');
	await hog.end();
	assert.match(
		missed.stderr,
		new RegExp(`no thread of process ${hog.pid} has the name hogg; did\\s+you mean hog\\?`),
	);
	assert.equal(missed.status, 0);
	assert.doesNotMatch(found.stderr, /no thread/);
	assert.match(both.stderr, /has the name nobody/);
	assert.doesNotMatch(both.stderr, /has the name hog\b/);
});

test('of several patterns, those that matched none are named, and no other, wherever they stand', async () => {
	const there = await Promise.all(
		['glob-one', 'glob-two'].map((comm) => Workload.start('names', comm)),
	);
	const lists = [
		['glob-o*', '*-none', 'glob-t*'],
		['none-*', 'glob-t*', 'glob-o*', '*-none'],
		['glob-o*', 'glob-t*'],
	];
	const traces = await Promise.all(
		lists.map((list) => Tracing.start(['runqlat', '--json', '--comm', list.join()])),
	);
	for (const { pid } of there) {
		const before = switches(pid);
		await until(() => switches(pid) > before + 2);
	}
	// Of a pattern that matches a thread that is there nothing is said in any case.
	for (const each of there) await each.end();
	for (const [i, trace] of traces.entries()) {
		const { stderr } = await trace.end('SIGINT');
		const named = stderr.replace(/\s+/g, ' ').matchAll(/has a name like ([^ ;]+)/g);
		assert.deepEqual(
			Array.from(named, ([, pattern]) => pattern),
			lists[i]?.filter((pattern) => pattern.includes('none')),
		);
	}
});

/** Stacks as text, whole: heads, shares, what stands below them, and what they add up to. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Frame } from '../../../src/aggregate/stack.js';
import type { StackFindings, StackRow } from '../../../src/aggregate/stack-rows.js';
import { renderStacks, type StackTextOptions } from '../../../src/render/stacks.js';

const OPTIONS: StackTextOptions = {
	style: { colour: false, width: 80 },
	top: 0,
	delimited: false,
	annotated: false,
	verb: 'waited',
};

const FRAMES: readonly Frame[] = [
	{ name: 'main', kind: 'user' },
	{ name: 'load', kind: 'jit' },
	{ name: 'sys_read', kind: 'kernel' },
	{ name: 'vfs_read', kind: 'kernel' },
];

const row = (value: number, more: Partial<StackRow> = {}): StackRow => ({
	key: { pid: 7, comm: 'app' },
	frames: FRAMES,
	parts: [value],
	value,
	count: 3,
	variance: 0,
	...more,
});

function text(
	stacks: readonly StackRow[],
	about: Partial<StackFindings> = {},
	options: Partial<StackTextOptions> = {},
): string {
	const findings: StackFindings = {
		...{
			kind: 'stacks',
			unit: 'ns',
			about: {},
			noun: 'wait',
			parts: ['blocked'],
			stacks,
			notices: [],
		},
		...about,
	};
	return renderStacks(findings, { ...OPTIONS, ...options });
}

test('one stack: how much, how often, whose, leaf first, and the sum', () => {
	assert.equal(
		text([row(2e9)]),
		`
   2.00 s   100.0 %           3 waits  app (7)
    vfs_read
    sys_read
    load
    main

2.00 s waited in 1 stack, 3 waits
`,
	);
	assert.equal(text([]), '');
	assert.match(text([row(1, { frames: [] })]), /\n {4}\(no stack\)\n/);
});

test('samples are counted once: there is no other number of them', () => {
	assert.equal(
		text([row(30), row(10, { frames: [] })], { unit: 'samples', noun: 'sample' }, { verb: 'ran' }),
		`
    30 samples    75.0 %  app (7)
    vfs_read
    sys_read
    load
    main

    10 samples    25.0 %  app (7)
    (no stack)

    30 samples   75.0 %  app (7): load → vfs_read
    10 samples   25.0 %  app (7): (no stack)

40 samples ran in 2 stacks
`,
	);
});

test('--delimited parts the kernel from what called it, and nothing else', () => {
	const lines = text([row(1)], {}, { delimited: true }).split('\n');
	assert.deepEqual(lines.slice(2, 7), [
		'    vfs_read',
		'    sys_read',
		'    --',
		'    load',
		'    main',
	]);
	const user = FRAMES.slice(0, 2);
	assert.doesNotMatch(text([row(1, { frames: user })], {}, { delimited: true }), /--/);
	const kernel = FRAMES.slice(2);
	assert.doesNotMatch(text([row(1, { frames: kernel })], {}, { delimited: true }), /--/);
	assert.doesNotMatch(text([row(1)]), /--/);
});

test('--annotated marks what is not user code', () => {
	assert.match(
		text([row(1)], {}, { annotated: true }),
		/ {4}vfs_read_\[k\]\n {4}sys_read_\[k\]\n {4}load_\[j\]\n {4}main\n/,
	);
});

test('an estimate has its error, in its unit and as a share; what is exact has none', () => {
	const about = text([row(2e9, { variance: 1e16 })]);
	assert.match(about, /^ {4}± 100 ms \(5\.0 %\)$/m);
	assert.match(about, / ~3 waits {2}app/);
	assert.match(about, /\n2\.00 s waited in 1 stack, ~3 waits\n {4}± 100 ms \(5\.0 %\)\n$/);
	assert.doesNotMatch(text([row(2e9)]), /[±~]/);
	assert.doesNotMatch(text([row(0, { variance: 4 }), row(5)]).split('\n\n')[0] ?? '', /±/);
});

test('parts are said where there are several, and only those that there are', () => {
	const parts = ['blocked', 'run queue', 'preempted'];
	const mixed = text([row(3e9, { parts: [1e9, 2e9, 0] })], { parts });
	assert.match(mixed, /^ {4}blocked 1\.00 s, run queue 2\.00 s$/m);
	assert.match(mixed, /waited in 1 stack, 3 waits\n {4}blocked 1\.00 s, run queue 2\.00 s\n$/);
	const one = text([row(3e9, { parts: [3e9, 0, 0], key: { comm: 'app', kind: 'blocked' } })], {
		parts,
	});
	assert.doesNotMatch(one.split('\n\n')[0] ?? '', /blocked 3/, 'its key says which part it is');
	const error = text([row(3e9, { parts: [1e9, 2e9, 0], variance: 9e16 })], { parts });
	assert.match(error, /^ {4}3\.00 s ± 300 ms \(10\.0 %\) {2}blocked 1\.00 s, run queue 2\.00 s$/m);
});

test('a single allocation: its address, and what it stands for if it was sampled', () => {
	const one = (more: Partial<StackRow> = {}) =>
		row(4096, { key: { address: '0x7f00', comm: 'app', pid: 7 }, count: 1, ...more });
	const memory = { unit: 'bytes', noun: 'allocation' } as const;
	const exact = text([one()], memory, { verb: 'outstanding' });
	assert.match(exact, /^\n {7}4,096 B {3}100\.0 % {2}0x7f00 {2}app \(7\)\n/);
	assert.match(exact, /\n4,096 B outstanding in 1 allocation\n$/);
	const sampled = text([one({ variance: 4096, count: 5 })], memory, { verb: 'outstanding' });
	assert.match(sampled, /^ {4}± 64 B \(1\.6 %\) {2}stands for ~5 allocations$/m);
	assert.match(sampled, /\n4,096 B outstanding in 1 allocation, for ~5 allocations\n/);
	assert.match(text([one(), one()], memory), /in 2 allocations\n/);
});

test('--top: the rest is counted, with its share', () => {
	const rows = [row(6e9), row(3e9), row(1e9)];
	const some = text(rows, {}, { top: 1 });
	assert.match(some, /\n… 2 more stacks: 4\.00 s, 40\.0 % \(--top 0 shows all\)\n/);
	assert.match(
		text(rows, {}, { top: 2 }),
		/\n… 1 more stack: 1\.00 s, 10\.0 % \(--top 0 shows all\)\n/,
	);
	assert.doesNotMatch(text(rows, {}, { top: 3 }), /more/);
	assert.doesNotMatch(text(rows), /more/);
	// All of them count in the sum, shown or not.
	assert.match(some, /\n10\.0 s waited in 3 stacks, 9 waits\n$/);
});

test('what is left out is said below the sum, within the width', () => {
	const leftOut = [
		{ by: 'grep', rows: [row(1e9)] },
		{ by: 'exclude', rows: [row(2e9)] },
		{ by: 'idle', rows: [row(3e9)], threads: 12 },
	] as const;
	assert.match(
		text([row(1)], { leftOut }),
		/\n {4}left out: 1\.00 s in 1 stack by --grep; 2\.00 s in 1 stack by --exclude; 3\.00\n {4}s of 12 idle threads\n$/,
	);
});

test('a line about a row comes with what else is said of it', () => {
	const detail = ({ value }: StackRow) => (value > 5 ? `value ${value}` : '');
	const said = text([row(9), row(1)], {}, { detail });
	assert.equal(said.match(/^ {4}value 9$/gm)?.length, 1);
	assert.doesNotMatch(said, /value 1/);
	const wide = text([row(9, { variance: 1 })], {}, { detail: () => 'x'.repeat(70) });
	assert.match(wide, /\n {4}± 1 ns \(11\.1 %\)\n {4}x{70}\n/);
});

test('whose: with what is known of it', () => {
	const owner = (key: StackRow['key'], more: Partial<StackRow> = {}) =>
		/waits? {2}(.*)$/m.exec(text([row(1, { key, ...more })]))?.[1];
	assert.equal(owner({ comm: 'app' }), 'app');
	assert.equal(owner({ comm: 'app', pid: 7 }), 'app (7)');
	assert.equal(owner({ comm: 'app', pid: 7, tid: 8 }), 'app (7, thread 8)');
	assert.equal(owner({ comm: 'app', pid: 7, tid: 0 }), 'app (7)');
	assert.equal(owner({ comm: 'app' }, { processes: 1200 }), 'app (1,200 processes)');
	assert.equal(owner({ comm: 'app', pid: 7, kind: 'blocked' }), 'blocked: app (7)');
	assert.equal(owner({ comm: 'a\u001b[m' }), 'a\\x1b[m');
	assert.equal(owner({ pid: 7 }), ' (7)');
});

test('a summary that is too long for its line has one of its own, as wide as there is room', () => {
	const names = Array.from({ length: 2 }, (_, i) => `${'name_'.repeat(12)}${i}`);
	const frames = (name = ''): Frame[] => [
		{ name: `${name}_program`, kind: 'user' },
		{ name: `${name}_kernel`, kind: 'kernel' },
	];
	const said = text(names.map((name) => row(1e9, { frames: frames(name) })));
	const lines = said.split('\n').filter((line) => line.startsWith(' '.repeat(20)));
	assert.equal(lines.length, 2);
	for (const line of lines) {
		assert.ok(line.length <= 80 && line.length > 60, line);
		assert.match(line, /^ {20}\S.* → \S+$/);
	}
	for (const line of said.split('\n')) assert.ok(line.length <= 80, line);
});

test('waits that read the same and ended elsewhere have a line for each end', () => {
	const waitFor = (name: string, did: 'ran' | 'was blocked') => ({
		key: { pid: 8, comm: 'server' },
		frames: [{ name, kind: 'user' } as const],
		did,
	});
	const said = text([
		row(3e9, { waker: waitFor('compress', 'ran') }),
		row(2e9, { waker: waitFor('write_log', 'was blocked') }),
		row(1e9, { waker: waitFor('compress', 'ran'), frames: [...FRAMES, ...FRAMES.slice(-1)] }),
	]);
	const lines = said.split('\n');
	const ends = lines.flatMap((line, i) => (/^ +← /.test(line) ? [[lines[i - 1], line]] : []));
	assert.equal(ends.length, 2, said);
	for (const [[who = '', end = ''] = [], value, by] of [
		[ends[0], '4.00 s', 'server (8): compress (ran)'],
		[ends[1], '2.00 s', 'server (8): write_log (was blocked)'],
	] as const) {
		assert.ok(who.trim().startsWith(value), said);
		assert.ok(end.endsWith(`← ${by}`), end);
	}
});

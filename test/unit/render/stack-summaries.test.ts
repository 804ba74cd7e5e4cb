/** The lines at the end: who was waited for at last, and which of them is the largest. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Frame } from '../../../src/aggregate/stack.js';
import type { StackFindings, StackRow, Waker } from '../../../src/aggregate/stack-rows.js';
import { largestSummary, summaryLines } from '../../../src/render/stack-summaries.js';

const PARTS = ['blocked', 'run queue'];
const frames = (...names: string[]): Frame[] => names.map((name) => ({ name, kind: 'user' }));

const row = (value: number, names: string[], more: Partial<StackRow> = {}): StackRow => ({
	...{ key: { pid: 7, comm: 'app' }, frames: frames(...names), parts: [value, 0], value },
	...{ count: 1, variance: 0, ...more },
});

const findings = (
	stacks: readonly StackRow[],
	more: Partial<StackFindings> = {},
): StackFindings => ({
	...{ kind: 'stacks', unit: 'ns', about: {}, noun: 'wait', parts: PARTS, notices: [] },
	...{ stacks, ...more },
});

const lines = (stacks: readonly StackRow[], more: Partial<StackFindings> = {}) =>
	summaryLines(10, findings(stacks, more), { style: { width: 80 } })
		.trimEnd()
		.split('\n')
		.slice(1);

test('below a line stands the last waker that was followed, with what it did', () => {
	const last: Waker = { key: { pid: 9, comm: 'disk' }, frames: frames('flush'), did: 'ran' };
	const between: Waker = {
		...{ key: { pid: 8, comm: 'db' }, frames: frames('query'), did: 'was blocked', waker: last },
	};
	assert.deepEqual(lines([row(4e9, ['load'], { waker: between })]), [
		'   4.00 s  100.0 %  app (7): load',
		'                    ← disk (9): flush (ran)',
	]);
	// One of which nobody knows what it did was not followed.
	const { did, ...unknown } = last;
	assert.deepEqual(lines([row(4e9, ['load'], { waker: { ...between, waker: unknown } })]), [
		'   4.00 s  100.0 %  app (7): load',
		'                    ← db (8): query (was blocked)',
	]);
	assert.deepEqual(lines([row(4e9, ['load'], { waker: unknown })]), [
		'   4.00 s  100.0 %  app (7): load',
	]);
});

test('what a waker lacks is its own matter, and not that of the one that waited', () => {
	const read: Frame = { name: 'read', kind: 'user', inCLibrary: true };
	const waker = { key: { comm: 'db' }, frames: [read], did: 'ran', callerMissing: true } as const;
	assert.deepEqual(lines([row(1e9, ['load'], { waker })]), [
		'   1.00 s  100.0 %  app (7): load',
		'                    ← db: … read (ran)',
	]);
	const cut = row(1e9, [], {
		cut: 'too deep',
		frames: [read],
		waker: { ...waker, callerMissing: false },
	});
	assert.deepEqual(lines([cut]), [
		'   1.00 s  100.0 %  app (7): … read',
		'                    ← db: read (ran)',
	]);
});

test('the largest line: whose, what it does, how much; of nothing there is none', () => {
	const stacks = [row(3e9, ['main', 'load']), row(2e9, ['main', 'wait']), row(2e9, ['x', 'wait'])];
	assert.deepEqual(largestSummary(findings(stacks), {}), {
		owner: 'app (7)',
		name: 'wait',
		value: 4e9,
	});
	const telling = () => [{ name: 'futex_wait', kind: 'kernel' }] as const;
	assert.equal(
		largestSummary(findings(stacks), { telling }).name,
		'wait',
		"the program's, not that",
	);
	assert.deepEqual(largestSummary(findings([]), {}), { owner: '', name: '', value: 0 });
});

test('nearly all is said as a share, and all as a word; what is in no line is added up', () => {
	const queued = (share: number) => ({ parts: [(1 - share) * 1e9, share * 1e9] });
	const said = (share: number) =>
		/\((.*)\)$/.exec(
			lines([row(1e9, ['f'], { key: { comm: 'a' }, ...queued(share) })])[0] ?? '',
		)?.[1];
	assert.deepEqual([0.99, 0.996, 1].map(said), ['99 % run queue', 'run queue', 'run queue']);
	const unsure = { variance: 1e18 };
	assert.deepEqual(lines([row(3e9, ['f']), row(6e8, ['g'], unsure), row(4e8, ['h'], unsure)]), [
		'   3.00 s   75.0 %  app (7): f',
		'   1.00 s   25.0 %  elsewhere',
	]);
});

test('bytes and samples are as wide as their numbers', () => {
	const sized = (unit: StackFindings['unit']) =>
		lines([row(12_345, ['f']), row(8, ['g'])], { unit, parts: ['size'] });
	for (const unit of ['bytes', 'samples'] as const) {
		const at = sized(unit).map((line) => line.indexOf('app'));
		assert.equal(at[0], at[1], sized(unit).join('\n'));
	}
});

test('what tells most of a waker is asked of its own frames', () => {
	const kernel = (name: string): Frame => ({ name, kind: 'kernel' });
	const waker = {
		key: { comm: 'db' },
		frames: [...frames('query'), kernel('fsync_f')],
		did: 'ran',
	} as const;
	const of = row(1e9, [], { frames: [...frames('load'), kernel('read_f'), kernel('x')], waker });
	const telling = (each: StackRow) => each.frames.slice(1, 2);
	const said = summaryLines(10, findings([of]), { style: { width: 80 }, telling });
	assert.match(said, / app \(7\): load → read_f\n +← db: query → fsync_f \(ran\)\n$/);
});

test('lines fit where there is little room; names behind the first are short where there is much', () => {
	const names = ['program', 'library', 'kernel'].map((name) => `${name}${'_long'.repeat(9)}`);
	const of = row(1e9, [], { frames: frames(names[0] as string) });
	const telling = () => frames(...names.slice(1));
	const lined = (width: number) =>
		summaryLines(10, findings([of]), { style: { width }, telling })
			.trim()
			.split('\n');
	for (const width of [60, 70, 80, 100])
		for (const line of lined(width)) assert.ok(line.length <= width, `${width}: ${line}`);
	const [whole = ''] = lined(1000);
	const [first, ...behind] = whole.replace(/^.*: /, '').split(/ → | … /);
	assert.equal(first, names[0]);
	assert.deepEqual(
		behind.map((name) => [name.length, name.at(-1)]),
		[
			[32, '…'],
			[32, '…'],
		],
	);
});

test('the call that the kernel names is not said twice, however the C library calls it', () => {
	const waits = (call: string, kernel: string) => {
		const library: Frame = { name: call, kind: 'user', inCLibrary: true };
		const of = row(1e9, [], {
			frames: [...frames('main'), library, { name: kernel, kind: 'kernel' }],
		});
		const telling = () => of.frames.slice(1);
		const said = summaryLines(10, findings([of]), { style: { width: 80 }, telling });
		return said.trim().replace(/^.*: /, '');
	};
	for (const call of ['send', '__send', '__libc_send', '__GI_send', '__GI___libc_send'])
		assert.equal(waits(call, 'tcp_sendmsg'), 'main → tcp_sendmsg', call);
	assert.equal(waits('resend', 'tcp_sendmsg'), 'main → resend → tcp_sendmsg');
});

test('the largest line is first, of however many stacks another one is', () => {
	const stacks = [row(5e9, ['f']), row(1e9, ['main', 'g']), row(1e9, ['x', 'g'])];
	assert.deepEqual(lines(stacks), [
		'   5.00 s   71.4 %  app (7): f',
		'   2.00 s   28.6 %  app (7), 2 stacks: g',
	]);
});

test('where parts are apart, whose it is says which; the first thread of a process is one, too', () => {
	const key = { part: 'run queue', pid: 7, tid: 7, comm: 'app' };
	assert.deepEqual(lines([row(1e9, ['f'], { key, parts: [0, 1e9] })]), [
		'   1.00 s  100.0 %  run queue: app (7, thread 7): f',
	]);
});

test('a line that just fits stays one; with what most of it was, no line is too long', () => {
	const of = row(1e9, [`function${'_long'.repeat(4)}`], { parts: [6e8, 4e8] });
	const lined = (width: number) =>
		summaryLines(10, findings([of]), { style: { width } })
			.trimEnd()
			.split('\n')
			.slice(1);
	const [whole = ''] = lined(1000);
	assert.match(whole, / \(40 % run queue\)$/);
	assert.deepEqual(lined(whole.length), [whole]);
	for (const width of [whole.length - 1, 60, 55, 50]) {
		assert.equal(lined(width).length, 2);
		for (const line of lined(width)) assert.ok(line.length <= width, `${width}: ${line}`);
	}
});

/** Stacks as text, on a terminal of 80 columns. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Frame } from '../../../src/aggregate/stack.js';
import type { StackFindings, StackRow } from '../../../src/aggregate/stack-rows.js';
import { entryFrames, waitFrames } from '../../../src/aggregate/summary-frames.js';
import { renderStacks } from '../../../src/render/stacks.js';
import { anyText } from '../any-text.js';

const OPTIONS = {
	style: { colour: false, width: 80 },
	top: 0,
	delimited: false,
	annotated: false,
	verb: 'waited',
	telling: ({ frames }: StackRow) => waitFrames(frames),
};

function framesOf(user: string, kernel = ''): Frame[] {
	return [
		...user.split(';').map((name): Frame => {
			const own = name.replace(/^libc:/, '');
			return { name: own, kind: 'user', ...(own === name ? {} : { inCLibrary: true }) };
		}),
		...kernel.split(';').flatMap((name): Frame[] => (name ? [{ name, kind: 'kernel' }] : [])),
	];
}

function row(frames: Frame[], more: Partial<StackRow> = {}): StackRow {
	const numbers = { parts: [2e9, 0, 0], value: 2e9, count: 1, variance: 0 };
	return { key: { pid: 812, comm: 'shop' }, frames, ...numbers, ...more };
}

const findings = (stacks: readonly StackRow[]): StackFindings => ({
	kind: 'stacks',
	unit: 'ns',
	about: {},
	noun: 'wait',
	parts: ['blocked', 'run queue', 'preempted'],
	stacks,
	notices: [],
});

const LOCK = framesOf(
	'libc:start_thread;worker;place_order;libc:__lll_lock_wait',
	'do_syscall_64;__x64_sys_futex;do_futex;futex_wait;futex_do_wait;schedule',
);

/** The lines below the stacks; a second row, as of one there are none. */
function summaries(...rows: readonly StackRow[]): string[] {
	const text = renderStacks(findings([...rows, row(framesOf('other'))]), OPTIONS);
	const all = text.split('\n\n').at(-2) ?? '';
	const lines = all.replace(/:\n +/g, ': ').split('\n');
	return lines.slice(0, rows.length).map((line) => line.replace(/^.*% {2}/, ''));
}

test("the program's function, and the kernel's that tells the kind", () => {
	assert.deepEqual(summaries(row(LOCK)), [
		'shop (812): place_order → __lll_lock_wait → futex_wait',
	]);
	assert.deepEqual(summaries(row(LOCK, { callerMissing: true })), [
		'shop (812): place_order … __lll_lock_wait → futex_wait',
	]);
	const cut = framesOf('libc:read', 'vfs_read;anon_pipe_read;schedule');
	assert.deepEqual(summaries(row(cut, { cut: 'no frame pointers' })), [
		'shop (812): … read → anon_pipe_read',
	]);
});

test('who could go on waits for nothing in the kernel; most of a wait may be the run queue', () => {
	const taken = framesOf('main;burn', 'exit_to_user_mode_loop;schedule');
	assert.deepEqual(summaries(row(taken, { parts: [0, 0, 2e9] })), ['shop (812): burn (preempted)']);
	assert.deepEqual(summaries(row(LOCK, { parts: [9e8, 1.1e9, 0] })), [
		'shop (812): place_order → __lll_lock_wait → futex_wait (55 % run queue)',
	]);
	assert.deepEqual(summaries(row([], { parts: [0, 2e9, 0] })), ['shop (812): run queue']);
});

test('a part of a quarter is said; of stacks that read the same, the part of all of them', () => {
	const recv = framesOf('libc:recv', 'tcp_recvmsg;schedule');
	const of = (...parts: number[]) =>
		row(recv, { parts, value: parts.reduce((sum, part) => sum + part) });
	assert.deepEqual(summaries(of(2.48e9, 1.26e9, 0)), [
		'shop (812): recv → tcp_recvmsg (34 % run queue)',
	]);
	assert.deepEqual(summaries(of(7.5e9, 2.5e9, 0)), [
		'shop (812): recv → tcp_recvmsg (25 % run queue)',
	]);
	assert.deepEqual(summaries(of(7.6e9, 2.4e9, 0)), ['shop (812): recv → tcp_recvmsg']);
	assert.deepEqual(summaries(of(1e9, 6e8, 9e8)), [
		'shop (812): recv → tcp_recvmsg (36 % preempted)',
	]);
	assert.deepEqual(summaries(of(1e7, 9.99e9, 0)), ['shop (812): recv → tcp_recvmsg (run queue)']);
	// The first alone is mostly on the run queue; both are not.
	const second = { ...of(9e9, 0, 0), frames: framesOf('libc:start;libc:recv', 'tcp_recvmsg') };
	assert.deepEqual(ending([of(1e9, 2e9, 0), second, row(framesOf('other'))], 0), [
		'   12.0 s   85.7 %  shop (812), 2 stacks: recv → tcp_recvmsg',
		'   2.00 s   14.3 %  shop (812): other',
	]);
});

test('an estimate whose error is more than half of it is in no line of its own', () => {
	const one = row(framesOf('once'), { parts: [1e6, 0, 0], value: 1e6, variance: 9.8e5 ** 2 });
	const half = row(framesOf('half'), { parts: [2e6, 0, 0], value: 2e6, variance: 1e6 ** 2 });
	assert.deepEqual(ending([row(LOCK), half, one], 0), [
		'   2.00 s   99.9 %  shop (812): place_order → __lll_lock_wait → futex_wait',
		'  2.00 ms    0.1 %  shop (812): half',
		'  1.00 ms    0.0 %  elsewhere',
	]);
	// It may be larger than one that is certain.
	const unsure = row(framesOf('unsure'), { parts: [1e9, 0, 0], value: 1e9, variance: 9e8 ** 2 });
	assert.match(ending([row(LOCK), unsure, half], 0).at(-1) ?? '', /1\.00 s +33\.3 % {2}elsewhere$/);
	// Several that read the same may be certain together: errors add up as squares.
	const again = framesOf('libc:start;once');
	const both = ending([one, { ...one, frames: again }, row(LOCK)], 0);
	assert.ok(!both.some((line) => line.includes('once')), both.join());
	const third = framesOf('libc:main;libc:start;once');
	const fourth = framesOf('libc:x;libc:main;libc:start;once');
	const rows = [one, ...[again, third, fourth].map((frames) => ({ ...one, frames }))];
	assert.match(ending([...rows, row(LOCK)], 0).join(), /4 stacks: once/);
	// Nothing is certain: no lines at all.
	assert.doesNotMatch(
		renderStacks(findings([one, { ...one, frames: LOCK }]), OPTIONS),
		/elsewhere/,
	);
});

test('what was called is said, unless the name of the kernel says it', () => {
	const fsync = framesOf('process_order;libc:fsync', 'do_fsync;blkdev_issue_flush;submit_bio_wait');
	assert.deepEqual(summaries(row(fsync, { callerMissing: true })), [
		'shop (812): process_order … fsync → blkdev_issue_flush',
	]);
	assert.deepEqual(summaries(row(fsync)), [
		'shop (812): process_order → fsync → blkdev_issue_flush',
	]);
	const send = framesOf('PostgresMain;libc:send', 'do_syscall_64;tcp_sendmsg;schedule');
	assert.deepEqual(summaries(row(send)), ['shop (812): PostgresMain → tcp_sendmsg']);
	assert.deepEqual(summaries(row(send, { parts: [0, 0, 2e9] })), [
		'shop (812): PostgresMain → send (preempted)',
	]);
	assert.deepEqual(summaries(row(send, { parts: [0, 0, 2e9], callerMissing: true })), [
		'shop (812): PostgresMain … → send (preempted)',
	]);
	const epoll = framesOf('uv__io_poll;libc:epoll_wait', 'do_epoll_wait;schedule_hrtimeout_range');
	assert.deepEqual(summaries(row(epoll)), ['shop (812): uv__io_poll → do_epoll_wait']);
	// "write" is no part of "writeback".
	const write = framesOf('save;libc:write', 'folio_wait_writeback');
	assert.deepEqual(summaries(row(write)), ['shop (812): save → write → folio_wait_writeback']);
});

test('where there is no room, the outermost is cut first', () => {
	const frames = framesOf(
		`outer::${'long_'.repeat(20)};libc:fsync`,
		'do_fsync;blkdev_issue_flush;submit_bio_wait',
	);
	const [line = ''] = summaries(row(frames));
	assert.match(line, /^shop \(812\): …::(long_)+.*… → fsync → blkdev_issue_flush$/);
});

test('whose: one process, several, a thread', () => {
	const many = { key: { comm: 'postgres' }, processes: 1794 };
	assert.deepEqual(summaries(row(LOCK, many)), [
		'postgres (1,794 processes): place_order → __lll_lock_wait → futex_wait',
	]);
	const key = { pid: 1, tid: 2, comm: 'a' };
	assert.deepEqual(summaries(row(LOCK, { key })), [
		'a (1, thread 2): place_order → __lll_lock_wait → futex_wait',
	]);
});

test('a function of a runtime is one, whatever it was compiled by, and has no type', () => {
	const leaf: Frame = { name: 'node::Allocate(unsigned long)', kind: 'user' };
	const rows = ['^', '*', '~', '+', "*'"].map((mark) =>
		row([{ name: `JS:${mark}keep /srv/app.js:2:22`, kind: 'jit' }, leaf]),
	);
	assert.deepEqual(summaries(...rows).slice(0, 2), [
		'shop (812), 5 stacks: JS:keep /srv/app.js:2:22 … → node::Allocate',
		'shop (812): other',
	]);
	const java: Frame = { name: 'byte[] shop.Leak.encode(int, java.lang.String)', kind: 'jit' };
	assert.deepEqual(summaries(row([java, leaf])), [
		'shop (812): shop.Leak.encode … → node::Allocate',
	]);
	// The same words are no Java in C++.
	const native: Frame = { name: 'bool shop.part(int)', kind: 'user' };
	assert.deepEqual(summaries(row([native])), ['shop (812): bool shop.part']);
});

/** The lines of a result at its end, with amounts and shares. */
function ending(stacks: readonly StackRow[], top: number): string[] {
	const text = renderStacks(findings(stacks), { ...OPTIONS, top });
	return (text.split('\n\n').at(-2) ?? '').split('\n');
}

test('stacks that read the same are one line at the end, in its place; those not shown too', () => {
	const second = row(LOCK.slice(1), { parts: [1.5e9, 0, 0], value: 1.5e9 });
	const third = row(LOCK.slice(2), { parts: [1e9, 0, 0], value: 1e9 });
	const other = row(framesOf('other', 'anon_pipe_read'), { parts: [4e9, 0, 0], value: 4e9 });
	const rare = row(framesOf('rare'), { parts: [5e8, 0, 0], value: 5e8 });
	assert.deepEqual(ending([other, row(LOCK), second, third, rare], 2), [
		'   4.50 s   50.0 %  shop (812), 3 stacks:',
		'                    place_order → __lll_lock_wait → futex_wait',
		'   4.00 s   44.4 %  shop (812): other → anon_pipe_read',
		'   500 ms    5.6 %  elsewhere',
	]);
	const stranger = { ...second, key: { pid: 813, comm: 'shop' } };
	assert.deepEqual(ending([row(LOCK), stranger], 0), [
		'   2.00 s   57.1 %  shop (812): place_order → __lll_lock_wait → futex_wait',
		'   1.50 s   42.9 %  shop (813): place_order → __lll_lock_wait → futex_wait',
	]);
});

test('an error stands behind the value that it is of, not behind a part of it', () => {
	const sampled = row(LOCK, { parts: [1.5e9, 5e8, 0], variance: 1e16 });
	const text = renderStacks(findings([sampled]), OPTIONS);
	const line = '    2.00 s ± 100 ms (5.0 %)  blocked 1.50 s, run queue 500 ms';
	// Of the entry, and of the total below.
	assert.equal(text.split('\n').filter((each) => each === line).length, 2, text);
	const allocations: StackFindings = { ...findings([sampled]), unit: 'bytes', parts: ['size'] };
	assert.match(renderStacks(allocations, OPTIONS), /^ {4}± /m);
});

test('what is missing is marked where it is missing', () => {
	const rows = [row(LOCK, { callerMissing: true, cut: 'too deep' })];
	const lines = renderStacks(findings(rows), OPTIONS).split('\n');
	const at = lines.indexOf('    __lll_lock_wait');
	assert.deepEqual(lines.slice(at, at + 6), [
		'    __lll_lock_wait',
		'    [caller not known]',
		'    place_order',
		'    worker',
		'    start_thread',
		'    [cut: too deep]',
	]);
});

test('lines fit, whatever the names; a name that C++ made long is not cut in its middle', () => {
	const long =
		'v8::internal::(anonymous namespace)::Invoke(v8::internal::Isolate*, v8::internal::(anonymous namespace)::InvokeParams const&)';
	assert.deepEqual(summaries(row(framesOf(long, 'futex_wait'))), [
		'shop (812): v8::internal::(anonymous namespace)::Invoke → futex_wait',
	]);
	const name = anyText({ minLength: 1, maxLength: 90 });
	fc.assert(
		fc.property(name, name, (program, kernel) => {
			const frames: Frame[] = [
				{ name: program, kind: 'user' },
				{ name: kernel.slice(0, 40), kind: 'kernel' },
			];
			const text = renderStacks(findings([row(frames), row(LOCK)]), OPTIONS);
			for (const line of text.split('\n')) assert.ok([...line].length <= 80, line);
		}),
	);
});

test('samples: one line for a function and a system call, wherever in the kernel they were', () => {
	const user = 'main;decode_image';
	const fault = 'asm_exc_page_fault;exc_page_fault';
	const call = 'do_syscall_64;__x64_sys_write;ksys_write';
	const sample = (frames: Frame[], value: number) => row(frames, { parts: [value], value });
	const stacks = [
		sample(framesOf(user, `${fault};clear_page_erms`), 30),
		sample(framesOf(`${user};libc:memcpy`, `${fault};lru_add`), 20),
		sample(framesOf(user, fault), 10),
		sample(framesOf(`${user};libc:write`, `${call};vfs_write`), 25),
		sample(framesOf(user), 15),
	];
	const text = renderStacks(
		{ ...findings(stacks), unit: 'samples', parts: ['samples'] },
		{ ...OPTIONS, telling: ({ frames }) => entryFrames(frames) },
	);
	assert.deepEqual((text.split('\n\n').at(-2) ?? '').split('\n'), [
		'    60 samples   60.0 %  shop (812), 3 stacks: decode_image → page fault',
		'    25 samples   25.0 %  shop (812): decode_image → write',
		'    15 samples   15.0 %  shop (812): decode_image',
	]);
});

test('--top 0 shows all stacks, however many; of a single one that is shown nothing is said twice', () => {
	const rows = Array.from({ length: 40 }, (_, i) => row(framesOf(`f${i}`)));
	const text = (top: number) => renderStacks(findings(rows), { ...OPTIONS, top });
	assert.equal(text(0).match(/^ {4}f\d+$/gm)?.length, 40);
	assert.doesNotMatch(text(0), / more stack/);
	assert.doesNotMatch(text(1), /: f\d+$| elsewhere$/m);
	assert.match(text(2), / elsewhere$/m);
});

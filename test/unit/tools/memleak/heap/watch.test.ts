/** Whose allocators are probed, and when, by what the kernel tells of processes; and what is said of the gaps. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { SidebandRecord } from '../../../../../src/perf/records.js';
import { HeapProbes } from '../../../../../src/tools/memleak/heap/probes.js';
import { HeapWatch } from '../../../../../src/tools/memleak/heap/watch.js';

interface Chosen {
	readonly pids?: readonly number[];
	readonly tids?: readonly number[];
	readonly follow?: boolean;
	readonly command?: number;
}

/** A watch that has begun. `look`: the next look, and what it did; `lives`: who has not ended. */
function watching(t: TestContext, { pids = [], tids = [], follow = false, command }: Chosen) {
	// Mocked twice, they would stay so: what is restored last is what was there before the second time.
	t.mock.restoreAll();
	let did: unknown[] = [];
	const lives = new Set<number>();
	const [allocators, failed] = [new Set<number>(), { yet: false }];
	const probes = HeapProbes.prototype;
	for (const name of ['attachProcess', 'attachFiles', 'refresh', 'drop', 'close'] as const)
		t.mock.method(probes, name, (...of: unknown[]) => did.push([name, ...of]));
	t.mock.method(probes, 'dropEnded', (pid: number) => {
		did.push([lives.has(pid) ? 'lives' : 'ended', pid]);
		return !lives.has(pid);
	});
	t.mock.method(probes, 'hasAllocator', (pid: number) => allocators.has(pid));
	t.mock.getter(probes, 'hasFailed', () => failed.yet);
	const timers = new Map<unknown, () => void>();
	t.mock.method(globalThis, 'setInterval', (look: () => void) => {
		const timer = { unref: () => did.push(['unref']) };
		timers.set(timer, look);
		return timer;
	});
	t.mock.method(globalThis, 'clearInterval', (timer: unknown) => timers.delete(timer));
	const object = { program: () => undefined, map: () => undefined } as never;
	const words = command === undefined ? [] : ['/bin/true'];
	const subjects = { filter: { pids, tids, follow }, command, words } as never;
	const options = { object: undefined, prefix: '' };
	const watch = new HeapWatch(object, options, subjects, () => undefined);
	/** What the kernel has told by the next look. */
	let told: readonly SidebandRecord[] = [];
	watch.begin(() => {
		for (const record of told) watch.follow(record);
		told = [];
	});
	const taken = () => {
		const all = did;
		did = [];
		return all;
	};
	// It keeps nobody from ending.
	assert.deepEqual(did.pop(), ['unref']);
	const begun = taken();
	const look = (...records: readonly SidebandRecord[]) => {
		told = records;
		for (const each of timers.values()) each();
		return taken();
	};
	return { watch, look, lives, allocators, failed, begun, taken, timers };
}

const stamp = (pid: number, tid = pid) => ({ pid, tid, time_ns: 50 });
const forked = (pid: number, parentPid: number): SidebandRecord => ({
	...{ type: 'fork', parentPid },
	...stamp(pid),
});
const mapped = (pid: number, inode = 7) =>
	({ type: 'mmap', inode, ...stamp(pid) }) as SidebandRecord;
const called = (pid: number, exec: boolean, tid = pid): SidebandRecord => ({
	...{ type: 'comm', comm: 'new', exec },
	...stamp(pid, tid),
});
const exited = (pid: number, tid = pid): SidebandRecord => ({ type: 'exit', ...stamp(pid, tid) });

test('probes go into each process that was chosen, by itself or by a thread, once; into the files of a COMMAND before it runs', (t) => {
	const own = process.pid;
	const { begun } = watching(t, { pids: [70, own], tids: [own] });
	assert.deepEqual(begun, [
		['attachProcess', 70],
		['attachProcess', own],
	]);
	const { begun: byThread } = watching(t, { tids: [own] });
	assert.deepEqual(byThread, [['attachProcess', own]]);
	const [[name, pid, files = []] = [], ...more] = watching(t, { command: 90 }).begun as unknown as [
		string,
		number,
		string[],
	][];
	assert.deepEqual([name, pid, more], ['attachFiles', 90, []]);
	assert.ok(
		files.includes('/bin/true') && files.some((path) => /\/libc\.so/.test(path)),
		`${files}`,
	);
});

test('who has mapped a file or executed a program is looked at, once; nobody else is', (t) => {
	const { look } = watching(t, { pids: [70, 71], command: 72 });
	assert.deepEqual(look(mapped(70), mapped(70)), [['refresh', 70]]);
	assert.deepEqual(look(), []);
	assert.deepEqual(look(called(71, true)), [['refresh', 71]]);
	assert.deepEqual(look(mapped(72)), [['refresh', 72]]);
	// Memory of no file, a new name, a thread's end, strangers, and what is not followed.
	const nothing = [mapped(70, 0), called(70, false), exited(70, 75), mapped(99), forked(74, 70)];
	assert.deepEqual(look(...nothing, mapped(74)), []);
	assert.deepEqual(look(), []);
});

test('with --follow children are looked at, and theirs; a thread is no child', (t) => {
	const { look, watch } = watching(t, { pids: [70], follow: true });
	assert.deepEqual(look(forked(80, 70), forked(81, 80), forked(99, 98)), [
		['refresh', 80],
		['refresh', 81],
	]);
	assert.deepEqual(look(forked(70, 70)), []);
	assert.match(watch.notices()[0] ?? '', /^2 child processes: /);
});

test('a process whose first thread ends is asked until it has ended; then it is a stranger', (t) => {
	const { look, lives } = watching(t, { pids: [70, 71] });
	lives.add(70);
	assert.deepEqual(look(exited(70)), [['lives', 70]]);
	assert.deepEqual(look(mapped(70)), [
		['lives', 70],
		['refresh', 70],
	]);
	lives.delete(70);
	assert.deepEqual(look(mapped(70)), [['ended', 70]]);
	assert.deepEqual(look(mapped(70), mapped(71)), [['refresh', 71]]);
});

test('a child that gets the number of one that has just ended is not taken for that one', (t) => {
	const { look } = watching(t, { pids: [70, 80], follow: true });
	assert.deepEqual(look(exited(80), forked(80, 70)), [['refresh', 80]]);
});

test('a program that is executed by another thread than the first gets new probes; what was before is gone', (t) => {
	const { look, watch } = watching(t, { pids: [70, 71] });
	assert.deepEqual(look(exited(70), called(70, true, 75)), [
		['drop', 70],
		['refresh', 70],
	]);
	assert.deepEqual(look(), []);
	look(called(71, true));
	const isGone = (pid: number, at_ns: number) =>
		watch.isGone({ allocated: { pid, at_ns } } as never);
	assert.deepEqual(
		[isGone(70, 49), isGone(70, 50), isGone(71, 49), isGone(72, 1)],
		[true, false, true, false],
	);
	const notices = watch.notices();
	assert.equal(notices.length, 3);
	for (const [i, pid] of [70, 71].entries())
		assert.equal(
			notices[i],
			`process ${pid} executed another program: its earlier allocations are gone.`,
		);
	assert.match(
		notices[2] ?? '',
		/^process 70 executed a program from a thread that is not its first/,
	);
});

test('a COMMAND executes its program as it begins, and is told where nothing in it is probed, for no reason that is told already', (t) => {
	const { watch, look, allocators, failed } = watching(t, { command: 90 });
	look(called(90, true));
	assert.match(watch.notices().join(), /^memleak found no allocator in COMMAND/);
	failed.yet = true;
	assert.deepEqual(watch.notices(), []);
	failed.yet = false;
	allocators.add(90);
	assert.deepEqual(watch.notices(), []);
});

test('at its end nobody is looked at any more, and all probes go', (t) => {
	const { watch, timers, taken } = watching(t, { pids: [70] });
	assert.equal(timers.size, 1);
	watch.close();
	assert.deepEqual([timers.size, taken()], [0, [['close']]]);
});

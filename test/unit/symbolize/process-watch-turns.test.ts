/** Whom a watch reads and when, what it passes on, and what belongs to it. The kernel tells what the test says. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Filter } from '../../../src/bpf/filter.js';
import type { SidebandRecord } from '../../../src/perf/records.js';
import { Sideband } from '../../../src/perf/sideband.js';
import { ProcessHistory } from '../../../src/symbolize/mappings/processes.js';
import { ProcessWatch } from '../../../src/symbolize/process-watch.js';
import { SleepingStacks } from '../../../src/symbolize/walks/sleeping-stacks.js';
import type { UnwindTables } from '../../../src/symbolize/walks/unwind-tables.js';
import { stackOf } from './support.js';

const FILTER: Filter = {
	...{ pids: [], tids: [], comms: [], cgroups: [], cpus: [] },
	...{ userThreads: true, kernelThreads: true, follow: false },
};
const NAMING = { debuginfod: false, maxDepth: 127 };
/** Numbers that no process has. */
const [ONE, TWO, THREE] = [5_000_001, 5_000_002, 5_000_003];

interface Chosen extends Partial<Filter> {
	readonly command?: number;
	readonly everybody?: boolean;
}

interface Kernel {
	/** Processes that were read. */
	read: number[];
	tell: (record: SidebandRecord) => void;
}

const kernels = new WeakMap<TestContext, Kernel>();

/** Processes ONE to THREE are there, until the test is over. */
function kernelOf(t: TestContext): Kernel {
	const kernel = kernels.get(t) ?? { read: [], tell: () => {} };
	if (kernels.has(t)) return kernel;
	kernels.set(t, kernel);
	t.mock.method(Sideband.prototype, 'start', (onRecord: Kernel['tell']) => {
		kernel.tell = onRecord;
	});
	t.mock.method(ProcessHistory, 'pids', () => [ONE, TWO, THREE]);
	t.mock.method(ProcessHistory.prototype, 'snapshot', (pid: number) => kernel.read.push(pid));
	return kernel;
}

/** A watch of these; whom it reads, and what it was told of. */
function watchOf(t: TestContext, chosen: Chosen = {}, tables?: UnwindTables) {
	const kernel = kernelOf(t);
	const read: number[] = [];
	kernel.read = read;
	const records: SidebandRecord[] = [];
	const { command, everybody = false, ...filter } = chosen;
	const subjects = { filter: { ...FILTER, ...filter }, command, words: [] };
	const onRecord = (record: SidebandRecord) => void records.push(record);
	const watch = new ProcessWatch(subjects, tables, { onRecord, everybody });
	t.after(() => watch.close());
	return { watch, read, records, tell: (record: SidebandRecord) => kernel.tell(record) };
}

/** Nobody has had a turn yet. */
function beginLate(t: TestContext, watch: ProcessWatch): void {
	let now_ms = 0;
	const clock = t.mock.method(performance, 'now', () => {
		now_ms += 1000;
		return now_ms;
	});
	watch.begin();
	watch.end();
	clock.mock.restore();
}

/** Others may not open events of the whole machine. */
const AS_ROOT = process.getuid?.() === 0 ? {} : { skip: 'needs root, to see what others start' };

test('all processes are read as tracing begins, unless some were chosen', AS_ROOT, (t) => {
	const readBy = (chosen: Chosen) => {
		const { watch, read } = watchOf(t, chosen);
		watch.begin();
		watch.end();
		return read.sort();
	};
	assert.deepEqual(readBy({}), [ONE, TWO, THREE]);
	assert.deepEqual(readBy({ pids: [TWO] }), [TWO]);
	assert.deepEqual(readBy({ tids: [process.pid] }), [process.pid]);
	assert.deepEqual(readBy({ command: THREE }), [THREE]);
	assert.deepEqual(readBy({ pids: [TWO], everybody: true }), [ONE, TWO, THREE]);
});

test(
	'little by little: who had no turn has one after each pause, until all are read',
	AS_ROOT,
	(t) => {
		t.mock.timers.enable({ apis: ['setTimeout'] });
		const { watch, read } = watchOf(t);
		let now_ms = 0;
		// The first look at the clock begins a slice; in each there is time for one.
		t.mock.method(performance, 'now', () => {
			now_ms += 3;
			return now_ms;
		});
		watch.begin();
		assert.equal(read.length, 1);
		t.mock.timers.tick(19);
		assert.equal(read.length, 1);
		t.mock.timers.tick(1);
		assert.equal(read.length, 2);
		t.mock.timers.tick(20);
		assert.deepEqual(read.sort(), [ONE, TWO, THREE]);
		watch.end();
	},
);

test(
	'what the kernel tells is passed on, whoever it is of; of others nothing is kept',
	AS_ROOT,
	async (t) => {
		const { watch, records, tell } = watchOf(t, { pids: [ONE] });
		watch.begin();
		for (const pid of [ONE, TWO]) {
			const where = { start: 0x1000, end: 0x2000, fileOffset: 0, major: 0, minor: 0, inode: 0 };
			tell({ type: 'mmap', pid, tid: pid, time_ns: 1, ...where, path: '[vectors]' });
		}
		assert.deepEqual(
			records.map(({ pid }) => pid),
			[ONE, TWO],
		);
		const { stacks } = await watch.name(
			[ONE, TWO].map((pid) => stackOf([0x1100], { pid, at_ns: 5 })),
			NAMING,
		);
		const names = stacks.map(({ key, frames }) => [key.pid, frames[0]?.name]);
		assert.deepEqual(names.sort(), [
			[ONE, '[vectors]'],
			[TWO, '[unknown]'],
		]);
	},
);

test('whose stacks are named is read first, with who woke them; each once', AS_ROOT, async (t) => {
	const { watch, read } = watchOf(t);
	beginLate(t, watch);
	assert.deepEqual(read, []);
	const waker = { ...stackOf([], { pid: TWO }), parts: [], count: 0, variance: 0 };
	const stack = stackOf([], { pid: ONE, waker });
	await watch.name([stack], NAMING);
	assert.deepEqual(read.sort(), [ONE, TWO]);
	await watch.nameEach([stackOf([], { pid: THREE }), stack, stackOf([], { pid: 0 })], 127);
	assert.deepEqual(read, [ONE, TWO, THREE]);
});

test('who has memory that is named is read, too', AS_ROOT, (t) => {
	const { watch, read } = watchOf(t);
	beginLate(t, watch);
	const place = { pid: TWO, address: 0x1000, sp: 0, at_ns: 0, inHeap: true };
	assert.equal(watch.memoryNames([place]).get(place), 'heap');
	assert.deepEqual(read, [TWO]);
});

test(
	'memory of those that wait is read anew for each moment, and kept for all that are walked then',
	AS_ROOT,
	(t) => {
		const { watch } = watchOf(t);
		const begin = t.mock.method(SleepingStacks.prototype, 'begin', () => {});
		watch.begin();
		const registers = { ip: 2 ** 46, sp: 2 ** 46, fp: 0 };
		const moments = [100, 100, 200, 200, 100].map((at_ns) => {
			watch.walkWaiting({ pid: ONE, tid: ONE, registers }, at_ns, 10);
			return begin.mock.callCount();
		});
		assert.deepEqual(moments, [1, 1, 2, 2, 3]);
		watch.end();
	},
);

test(
	'functions of a runtime in the stack of who waits are told with its addresses',
	AS_ROOT,
	(t) => {
		const { watch } = watchOf(t);
		watch.begin();
		const functions = new Map([[1, [{ place: 8, print: 1, isCallers: false }]]]);
		const walked = { addresses: [2 ** 46, 2 ** 45], end: 'whole' as const };
		const walk = t.mock.method(SleepingStacks.prototype, 'walk', () => ({ ...walked, functions }));
		const thread = { pid: ONE, tid: ONE, registers: { ip: 2 ** 46, sp: 2 ** 46, fp: 0 } };
		const stack = { user: walked.addresses, userEnd: 'whole' };
		assert.deepEqual(watch.walkWaiting(thread, 100, 10), { ...stack, functions });
		walk.mock.mockImplementation(() => walked as never);
		assert.deepEqual(watch.walkWaiting(thread, 100, 10), stack);
		watch.end();
	},
);

/** Tables that say how they are used. */
function fakeTables(problem?: string) {
	const calls: string[] = [];
	const functions = { watch: () => {}, met: () => [], runtimeIn: () => undefined };
	const called = Object.fromEntries(
		['begin', 'drain', 'end', 'close'].map((name) => [name, () => calls.push(name)]),
	);
	return { calls, tables: { ...called, functions, problem } as unknown as UnwindTables };
}

test(
	'its tables begin and end with it; what they lack is told, before what names lack',
	AS_ROOT,
	async (t) => {
		const { calls, tables } = fakeTables('they are gone');
		const { watch, tell } = watchOf(t, { pids: [ONE] }, tables);
		watch.begin();
		watch.drain();
		watch.end();
		assert.deepEqual(calls, ['begin', 'drain', 'end']);
		tell({ type: 'fork', pid: TWO, tid: TWO, time_ns: 1, parentPid: ONE });
		t.mock.getter(ProcessHistory.prototype, 'dropped', () => 7);
		const { notices } = await watch.name([], NAMING);
		assert.deepEqual(
			notices.map(
				(notice) => /^(stacks are cut: they are gone|1 child|tstrace dropped 7)/.exec(notice)?.[1],
			),
			['stacks are cut: they are gone', '1 child', 'tstrace dropped 7'],
		);
		assert.equal(watch.noticesOfEach().length, 3);
		watch.close();
		assert.equal(calls.at(-1), 'close');
	},
);

test('lost records are told where more processes are traced than can be compared', AS_ROOT, (t) => {
	t.mock.method(ProcessHistory, 'mapped', () => []);
	t.mock.method(Sideband.prototype, 'lost', () => 3);
	const lostWith = (count: number) => {
		const pids = Array.from({ length: count }, (_, i) => ONE + i);
		const { watch } = watchOf(t, { pids });
		watch.begin();
		return watch.lost();
	};
	assert.deepEqual(lostWith(8), {});
	assert.deepEqual(lostWith(9), { mappings_lost: 3 });
	// And where what one of them has mapped is not known.
	t.mock.method(ProcessHistory.prototype, 'knows', (pid: number) => pid !== TWO);
	assert.deepEqual(lostWith(1), {});
	assert.deepEqual(lostWith(3), { mappings_lost: 3 });
});

test('CPUs that come are followed; all that is open is closed in the end', AS_ROOT, (t) => {
	const { watch } = watchOf(t);
	watch.begin();
	const refresh = t.mock.method(Sideband.prototype, 'refreshCpus', () => {});
	watch.take();
	assert.equal(refresh.mock.callCount(), 0);
	watch.drain();
	assert.equal(refresh.mock.callCount(), 1);
	const closed = [Sideband, ProcessHistory, SleepingStacks].map(
		({ prototype }) => t.mock.method(prototype as { close(): void }, 'close').mock,
	);
	watch.end();
	watch.close();
	for (const each of closed) assert.equal(each.callCount(), 1);
});

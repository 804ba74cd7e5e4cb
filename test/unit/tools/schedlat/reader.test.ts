/** Which threads have a row, and what is in it, of what programs write about all threads of the machine. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { SharedMapping } from '../../../../src/loader/memory.js';
import { SchedulingReader } from '../../../../src/tools/schedlat/reader.js';
import type { ThreadTime } from '../../../../src/tools/schedlat/scheduling.js';
import { Kernel, seen } from './kernel.js';

/** Tracing begins; `read` is an interval, whose rows it returns, without their percentiles. */
function tracing(t: TestContext, kernel: Kernel) {
	let found: readonly ThreadTime[] = [];
	const epochs_ms: number[] = [];
	const reader = new SchedulingReader(kernel.object, async (threads, epoch_ms) => {
		found = threads;
		epochs_ms.push(epoch_ms);
		return { kind: 'table', about: {}, rows: [] };
	});
	t.after(() => reader.close());
	reader.begin();
	reader.begun();
	const read = async () => {
		await reader.read();
		return found
			.map(({ tid, comm, counters, waiting_ns, latencies }) => {
				const { run_ns, switches, preempted, migrations } = counters;
				const { count, sum_ns } = latencies.histogram;
				const row = { run_ns, switches, preempted, migrations };
				return { tid, comm, ...row, waiting_ns, count, sum_ns };
			})
			.sort((a, b) => a.tid - b.tid);
	};
	return { reader, read, found: () => found, epochs_ms };
}

const IDLE = { run: 100, switches: 20, preempted: 3, migrations: 4, waiting: 0 };
const NOTHING = { run_ns: 0, switches: 0, preempted: 0, migrations: 0 };

test('who was traced until it took another name keeps its latencies; who never was has no row', async (t) => {
	const kernel = new Kernel(t);
	const renamed = { pid: 1011, comm: 'before', traced: true, ...IDLE };
	const never = { pid: 1012, comm: 'stranger', traced: false, ...IDLE };
	kernel.threads = [renamed, never];
	const { read } = tracing(t, kernel);
	const worked = { run: 700, switches: 25, preempted: 5, migrations: 5 };
	kernel.threads = [
		{ ...renamed, ...worked, comm: 'after', traced: false },
		{ ...never, ...worked, waiting: 50 },
	];
	kernel.latencies = [{ pid: 1011, count: 6, each_ns: 30 }];
	const rows = await read();
	assert.deepEqual(
		rows.map(({ tid, comm, count, sum_ns }) => ({ tid, comm, count, sum_ns })),
		[{ tid: 11, comm: 'after', count: 6, sum_ns: 180 }],
	);
	// From then on it is a stranger as well.
	kernel.threads = kernel.threads.map((each) => ({ ...each, run: 900 }));
	assert.deepEqual(await read(), []);
});

test('latencies at hand are of one interval, whichever half they were in', async (t) => {
	const kernel = new Kernel(t);
	const worker = { pid: 1011, comm: 'worker', traced: true, ...IDLE };
	kernel.threads = [worker];
	const { read } = tracing(t, kernel);
	kernel.place([{ pid: 1011, count: 3, each_ns: 40 }]);
	const counts: (number | undefined)[] = [];
	for (const run of [200, 300, 400]) {
		kernel.threads = [{ ...worker, run }];
		counts.push((await read())[0]?.count);
	}
	assert.deepEqual(counts, [3, 0, 0]);
});

test('a row has what was added in its interval; who did nothing has none, who only waits has one', async (t) => {
	const kernel = new Kernel(t);
	const worker = { pid: 1011, comm: 'worker', traced: true, ...IDLE };
	const idle = { pid: 1012, comm: 'idle', traced: true, ...IDLE };
	const waiting = { pid: 1013, comm: 'waiting', traced: true, ...IDLE };
	const runs = { pid: 1014, comm: 'runs', traced: true, ...IDLE };
	const woken = { pid: 1015, comm: 'woken', traced: true, ...IDLE };
	kernel.threads = [worker, idle, waiting, runs, woken];
	const { read } = tracing(t, kernel);
	kernel.threads = [
		{ ...worker, run: 170, switches: 29, preempted: 8, migrations: 6 },
		idle,
		{ ...waiting, waiting: 77 },
		{ ...runs, run: 155 },
		{ ...woken, switches: 21 },
	];
	kernel.latencies = [{ pid: 1011, count: 9, each_ns: 40 }];
	const none = { waiting_ns: 0, count: 0, sum_ns: 0 };
	const added = { run_ns: 70, switches: 9, preempted: 5, migrations: 2 };
	assert.deepEqual(await read(), [
		{ tid: 11, comm: 'worker', ...added, waiting_ns: 0, count: 9, sum_ns: 360 },
		{ tid: 13, comm: 'waiting', ...NOTHING, ...none, waiting_ns: 77 },
		{ tid: 14, comm: 'runs', ...NOTHING, ...none, run_ns: 55 },
		{ tid: 15, comm: 'woken', ...NOTHING, ...none, switches: 1 },
	]);
	kernel.threads = [{ ...worker, run: 210, switches: 29, preempted: 8, migrations: 6 }];
	assert.deepEqual(await read(), [{ tid: 11, comm: 'worker', ...NOTHING, ...none, run_ns: 40 }]);
});

test('a new thread has all it did; one that was there before, and was not seen, nothing but its latencies', async (t) => {
	const kernel = new Kernel(t);
	const { read } = tracing(t, kernel);
	const start = Number(process.hrtime.bigint());
	kernel.threads = [
		{ pid: 1011, comm: 'new', traced: true, ...IDLE, start },
		{ pid: 1012, comm: 'old', traced: true, ...IDLE },
	];
	kernel.latencies = [{ pid: 1012, count: 2, each_ns: 10 }];
	assert.deepEqual(await read(), [
		{
			tid: 11,
			comm: 'new',
			...{ run_ns: 100, switches: 20, preempted: 3, migrations: 4 },
			...{ waiting_ns: 0, count: 0, sum_ns: 0 },
		},
		{ tid: 12, comm: 'old', ...NOTHING, waiting_ns: 0, count: 2, sum_ns: 20 },
	]);
});

test('who ends is seen to do so from the beginning on; in the end no memory stays shared with programs', (t) => {
	const kernel = new Kernel(t);
	const unmap = t.mock.method(SharedMapping.prototype, 'unmap');
	const { reader } = tracing(t, kernel);
	assert.deepEqual(kernel.attached, ['schedlat_exit']);
	reader.close();
	assert.equal(unmap.mock.callCount(), 1);
});

test('who ends has one row, with all it did; who is in no list is not visible', async (t) => {
	const kernel = new Kernel(t);
	const ends = { pid: 1011, comm: 'ends', traced: true, ...IDLE };
	kernel.threads = [ends];
	const { read } = tracing(t, kernel);
	// It was still there when the list was made, with less.
	kernel.threads = [{ ...ends, run: 130 }];
	kernel.ended = [{ ...ends, run: 180, switches: 22 }];
	kernel.latencies = [
		{ pid: 1011, count: 3, each_ns: 20 },
		{ pid: 1099, count: 4, each_ns: 50 },
	];
	const waiting_ns = 0;
	assert.deepEqual(await read(), [
		{ tid: 0, comm: '(not visible)', ...NOTHING, waiting_ns, count: 4, sum_ns: 200 },
		{
			tid: 11,
			comm: 'ends',
			...NOTHING,
			run_ns: 80,
			switches: 2,
			waiting_ns,
			count: 3,
			sum_ns: 60,
		},
	]);
	kernel.threads = [];
	assert.deepEqual(await read(), []);
});

test('the last interval ends when tracing does; who is between its exit and its last switch is in it', async (t) => {
	const kernel = new Kernel(t);
	const [stays, ends] = [
		{ pid: 1011, comm: 'stays', traced: true, ...IDLE },
		{ pid: 1012, comm: 'ends', traced: true, ...IDLE },
	];
	kernel.threads = [stays, ends];
	const { reader, read } = tracing(t, kernel);
	kernel.threads = [{ ...stays, run: 145 }];
	kernel.ending = [{ ...ends, run: 166 }];
	reader.end();
	kernel.threads = [{ ...stays, run: 999 }];
	const none = { ...NOTHING, waiting_ns: 0, count: 0, sum_ns: 0 };
	assert.deepEqual(await read(), [
		{ tid: 11, comm: 'stays', ...none, run_ns: 45 },
		{ tid: 12, comm: 'ends', ...none, run_ns: 66 },
	]);
});

test('who it is: its number and its process as they are seen from here, and whether it waits for quota', async (t) => {
	const kernel = new Kernel(t);
	const { reader, found } = tracing(t, kernel);
	const one = { pid: 1011, tgid: 7, comm: 'one', process: 'seven', traced: true, ...IDLE };
	kernel.threads = [
		{ ...one, waiting: 40, throttled: true },
		{ ...one, pid: 1012, tgid: 8, comm: 'two', process: 'eight', waiting: 60 },
	];
	await reader.read();
	assert.deepEqual(
		found().map(({ pid, tid, comm, process, waiting_ns, throttled }) => {
			return { pid, tid, comm, process, waiting_ns, throttled };
		}),
		[
			{ pid: 7, tid: 11, comm: 'one', process: 'seven', waiting_ns: 40, throttled: true },
			{ pid: 8, tid: 12, comm: 'two', process: 'eight', waiting_ns: 60, throttled: false },
		],
	);
});

test('who was in no list for an interval, because it was about to end, has no more than it did since', async (t) => {
	const kernel = new Kernel(t);
	const ends = { pid: 1011, comm: 'ends', traced: true, ...IDLE };
	kernel.threads = [ends];
	const { read } = tracing(t, kernel);
	const none = { ...NOTHING, waiting_ns: 0, count: 0, sum_ns: 0 };
	kernel.threads = [];
	assert.deepEqual(await read(), []);
	kernel.ended = [{ ...ends, run: 133 }];
	assert.deepEqual(await read(), [{ tid: 11, comm: 'ends', ...none, run_ns: 33 }]);
});

test('threads that end in intervals that follow each other are each in their own', async (t) => {
	const kernel = new Kernel(t);
	const { read } = tracing(t, kernel);
	const start = Number(process.hrtime.bigint());
	for (const pid of [1011, 1012, 1013]) {
		kernel.ended = [{ pid, comm: 'ends', traced: true, ...IDLE, start }];
		assert.deepEqual(
			(await read()).map(({ tid, run_ns }) => ({ tid, run_ns })),
			[{ tid: seen(pid), run_ns: 100 }],
		);
	}
});

test('run time that the clock had too much of is not taken back, nor counted twice', async (t) => {
	const kernel = new Kernel(t);
	const hog = { pid: 1011, comm: 'hog', traced: true, ...IDLE };
	kernel.threads = [hog];
	const { read } = tracing(t, kernel);
	const run_ns: number[] = [];
	for (const [run, counted, switches] of [
		[190, 110, 21],
		// A hypervisor had its CPU meanwhile.
		[150, 150, 22],
		[170, 160, 23],
		[240, 240, 24],
	] as const) {
		kernel.threads = [{ ...hog, run, counted, switches }];
		const [row] = await read();
		assert.equal(row?.switches, 1);
		run_ns.push(row.run_ns);
	}
	assert.deepEqual(run_ns, [90, 0, 0, 50]);
});

test('who is in the list as tracing ends is as it is there, and not as its exit began', async (t) => {
	const kernel = new Kernel(t);
	const ends = { pid: 1011, comm: 'ends', traced: true, ...IDLE };
	kernel.threads = [ends];
	const { reader, read } = tracing(t, kernel);
	kernel.threads = [{ ...ends, run: 177 }];
	kernel.ending = [{ ...ends, run: 144 }];
	reader.end();
	assert.deepEqual(
		(await read()).map(({ run_ns }) => run_ns),
		[77],
	);
});

test('when CLOCK_MONOTONIC was 0, by wall-clock time', async (t) => {
	const kernel = new Kernel(t);
	const { reader, epochs_ms } = tracing(t, kernel);
	t.mock.method(Date, 'now', () => 1_700_000_000_000);
	t.mock.method(process.hrtime, 'bigint', () => 250_000_000_000n);
	await reader.read();
	assert.deepEqual(epochs_ms, [1_699_999_750_000]);
});

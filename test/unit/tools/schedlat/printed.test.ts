/** What schedlat prints, as text and for programs, of what the kernel counted: from its maps to the last line. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { delayedDequeue } from '../../../../src/bpf/scheduling/run-queue.js';
import { askedOf } from '../../../../src/cli/tool-command.js';
import { schedlat } from '../../../../src/tools/schedlat/schedlat.js';
import { Kernel, type Thread } from './kernel.js';

const STYLE = { colour: false, width: 200 };
const NEW = { run: 0, switches: 0, preempted: 0, migrations: 0, waiting: 0, traced: true };
const DAEMON = { ...NEW, pid: 1011, tgid: 11, comm: 'main', process: 'main' };
/** Of one process: its first thread, and another one. */
const [MAIN, POOL, SHELL] = [
	DAEMON,
	{ ...DAEMON, pid: 1012, comm: 'pool' },
	{ ...NEW, pid: 1021, tgid: 21, comm: 'bash', process: 'bash' },
] as const satisfies readonly Thread[];

/** As typed: what an interval finds, and how it is printed. `does`: what happens in it. */
async function printed(
	t: TestContext,
	raw: Readonly<Record<string, unknown>>,
	does: (kernel: Kernel) => void,
	columns?: number,
) {
	const kernel = new Kernel(t);
	kernel.threads = [MAIN, POOL, SHELL];
	const { settings } = askedOf(schedlat, {
		...{ raw, interval_s: 1, count: 1, command: [] },
	});
	const none = { filter: {} } as never;
	const reader = schedlat.reader(kernel.object, settings, none, () => undefined, undefined);
	t.after(() => reader.close?.());
	// Mocked twice, it would stay so: what is restored last is what was there before the second time.
	t.mock.restoreAll();
	t.mock.method(Date, 'now', () => Date.UTC(2026, 0, 2, 3, 4, 5));
	t.mock.method(process.hrtime, 'bigint', () => 60_000_000_000n);
	reader.begin?.();
	reader.begun?.();
	does(kernel);
	const findings = await reader.read();
	const style = columns === undefined ? STYLE : { ...STYLE, columns };
	return { findings, text: await schedlat.text(settings).report(findings, style) };
}

/** All fields differ; when the longest ended: 3 s before now. */
function busy(kernel: Kernel): void {
	kernel.threads = [
		{ ...MAIN, run: 900_000, switches: 11, preempted: 4, migrations: 1 },
		{ ...POOL, run: 5_000_000, switches: 33, preempted: 6, migrations: 2, waiting: 7_000_000 },
		{ ...SHELL, run: 70_000, switches: 5, preempted: 1, migrations: 3 },
	];
	kernel.latencies = [
		{ pid: 1012, count: 9, each_ns: 10_000, wakeups: 20, end_ns: 57_000_000_000 },
		{ pid: 1021, count: 2, each_ns: 3_000, wakeups: 4, end_ns: 50_500_000_000 },
	];
	// Two buckets at hand.
	kernel.place([
		{ pid: 1011, count: 3, each_ns: 2_000, wakeups: 5, end_ns: 1 },
		{ pid: 1011, count: 1, each_ns: 50_000, wakeups: 1, end_ns: 59_000_000_000 },
	]);
}

/** Columns of a table apart. */
const cells = (text: string) =>
	text
		.split('\n')
		.filter((line) => line !== '')
		.map((line) => line.split(/ {2,}/).map((each) => each.trim()));

/** So many ms after 03:04, by the clock on the wall here. */
function local(ms: number): string {
	const date = new Date(Date.UTC(2026, 0, 2, 3, 4) + ms);
	const two = (number: number) => `${number}`.padStart(2, '0');
	const seconds = `${two(date.getSeconds())}.${`${date.getMilliseconds()}`.padStart(3, '0')}`;
	return `${two(date.getHours())}:${two(date.getMinutes())}:${seconds}`;
}

test('a row for each thread: all of its columns, then the totals, and who still waits', async (t) => {
	const { text } = await printed(t, {}, busy);
	assert.deepEqual(cells(text), [
		[
			...['COMM', 'TID', 'PID', 'RUN', 'SWITCH', 'WAKE', 'PREEMPT', 'MIGR'],
			...['AVG', 'P50', 'P99', 'MAX', 'MAX AT'],
		],
		[
			...['pool', '12', '11', '5.00 ms', '33', '20', '6', '2'],
			...['10.0 us', '10.0 us', '10.0 us', '10.0 us', local(2_000)],
		],
		[
			...['main', '11', '11', '900 us', '11', '6', '4', '1'],
			...['14.0 us', '2.01 us', '50.0 us', '50.0 us', local(4_000)],
		],
		[
			...['bash', '21', '21', '70.0 us', '5', '4', '1', '3'],
			...['3.00 us', '3.00 us', '3.00 us', '3.00 us', local(-4_500)],
		],
		// (9 x 10 + 2 x 3 + 3 x 2 + 50) us in 15 waits.
		['(total)', '5.97 ms', '49', '30', '11', '6', '10.1 us', '50.0 us'],
		['1 still wait, for up to 7.00 ms'],
	]);
});

test('for programs: the same numbers in ns, when the longest ended, and totals of the rows', async (t) => {
	const { findings } = await printed(t, { sort: 'max' }, busy);
	assert.deepEqual(findings.about, {
		unit: 'ns',
		sort: 'max',
		totals: {
			...{ runtime: 5_970_000, switches: 49, wakeups: 30, preempted: 11, migrations: 6 },
			...{ delays: 15, delay: 152_000, throttled: 0, max: 50_000 },
		},
	});
	const [main, pool, bash] = findings.rows.map(({ p50: _, p99: __, ...row }) => row);
	assert.deepEqual(main, {
		key: { pid: 11, tid: 11, comm: 'main' },
		...{ runtime: 900_000, switches: 11, wakeups: 6, preempted: 4, migrations: 1 },
		...{ delays: 4, delay: 56_000, throttled: 0, avg: 14_000, max: 50_000 },
		...{ max_at: '2026-01-02T03:04:04.000Z', waiting: 0, throttled_now: 0 },
	});
	assert.deepEqual(
		[pool, bash].map((row) => [row?.avg, row?.max_at, row?.waiting]),
		[
			[10_000, '2026-01-02T03:04:02.000Z', 7_000_000],
			[3_000, '2026-01-02T03:03:55.500Z', 0],
		],
	);
});

test('an average is whole ns; who waited for no CPU has no longest wait, and no time of it', async (t) => {
	const { findings, text } = await printed(t, {}, (kernel) => {
		kernel.threads = [{ ...MAIN, run: 500 }, POOL];
		kernel.latencies = [
			{ pid: 1012, count: 2, each_ns: 10 },
			{ pid: 1012, count: 1, each_ns: 15, end_ns: 9 },
		];
	});
	assert.deepEqual(
		findings.rows.map(({ key, avg, max, max_at }) => [
			(key as { comm: string }).comm,
			...[avg, max, max_at === null],
		]),
		[
			['main', 0, 0, true],
			['pool', 12, 15, false],
		],
	);
	assert.deepEqual(cells(text)[1], [
		...['main', '11', '11', '500 ns', '0', '0', '0', '0'],
		...['0 ns', '0 ns', '0 ns', '0 ns'],
	]);
});

test('a wait of no time at all has an end for programs, and none worth a column', async (t) => {
	const { findings, text } = await printed(t, {}, (kernel) => {
		kernel.latencies = [{ pid: 1012, count: 1, each_ns: 0, end_ns: 57_000_000_000 }];
	});
	assert.equal(findings.rows[0]?.max_at, '2026-01-02T03:04:02.000Z');
	assert.equal(cells(text)[1]?.at(-1), '0 ns');
});

test('totals are of all threads, however many there are', async (t) => {
	const { findings } = await printed(t, { top: 2 }, (kernel) => {
		kernel.threads = Array.from({ length: 50 }, (_, i) => {
			return { ...SHELL, pid: 2000 + i, start: 60_000_000_000, run: 1000 + i };
		});
	});
	assert.equal(findings.rows.length, 50);
	assert.equal((findings.about.totals as { runtime: number }).runtime, 50_000 + (50 * 49) / 2);
});

test('processes: a row for each, by number and not by name, with the name of its first thread', async (t) => {
	const { text, findings } = await printed(t, { pids: true }, (kernel) => {
		busy(kernel);
		// The first thread of a process need not be the first in the list.
		kernel.threads = kernel.threads.toSorted((a, b) => b.pid - a.pid);
		// Another process of the same name.
		const twin = { ...SHELL, pid: 1031, tgid: 31, start: 60_000_000_000 };
		kernel.threads = [...kernel.threads, { ...twin, run: 30_000, switches: 1 }];
	});
	assert.deepEqual(
		findings.rows.map(({ key, runtime, delays, wakeups }) => [key, runtime, delays, wakeups]),
		[
			[{ pid: 11, comm: 'main' }, 5_900_000, 13, 26],
			[{ pid: 21, comm: 'bash' }, 70_000, 2, 4],
			[{ pid: 31, comm: 'bash' }, 30_000, 0, 0],
		],
	);
	assert.deepEqual(cells(text)[0]?.slice(0, 3), ['COMM', 'PID', 'RUN']);
	// The number of a process is what it is known by: no terminal is too narrow for it.
	const narrow = await printed(t, { pids: true }, busy, 60);
	assert.deepEqual(cells(narrow.text)[0]?.slice(0, 3), ['COMM', 'PID', 'RUN']);
	assert.match(narrow.text, /^a wider terminal or a pipe also shows .*MAX AT/m);
	const threads = await printed(t, {}, busy, 60);
	assert.deepEqual(cells(threads.text)[0]?.slice(0, 3), ['COMM', 'TID', 'RUN']);
});

test('names: a row for each', async (t) => {
	const { findings } = await printed(t, { by: 'comm' }, (kernel) => {
		busy(kernel);
		kernel.threads = kernel.threads.map((each) => ({ ...each, comm: each.comm.slice(0, 1) }));
	});
	assert.deepEqual(
		findings.rows.map(({ key }) => key),
		[{ comm: 'p' }, { comm: 'm' }, { comm: 'b' }],
	);
});

test('--top leaves rows out, and says how many; totals, and who still waits, are of all', async (t) => {
	const { text } = await printed(t, { top: 1 }, (kernel) => {
		busy(kernel);
		kernel.threads = kernel.threads.map((each) => ({
			...each,
			...(each.comm === 'pool' ? { waiting: 0 } : { waiting: each.pid * 1_000_000 }),
		}));
	});
	const lines = cells(text);
	assert.equal(lines.length, 5);
	assert.equal(lines[1]?.[0], 'pool');
	assert.equal(lines[2]?.[1], '5.97 ms');
	assert.deepEqual(lines.slice(3), [
		['2 more; --top 0 shows them'],
		['2 still wait, for up to 1.02 s'],
	]);
});

test('time without a quota has a column where there was any, beside who has none now', async (t) => {
	const { text } = await printed(t, {}, (kernel) => {
		busy(kernel);
		kernel.latencies = [
			{ pid: 1012, count: 9, each_ns: 10_000, wakeups: 20, throttled_ns: 80_000 },
			{ pid: 1021, count: 2, each_ns: 3_000, throttled_ns: 4_000 },
		];
		kernel.threads = kernel.threads.map((each) => ({ ...each, throttled: each.comm === 'pool' }));
	});
	const lines = cells(text);
	const at = lines[0]?.indexOf('THROTTLED') ?? -1;
	assert.deepEqual(
		lines.slice(1, 4).map((line) => line[at]),
		['80.0 us', '0 ns', '4.00 us'],
	);
	// It has no numbers of a thread and its process.
	assert.equal(lines[4]?.[at - 2], '84.0 us');
	assert.deepEqual(lines.slice(5), [['1 still throttled, for up to 7.00 ms']]);
	const over = await printed(t, {}, (kernel) => {
		kernel.latencies = [{ pid: 1012, count: 1, each_ns: 10, throttled_ns: 80_000 }];
	});
	assert.ok(over.text.includes('THROTTLED'));
	assert.ok(!(await printed(t, {}, busy)).text.includes('THROTTLED'));
});

test('nobody ran: no table', async (t) => {
	const { text } = await printed(t, {}, () => undefined);
	assert.equal(text, '\nno thread ran or waited\n');
});

test('who ran longer comes first of those that are alike in the column', async (t) => {
	const { findings } = await printed(t, { sort: 'migrations' }, (kernel) => {
		kernel.threads = [
			{ ...MAIN, run: 1, migrations: 2 },
			{ ...POOL, run: 2, migrations: 2 },
			{ ...SHELL, run: 3, migrations: 1 },
		];
	});
	assert.deepEqual(
		findings.rows.map(({ key }) => (key as { comm: string }).comm),
		['pool', 'main', 'bash'],
	);
});

test('intervals: what is at hand in either half is in its own, and once', async (t) => {
	const kernel = new Kernel(t);
	kernel.threads = [MAIN];
	const { settings } = askedOf(schedlat, {
		...{ raw: {}, interval_s: 1, count: 4, command: [] },
	});
	const none = { filter: {} } as never;
	const reader = schedlat.reader(kernel.object, settings, none, () => undefined, undefined);
	t.after(() => reader.close?.());
	reader.begin?.();
	reader.begun?.();
	for (const count of [3, 4, 1_000_000, 6]) {
		kernel.place([{ pid: 1011, count, each_ns: 2_000, wakeups: count + 1 }]);
		kernel.latencies = [{ pid: 1011, count: 1, each_ns: 7_000, wakeups: 1 }];
		const { rows } = await reader.read();
		assert.deepEqual(
			rows.map(({ delays, wakeups, delay }) => [delays, wakeups, delay]),
			[[count + 1, count + 2, count * 2_000 + 7_000]],
		);
	}
});

test('room: eight buckets for each thread that ends, and one place, in either half', () => {
	const { settings } = askedOf(schedlat, {
		...{ raw: { maxThreads: 500 }, interval_s: 1, count: 1, command: [] },
	});
	const room: Record<string, number> = {};
	const told: object[] = [];
	const object = {
		setConstants: (constants: object) => told.push(constants),
		map: (name: string) => ({
			setMaxEntries: (entries: number) => {
				room[name] = entries;
			},
		}),
	};
	const plan = schedlat.plan(object as never, settings, {} as never, () => undefined);
	assert.deepEqual(told, [{ has_sched_info: true }]);
	// Of who runs already nobody has seen the beginning; a thread may be moved while it waits.
	assert.deepEqual(plan.runOnce, ['seed_slices']);
	assert.deepEqual(plan.attach, [
		'schedlat_switch',
		...(delayedDequeue() ? ['schedlat_migrate'] : []),
	]);
	assert.deepEqual(plan.load, ['schedlat_exit', 'schedlat_threads']);
	assert.deepEqual(room, {
		...{ ending: 500, ended_0: 500, ended_1: 500, latencies_0: 4_000, latencies_1: 4_000 },
	});
});

test('columns to sort by are found in any case', () => {
	const { sort } = schedlat.options();
	const parse = sort.parseArg as (text: string, before: unknown) => unknown;
	assert.equal(parse('P99', undefined), 'p99');
	assert.throws(() => parse('maximum', undefined), /there is no key "maximum"/);
});

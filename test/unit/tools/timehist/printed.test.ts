/** What timehist prints of events, as lines, as a table and for programs: from the ring to the last column. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { askedOf } from '../../../../src/cli/tool-command.js';
import { timehist as layout } from '../../../../src/generated/timehist.js';
import { onlineCpus } from '../../../../src/perf/cpus.js';
import { timehist } from '../../../../src/tools/timehist/timehist.js';
import { ringFile } from '../../loader/ring-file.js';
import { type Fields, structs } from '../structs.js';

const { timehist_event } = layout.structs;
const { timehist_type: TYPE, cpu_context_kind: KIND, interrupt: INTERRUPT } = layout.enums;
type Event = Fields<typeof timehist_event>;

/** A thread that left CPU 3: it had waited 7 ms, 2 of them for a CPU, and ran for 31. */
const SWITCH: Event = {
	...{ type: TYPE.TIMEHIST_SWITCH, time_ns: 12_345_678_999, cpu: 3, state: 1 },
	...{ wait_ns: 7_001_999, latency_ns: 2_000_500, run_ns: 31_400_000 },
	...{ tgid: 70, tid: 71, comm: 'worker', other_tgid: 80, other_tid: 81, other_comm: 'hog' },
};
const BY_THREAD = { context: KIND.CONTEXT_THREAD, by_thread: 1 };
const WAKEUP: Event = {
	...{ type: TYPE.TIMEHIST_WAKEUP, time_ns: 12_400_000_000, cpu: 1, ...BY_THREAD },
	...{ tgid: 60, tid: 60, comm: 'waker', other_tgid: 70, other_tid: 71, other_comm: 'worker' },
};
const MIGRATE: Event = {
	...WAKEUP,
	...{ type: TYPE.TIMEHIST_MIGRATE, time_ns: 12_500_000_000, from_cpu: 4, to_cpu: 12 },
};
const THROTTLED: Event = {
	...{ type: TYPE.TIMEHIST_THROTTLED, time_ns: 12_600_000_000, cpu: 2 },
	...{ tgid: 70, tid: 71, comm: 'worker', latency_ns: 45_678_999, wait_ns: 1, run_ns: 2 },
};

function readerOf(
	t: TestContext,
	raw: Readonly<Record<string, unknown>>,
	events: readonly Event[],
) {
	const { settings } = askedOf(timehist, {
		...{ raw, interval_s: 1, count: undefined, command: [] },
	});
	const bytes = events.map((event) => {
		return { bytes: new Uint8Array(structs(timehist_event, [event]).buffer) };
	});
	const ring = ringFile(bytes);
	t.after(() => ring.close());
	const object = { map: () => ring.map } as never;
	const reader = timehist.reader(object, settings, {} as never, () => undefined, undefined);
	t.after(() => reader.close?.());
	return { reader, view: timehist.text(settings) };
}

/** As text: the lines, and what stands below them. */
async function printed(
	t: TestContext,
	raw: Readonly<Record<string, unknown>>,
	events: readonly Event[],
) {
	const { reader, view } = readerOf(t, raw, events);
	let lines = '';
	reader.stream?.(
		async (bytes) => {
			lines += new TextDecoder().decode(bytes as Uint8Array);
		},
		(error) => {
			throw error;
		},
	);
	const { totals } = await reader.read();
	const table = totals && view.totals?.(totals, { colour: false, width: 200 });
	return { lines: lines.split('\n').slice(0, -1), header: view.header, table, totals };
}

/** For programs. */
async function rows(
	t: TestContext,
	raw: Readonly<Record<string, unknown>>,
	events: readonly Event[],
) {
	const { reader } = readerOf(t, raw, events);
	const found = await reader.read();
	return found.rows as readonly Readonly<Record<string, unknown>>[];
}

test('lines of each kind of event: who, where, how long, and whom it is about', async (t) => {
	const { lines } = await printed(t, { wakeups: true, migrations: true, next: true }, [
		SWITCH,
		WAKEUP,
		MIGRATE,
		THROTTLED,
		// The largest machine that Linux can be built for.
		{ ...THROTTLED, cpu: 8191 },
	]);
	assert.deepEqual(lines, [
		'      12.345678 [0003]  worker[71/70]                       7.001      2.000     31.400  S  next: hog[81/80]',
		'      12.400000 [0001]  waker[60]                                                           awakened: worker[71/70]',
		'      12.500000 [0001]  waker[60]                                                           migrated: worker[71/70] cpu 4 => 12',
		'      12.600000 [0002]  worker[71/70]                                                       throttled: 45.678 msec',
		'      12.600000 [8191]  worker[71/70]                                                       throttled: 45.678 msec',
	]);
});

test('lines of what interrupts did: what they serve stands where a thread would', async (t) => {
	const nobody = { tgid: 9, tid: 9, comm: 'interrupted', by_thread: 0 };
	const soft = { context: KIND.CONTEXT_SOFTIRQ, interrupt: INTERRUPT.INTERRUPT_NETWORK };
	const { lines } = await printed(t, { wakeups: true, migrations: true }, [
		{ ...WAKEUP, ...nobody, ...soft },
		{ ...WAKEUP, ...nobody, context: KIND.CONTEXT_HARDIRQ, interrupt: INTERRUPT.INTERRUPT_TIMER },
		{ ...MIGRATE, ...nobody, context: KIND.CONTEXT_SCHEDULER },
	]);
	assert.deepEqual(
		lines.map((line) => line.slice(15)),
		[
			' [0001]  <softirq: network>                                                  awakened: worker[71/70]',
			' [0001]  <irq: timer>                                                        awakened: worker[71/70]',
			' [0001]  <scheduler>                                                         migrated: worker[71/70] cpu 4 => 12',
		],
	);
	const [woken, , moved] = await rows(t, { wakeups: true, migrations: true }, [
		{ ...WAKEUP, ...nobody, ...soft },
		WAKEUP,
		{ ...MIGRATE, ...nobody, context: KIND.CONTEXT_SCHEDULER },
	]);
	assert.deepEqual(
		[woken?.waker_context, woken?.waker_irq, woken?.pid, moved?.mover_context, moved?.tid],
		['softirq', 'network', undefined, 'scheduler', undefined],
	);
});

test('of a switch, what is not known has a dash, each by itself; a table has no run time of it', async (t) => {
	const { timehist_flag: FLAG } = layout.enums;
	for (const [flags, times] of [
		[FLAG.TIMEHIST_WAIT_UNKNOWN, ['-', '2.000', '31.400']],
		[FLAG.TIMEHIST_LATENCY_UNKNOWN, ['7.001', '-', '31.400']],
		[FLAG.TIMEHIST_RUN_UNKNOWN, ['7.001', '2.000', '-']],
	] as const) {
		const { lines } = await printed(t, {}, [{ ...SWITCH, flags }]);
		assert.deepEqual(lines[0]?.trim().split(/ +/).slice(3, 6), times);
	}
	const unknown = { ...SWITCH, flags: FLAG.TIMEHIST_RUN_UNKNOWN, run_ns: 1 };
	const { totals } = await printed(t, { summaryOnly: true }, [SWITCH, unknown]);
	assert.deepEqual([totals?.[0]?.switches, totals?.[0]?.min_run], [2, 31_400_000]);
});

test('for programs: each kind of event with all that is known of it, without -n', async (t) => {
	const all = { wakeups: true, migrations: true };
	const [ended, woken, moved, throttled] = (
		await rows(t, all, [SWITCH, WAKEUP, MIGRATE, THROTTLED])
	).map(({ time, ...row }) => {
		assert.match(`${time}`, /^\d{4}-\d\d-\d\dT.*Z$/);
		return row;
	});
	const worker = { pid: 70, tid: 71, comm: 'worker' };
	const waker = { pid: 60, tid: 60, comm: 'waker' };
	assert.deepEqual(ended, {
		...{ event: 'switch', time_ns: 12_345_678_999, cpu: 3, ...worker },
		...{ wait_ns: 7_001_999, delay_ns: 2_000_500, run_ns: 31_400_000, state: 'S' },
	});
	assert.deepEqual(woken, {
		...{ event: 'wakeup', time_ns: 12_400_000_000, cpu: 1, ...waker, waker_context: 'thread' },
		...{ woken_pid: 70, woken_tid: 71, woken_comm: 'worker' },
	});
	assert.deepEqual(moved, {
		...{ event: 'migrate', time_ns: 12_500_000_000, cpu: 1, ...waker, mover_context: 'thread' },
		...{ migrated_pid: 70, migrated_tid: 71, migrated_comm: 'worker', from_cpu: 4, to_cpu: 12 },
	});
	assert.deepEqual(throttled, {
		...{ event: 'throttled', time_ns: 12_600_000_000, cpu: 2, ...worker, throttled_ns: 45_678_999 },
	});
	const [next] = await rows(t, { next: true }, [SWITCH]);
	assert.deepEqual([next?.next_pid, next?.next_tid, next?.next_comm], [80, 81, 'hog']);
});

test('what programs write of an event is read, and not more: it ends where the other thread or the stack would', async (t) => {
	const { fields, size } = timehist_event;
	const read = async (raw: Readonly<Record<string, unknown>>, bytes: number) => {
		const event = raw.migrations ? MIGRATE : SWITCH;
		const whole = new Uint8Array(structs(timehist_event, [event]).buffer);
		const ring = ringFile([{ bytes: whole.slice(0, bytes) }]);
		t.after(() => ring.close());
		const { settings } = askedOf(timehist, {
			...{ raw, interval_s: 1, count: undefined, command: [] },
		});
		const object = { map: () => ring.map } as never;
		const reader = timehist.reader(object, settings, {} as never, () => undefined, undefined);
		t.after(() => reader.close?.());
		return (await reader.read()).rows.length;
	};
	assert.equal(await read({}, fields.other_tgid.offset), 1);
	for (const other of ['next', 'wakeups', 'migrations'])
		assert.equal(await read({ [other]: true }, fields.frames.offset), 1);
	assert.equal(await read({ callGraph: true }, size), 1);
});

test('the column of CPUs has each place: s where a switch was, m what moved or was throttled, nothing for wake-ups', async (t) => {
	const cpu = onlineCpus().at(-1) ?? 0;
	const raw = { cpuVisual: true, wakeups: true, migrations: true };
	const events = [SWITCH, WAKEUP, MIGRATE, THROTTLED].map((event) => ({ ...event, cpu }));
	const { lines, header } = await printed(t, raw, events);
	const width = cpu + 1;
	assert.deepEqual(
		lines.map((line) => line.slice(24, 24 + width + 3)),
		['s', ' ', 'm', 'm'].map((letter) => `${letter.padStart(width)}  w`),
	);
	const [first = '', second = '', third = ''] = header?.split('\n') ?? [];
	const digits = Array.from({ length: width }, (_, i) => i % 10).join('');
	assert.equal(first.slice(24, 24 + width + 3), `${digits}  t`);
	assert.equal(second.slice(24, 24 + width + 3), `${' '.repeat(width)}  [`);
	assert.equal(third.slice(24, 24 + width + 3), `${'-'.repeat(width)}  -`);
});

test('by the clock on the wall, which may be set meanwhile', async (t) => {
	const monotonic_ms = () => Number(process.hrtime.bigint()) / 1e6;
	const real = Date.now;
	const { lines } = await printed(t, { wallClock: true }, [SWITCH]);
	const zone_ms = new Date().getTimezoneOffset() * 60_000;
	const at = new Date(real() - monotonic_ms() + 12_345.678 - zone_ms);
	const told = /^ *(\d\d):(\d\d):(\d\d)\.(\d{6}) /.exec(lines[0] ?? '');
	assert.ok(told, lines[0]);
	const [, hours, minutes, seconds, us] = told.map(Number) as number[];
	const told_ms = ((hours as number) * 60 + (minutes as number)) * 60_000;
	const off_ms =
		told_ms + (seconds as number) * 1000 + (us as number) / 1000 - (at.getTime() % 864e5);
	const within = Math.abs(((off_ms + 1.5 * 864e5) % 864e5) - 864e5 / 2);
	assert.ok(within < 1000, `${within} ms off`);
});

test('the table: what each thread did, whatever it called itself last, and what it waited without a quota', async (t) => {
	const slice = { ...SWITCH, run_ns: 4_000_000, wait_ns: 3_000_000, latency_ns: 1_000_000 };
	const { lines, table } = await printed(t, { summaryOnly: true }, [
		slice,
		{ ...slice, time_ns: 12_400_000_000, cpu: 5, run_ns: 8_000_000, comm: 'renamed' },
		{ ...THROTTLED, comm: 'renamed', latency_ns: 10_000_000 },
		{ ...THROTTLED, time_ns: 12_700_000_000, comm: 'renamed', latency_ns: 15_000_000 },
		{ ...WAKEUP, time_ns: 12_800_000_000 },
		// It ends, and another thread gets its number.
		{ ...slice, time_ns: 12_900_000_000, comm: 'renamed', state: 0x20, run_ns: 9_000_000 },
		{ ...slice, time_ns: 13_000_000_000, comm: 'another', run_ns: 500_000 },
	]);
	assert.deepEqual(lines, []);
	assert.deepEqual(
		table
			?.split('\n')
			.filter((line) => line !== '')
			.map((line) => line.split(/ {2,}/)),
		[
			...[['THREAD', 'SWITCH', 'RUN', 'MIN', 'AVG', 'MAX', 'STDDEV']].map((names) => [
				...names,
				'WAIT',
				'DELAY',
				'THROTTLED',
				'MIGR',
			]),
			[
				...['renamed[71/70]', '3', '21.0 ms', '4.00 ms', '7.00 ms', '9.00 ms', '17.82 %'],
				...['9.00 ms', '3.00 ms', '25.0 ms', '2'],
			],
			[
				...['another[71/70]', '1', '500 us', '500 us', '500 us', '500 us', '0.00 %'],
				...['3.00 ms', '1.00 ms', '0 ns', '0'],
			],
			['2 threads, 4 switches, 21.5 ms run'],
		],
	);
});

test('both: lines and the table below them', async (t) => {
	const { lines, table } = await printed(t, { summary: true }, [SWITCH]);
	assert.equal(lines.length, 1);
	assert.match(table ?? '', /1 thread, 1 switch, 31.4 ms run/);
	const { table: none } = await printed(t, {}, [SWITCH]);
	assert.equal(none, undefined);
});

/** Just behind where a function of the kernel begins; 0: this user may not see it. */
function addressIn(symbols: string, name: string, behind = 2n): bigint {
	const [, address = '0'] = new RegExp(`^([0-9a-f]+) [tT] ${name}$`, 'm').exec(symbols) ?? [];
	const begin = BigInt(`0x${address}`);
	return begin === 0n ? 0n : begin + behind;
}

test('kernel functions: as many as were asked for, by the call and not by what is behind it', async (t) => {
	const symbols = readFileSync('/proc/kallsyms', 'latin1');
	const names = ['schedule', 'futex_wait', 'do_futex', 'schedule', '__x64_sys_futex'];
	const addresses = names.map((name) => addressIn(symbols, name));
	if (addresses.includes(0n)) return t.skip('needs /proc/kallsyms with addresses');
	// The last instruction of a function: where it goes on, another one begins.
	const next = [...symbols.matchAll(/^([0-9a-f]+) [tT] (\S+)$/gm)]
		.map(([, address]) => BigInt(`0x${address}`))
		.sort((a, b) => (a < b ? -1 : 1))
		.find((address) => address > (addresses[2] as bigint)) as bigint;
	const bytes = structs(timehist_event, [SWITCH]);
	for (const [i, address] of addresses.entries())
		bytes.setBigUint64(timehist_event.fields.frames.offset + 8 * i, address, true);
	const ends = new DataView(bytes.buffer.slice(0));
	ends.setBigUint64(timehist_event.fields.frames.offset + 16, next, true);
	const stack = async (raw: Readonly<Record<string, unknown>>, record: DataView) => {
		const ring = ringFile([{ bytes: new Uint8Array(record.buffer) }]);
		t.after(() => ring.close());
		const { settings } = askedOf(timehist, {
			...{ raw: { callGraph: true, ...raw }, interval_s: 1, count: undefined, command: [] },
		});
		const object = { map: () => ring.map } as never;
		const reader = timehist.reader(object, settings, {} as never, () => undefined, undefined);
		t.after(() => reader.close?.());
		const [row] = (await reader.read()).rows as readonly Readonly<Record<string, unknown>>[];
		return row?.stack;
	};
	const whole = 'futex_wait <- do_futex <- schedule <- __x64_sys_futex';
	assert.equal(await stack({}, bytes), whole);
	assert.equal(await stack({ maxDepth: 2 }, bytes), 'futex_wait <- do_futex');
	assert.equal(await stack({}, ends), whole);
	const frames = new Uint8Array(bytes.buffer.slice(timehist_event.fields.frames.offset));
	const { lines } = await printed(t, { callGraph: true }, [{ ...SWITCH, frames }]);
	assert.equal(lines[0]?.split('  S  ')[1], whole);
});

test('what has no place in JSON, or beside a table alone, is refused by its name', () => {
	const asked = (raw: Readonly<Record<string, unknown>>) => () =>
		askedOf(timehist, { raw, interval_s: 1, count: undefined, command: [] });
	for (const [option, name] of [
		['summary', 'summary'],
		['summaryOnly', 'summary-only'],
		['cpuVisual', 'cpu-visual'],
		['wallClock', 'wall-clock'],
	] as const)
		assert.throws(asked({ json: true, [option]: true }), {
			message: new RegExp(`^--${name} is for text, not JSON`),
		});
	for (const [option, name] of [
		['wakeups', 'wakeups'],
		['migrations', 'migrations'],
		['next', 'next'],
		['callGraph', 'call-graph'],
		['cpuVisual', 'cpu-visual'],
		['wallClock', 'wall-clock'],
	] as const)
		assert.throws(asked({ summaryOnly: true, [option]: true }), {
			message: `--summary-only shows no lines; leave out --${name}`,
		});
	assert.throws(asked({ maxDepth: 3 }), { message: /add -g/ });
});

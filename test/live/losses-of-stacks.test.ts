/** Stacks that have no room, at each place where programs keep them: none of the tables has any. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stack_constant } from '../../src/generated/common.js';
import { off_cpu } from '../../src/generated/off_cpu.js';
import { tracepointArguments } from '../../src/loader/kernel.js';
import { readU64 } from '../../src/loader/layout.js';
import { u32Key } from '../../src/loader/map.js';
import { eventOf } from '../../src/perf/names.js';
import { runOnOverflow } from '../../src/perf/programs.js';
import { lostWhile } from './lost-while.js';
import { otherLosses } from './reports.js';
import { needs, until, Workload } from './support.js';
import { schedstat } from './times.js';

const OFF_CPU = ['off_cpu', off_cpu] as const;
const SWITCH = {
	has_sched_info: true,
	switch_has_state: tracepointArguments('sched_switch') >= 4,
	walk_at_switch: true,
	walk_user: false,
};
const NAPS = 200;
/** Not all: one that is over before it can wait is none. */
const NAPS_SEEN = 0.9 * NAPS;

const AWAKE_SINCE = 1n;
const ENDED_NS = 2 ** 40;

/** A thread that is off the CPU since long ago. */
function asleep(size: number): Uint8Array {
	const value = new Uint8Array(size);
	new DataView(value.buffer).setBigUint64(0, AWAKE_SINCE, true);
	return value;
}

test('stacks_full: waits that are followed', needs('a ring buffer'), async () => {
	const workload = await Workload.start('naps', `${NAPS}`, '0', '100');
	const lost = await lostWhile(
		OFF_CPU,
		{
			programs: ['offcpu_switch_walks'],
			constants: { ...SWITCH, walk_kernel: true, followed_wakers: 1 },
			room: { wait_records: 1 << 24 },
		},
		[workload.pid],
		() => workload.work(),
	);
	await workload.end();
	assert.ok((lost.stacks_full ?? 0) >= NAPS_SEEN, JSON.stringify(lost));
	assert.deepEqual(Object.keys(otherLosses(lost)), ['stacks_full']);
});

test('stacks_full: who ends waits', async () => {
	const workload = await Workload.start('naps', `${NAPS}`, '0', '100');
	const lost = await lostWhile(
		OFF_CPU,
		{
			programs: ['offcpu_switch_walks', 'offcpu_waking'],
			constants: { ...SWITCH, walk_kernel: false, with_wakers: true },
			room: { sums: 1024, wakers: 1 },
			full: ['wakers'],
		},
		[workload.pid],
		() => workload.work(),
	);
	await workload.end();
	assert.ok((lost.stacks_full ?? 0) >= NAPS_SEEN, JSON.stringify(lost));
	assert.deepEqual(Object.keys(otherLosses(lost)), ['stacks_full']);
});

test('stacks_full: the stack of a thread that wakes another one', async () => {
	const workload = await Workload.start('calls', 'missing', '1');
	const lost = await lostWhile(
		OFF_CPU,
		{
			programs: ['offcpu_waking'],
			constants: { walk_user: false, with_wakers: true, walk_wakers: true, threads_in_hash: true },
			room: { scratch: off_cpu.enums.wait_scratch.WAKER_SCRATCH + 1 },
			prepare: (object) => {
				const map = object.map('off_cpus_by_pid');
				map.update(u32Key(workload.pid), asleep(map.valueSize));
			},
		},
		[workload.pid],
		() => workload.work(),
	);
	await workload.end();
	assert.deepEqual(lost, { stacks_full: 1 });
});

test('stacks_full: a thread that waits still as tracing ends', async () => {
	const workload = await Workload.start('calls', 'missing', '1');
	const lost = await lostWhile(
		OFF_CPU,
		{
			programs: [],
			loadedOnly: ['end_waiting'],
			constants: { walk_user: false, threads_in_hash: true },
			prepare: (object) => {
				const map = object.map('off_cpus_by_pid');
				map.update(u32Key(workload.pid), asleep(map.valueSize));
			},
		},
		[workload.pid],
		async (object) => {
			object.setVariable('ended_ns', ENDED_NS);
			object.runIterator('end_waiting');
		},
	);
	await workload.end();
	assert.deepEqual(lost, { stacks_full: 1 });
});

interface Samples {
	readonly cause: string;
	readonly what: string;
	readonly constants: Readonly<Record<string, boolean>>;
	readonly room?: Readonly<Record<string, number>>;
	readonly full?: readonly string[];
}

const SAMPLES: readonly Samples[] = [
	{ cause: 'stacks_full', what: 'stacks of samples', constants: { walk_user: true } },
	{
		cause: 'stacks_full',
		what: 'samples, with room for no sum but that of all others',
		constants: { walk_user: false },
		room: { sums: 1 },
		full: ['sums'],
	},
	{
		cause: 'stack_walk_failed',
		what: 'samples, with no room to walk by tables',
		constants: { walk_user: true, walk_by_tables: true },
		room: { unwinds: 1 },
	},
];

for (const { cause, what, constants, room, full = [] } of SAMPLES) {
	test(`${cause}: ${what}`, async () => {
		const hog = await Workload.start('hog', '0');
		const lost = await lostWhile(
			OFF_CPU,
			{
				programs: [],
				loadedOnly: ['sample_running'],
				constants: { walk_kernel: false, ...constants },
				room: { scratch: off_cpu.enums.wait_scratch.SAMPLE_SCRATCH + 1, sums: 64, ...room },
				full,
			},
			[hog.pid],
			async (object) => {
				const clock = { ...eventOf('cpu-clock'), frequency_hz: 999 };
				const events = runOnOverflow(clock, object.program('sample_running'), [0]);
				const { run_ns } = schedstat(hog.pid);
				await until(() => schedstat(hog.pid).run_ns > run_ns + 100e6);
				events.close();
			},
			(object, losses) => {
				const { size, fields } = off_cpu.structs.stack_sum;
				let samples = 0;
				object.map('sums').readAll((_, values, count) => {
					for (let i = 0; i < count; i++)
						samples += readU64(values, i * size + fields.count.offset) / stack_constant.COUNT_ONE;
				});
				assert.ok(samples > 10, `${samples}`);
				assert.deepEqual(losses, { [cause]: samples }, 'each of them, once');
			},
		);
		await hog.end();
		assert.deepEqual(Object.keys(lost), [cause]);
	});
}

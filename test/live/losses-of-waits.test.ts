/** Waits that are lost, or counted otherwise, where what is known of their thread is not what it should be. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { off_cpu } from '../../src/generated/off_cpu.js';
import { runqlat } from '../../src/generated/runqlat.js';
import { timehist } from '../../src/generated/timehist.js';
import { tracepointArguments } from '../../src/loader/kernel.js';
import { u32Key } from '../../src/loader/map.js';
import { lostWhile } from './lost-while.js';
import { otherLosses } from './reports.js';
import { Workload } from './support.js';
import { schedstat } from './times.js';

const OFF_CPU = ['off_cpu', off_cpu] as const;
const RUNQLAT = ['runqlat', runqlat] as const;
const TIMEHIST = ['timehist', timehist] as const;
const SWITCH = { has_sched_info: true, switch_has_state: tracepointArguments('sched_switch') >= 4 };
const HASH = { threads_in_hash: true };

/** In struct off_cpu of bpf/lib/scheduling/off_cpu.h. */
const SINCE_AT = 0;
const MOVED_ASLEEP_AT = 37;

/** What programs are to know of a thread that is off the CPU. */
function offCpu(size: number, { since_ns = 0, movedAsleep = false }): Uint8Array {
	const value = new Uint8Array(size);
	new DataView(value.buffer).setBigUint64(SINCE_AT, BigInt(since_ns), true);
	value[MOVED_ASLEEP_AT] = Number(movedAsleep);
	return value;
}

test('wait_start_unknown: the first wait of a thread whose last time slice nobody knows', async () => {
	const workload = await Workload.start('naps', '50', '0', '100');
	const lost = await lostWhile(
		RUNQLAT,
		{
			programs: ['switch_sched_info'],
			// Of no thread, but it is said that they are.
			prepare: (object) => object.setVariable('slices_seeded', 1),
		},
		[workload.pid],
		() => workload.work(),
	);
	await workload.end();
	assert.equal(lost.wait_start_unknown, 1);
	assert.deepEqual(otherLosses(lost), {});
});

test('waits_unseen: as many as the kernel has counted meanwhile', async () => {
	const WAITS = 30;
	const workload = await Workload.start('endless', '0');
	const waits = () => schedstat(workload.pid).waits;
	const before = waits();
	const lost = await lostWhile(
		RUNQLAT,
		{ programs: ['switch_sched_info'] },
		[workload.pid],
		async (object) => {
			object.setVariable('slices_seeded', 1);
			await workload.work();
			object.detach();
			for (let i = 0; i < WAITS; i++) await workload.work();
			object.attach('switch_sched_info');
			await workload.work();
		},
	);
	const most = waits() - before;
	await workload.end();
	const { waits_unseen = 0 } = lost;
	assert.ok(waits_unseen >= WAITS - 1 && waits_unseen < most, `${waits_unseen} of ${most}`);
});

test('waits_unseen: a thread leaves the CPU that was said to be off it', async () => {
	const shell = await Workload.startBy('sh', '-c', 'echo ready $$ $$; read x; exec echo done');
	const lost = await lostWhile(
		TIMEHIST,
		{
			programs: ['filter_exec', 'timehist_switch'],
			// Nobody looks at it as it gets a CPU: it is chosen only as it executes a program there.
			constants: { ...SWITCH, has_sched_info: false, ...HASH, filter_command_tgid: shell.pid },
			prepare: (object) => {
				const map = object.map('off_cpus_by_pid');
				map.update(u32Key(shell.pid), offCpu(map.valueSize, { since_ns: 1 }));
			},
		},
		[],
		async () => {
			shell.tell('go');
			await shell.done();
			await shell.end();
		},
	);
	assert.ok((lost.waits_unseen ?? 0) > 0, JSON.stringify(lost));
	assert.deepEqual(otherLosses(lost), {});
});

for (const [what, since_ns] of [
	['was seen to stop', 1],
	['was not seen to stop', 0],
] as const) {
	test(`waits_misbooked: a thread was moved asleep that ${what}`, async () => {
		const workload = await Workload.start('calls', 'missing', '1');
		const lost = await lostWhile(
			TIMEHIST,
			{
				programs: ['timehist_switch'],
				constants: { ...SWITCH, ...HASH },
				prepare: (object) => {
					const map = object.map('off_cpus_by_pid');
					const asleep = offCpu(map.valueSize, { since_ns, movedAsleep: true });
					map.update(u32Key(workload.pid), asleep);
				},
			},
			[workload.pid],
			() => workload.work(),
		);
		await workload.end();
		assert.equal(lost.waits_misbooked, 1);
		assert.deepEqual(otherLosses(lost), {});
	});
}

/** offcputime's programs, of stacks without frames. */
const WITHOUT_STACKS = { ...SWITCH, walk_at_switch: true, walk_kernel: false, walk_user: false };

for (const seeded of [true, false])
	test(`wait_start_unknown, offcputime: a thread that slept ${seeded ? 'when all that slept are known' : 'while these are looked for: no loss'}`, async () => {
		const workload = await Workload.start('naps', '50', '0', '100');
		const lost = await lostWhile(
			OFF_CPU,
			{
				programs: ['offcpu_switch_walks'],
				constants: WITHOUT_STACKS,
				room: { sums: 64 },
				prepare: (object) => object.setVariable('offcpu_seeded', Number(seeded)),
			},
			[workload.pid],
			() => workload.work(),
		);
		await workload.end();
		// One more for each switch that this kernel hides.
		const { wait_start_unknown = 0 } = lost;
		assert.equal(wait_start_unknown > 0, seeded, JSON.stringify(lost));
		assert.deepEqual(otherLosses(lost), {});
	});

test('a wait that is not sampled is over as it ends: none is said to be unseen', async () => {
	const NAPS = 200;
	const workload = await Workload.start('naps', `${NAPS}`, '0', '100');
	const lost = await lostWhile(
		OFF_CPU,
		{
			programs: ['offcpu_switch_walks'],
			constants: WITHOUT_STACKS,
			room: { sums: 64 },
			// So long that hardly any of them is.
			prepare: (object) => object.setVariable('period_ns', 1e9),
		},
		[workload.pid],
		() => workload.work(),
	);
	await workload.end();
	assert.ok((lost.waits_unseen ?? 0) < NAPS / 4, JSON.stringify(lost));
});

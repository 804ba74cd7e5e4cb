/** Losses of tables and rings that are too large to fill: in the programs, with small ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { off_cpu } from '../../src/generated/off_cpu.js';
import { runqlat } from '../../src/generated/runqlat.js';
import { schedlat } from '../../src/generated/schedlat.js';
import { tracepointArguments } from '../../src/loader/kernel.js';
import { u32Key } from '../../src/loader/map.js';
import { lostWhile } from './lost-while.js';
import { needs, until, Workload } from './support.js';
import { schedstat } from './times.js';

/** Kernel's smallest, of pages of 4 KiB: BPF_RINGBUF_HDR_SZ bytes go in front of each record. */
const RING_BYTES = 4096;
const HEADER_BYTES = 8;

const OFF_CPU = ['off_cpu', off_cpu] as const;
const RUNQLAT = ['runqlat', runqlat] as const;
const SCHEDLAT = ['schedlat', schedlat] as const;
const SWITCH = {
	has_sched_info: true,
	switch_has_state: tracepointArguments('sched_switch') >= 4,
	walk_kernel: false,
	walk_user: false,
};
const RING = needs('a ring buffer');

test(
	'events_ring_full: waits that are printed one by one, and that nobody reads',
	RING,
	async () => {
		const WAKEUPS = 997;
		const workload = await Workload.start('wakeups', `${WAKEUPS}`);
		const lost = await lostWhile(
			RUNQLAT,
			{
				programs: ['wakeup_hash', 'switch_hash'],
				constants: { slower_than_ns: 1 },
				room: { slow_waits: RING_BYTES },
			},
			[workload.pid],
			() => workload.work(),
		);
		await workload.end();
		const most = RING_BYTES / (runqlat.structs.slow_wait.size + HEADER_BYTES);
		assert.ok((lost.events_ring_full ?? 0) >= 0.98 * WAKEUPS - most, JSON.stringify(lost));
	},
);

test('waits_ring_full: waits that are followed, and that nobody reads', RING, async () => {
	const NAPS = 200;
	const workload = await Workload.start('naps', `${NAPS}`, '0', '100');
	const lost = await lostWhile(
		OFF_CPU,
		{
			programs: ['offcpu_switch_walks'],
			constants: { ...SWITCH, walk_at_switch: true, followed_wakers: 1 },
			room: { wait_records: RING_BYTES },
		},
		[workload.pid],
		() => workload.work(),
	);
	await workload.end();
	const most = RING_BYTES / off_cpu.structs.wait_record.size;
	assert.ok((lost.waits_ring_full ?? 0) >= 0.9 * NAPS - most, JSON.stringify(lost));
});

test('ended_threads_full: threads that end, and that nobody reads of', RING, async () => {
	const THREADS = 500;
	const workload = await Workload.start('churn', `${THREADS}`);
	const lost = await lostWhile(
		OFF_CPU,
		{ programs: ['account_ended'], room: { ended_threads: RING_BYTES } },
		[workload.pid],
		() => workload.work(),
	);
	await workload.end();
	const held = Math.floor((RING_BYTES - 1) / (off_cpu.structs.thread_account.size + HEADER_BYTES));
	assert.deepEqual(lost, { ended_threads_full: THREADS - held });
});

test('wait_table_full: threads that are off the CPU, in a hash with room for one', async () => {
	const hogs = await Promise.all(Array.from({ length: 4 }, () => Workload.start('hog', '0')));
	const pids = hogs.map(({ pid }) => pid);
	const [first = 0] = pids;
	const turns = async (count: number) => {
		const { waits } = schedstat(first);
		await until(() => schedstat(first).waits >= waits + count);
	};
	const lost = await lostWhile(
		OFF_CPU,
		{
			programs: ['offcpu_switch_walks'],
			constants: { ...SWITCH, walk_at_switch: true, threads_in_hash: true },
			room: { off_cpus_by_pid: 1 },
		},
		pids,
		() => turns(20),
	);
	for (const hog of hogs) await hog.end();
	assert.ok((lost.wait_table_full ?? 0) >= 20, JSON.stringify(lost));
});

const THREADS = 300;
const ROOM = 7;
/** As bpf/lib/schedlat/latencies.h has it: places of threads by their numbers, counts of buckets. */
const PLACES = 16_384;
const AT_HAND_MAX = 2 ** 20 - 1;

test('threads_full: threads that have ended, of which there is room for few', async () => {
	const workload = await Workload.start('churn', `${THREADS}`);
	const lost = await lostWhile(
		SCHEDLAT,
		{ programs: ['schedlat_exit', 'schedlat_switch'], room: { ended_0: ROOM } },
		[workload.pid],
		() => workload.work(),
	);
	await workload.end();
	// The last ones may run on for a moment.
	const { threads_full = 0 } = lost;
	assert.ok(threads_full <= THREADS - ROOM && threads_full > 0.9 * THREADS, `${threads_full}`);
});

test('threads_full: threads that are about to end, with no room for any', async () => {
	const workload = await Workload.start('churn', `${THREADS}`);
	const lost = await lostWhile(
		SCHEDLAT,
		{ programs: ['schedlat_exit'], room: { ending: 1 }, full: ['ending'] },
		[workload.pid],
		() => workload.work(),
	);
	await workload.end();
	assert.deepEqual(lost, { threads_full: THREADS });
});

test('threads_full: latencies with no room are as many as are missing in the histogram', async () => {
	const WAKEUPS = 2000;
	const { latency_place: PLACE, latencies: SUMS } = schedlat.structs;
	const workload = await Workload.start('wakeups', `${WAKEUPS}`);
	await lostWhile(
		SCHEDLAT,
		{
			programs: ['schedlat_switch'],
			constants: { has_sched_info: true, filter_by_tgid: false, filter_by_tid: true },
			room: { latencies_0: 1 },
			full: ['latencies_0'],
		},
		[workload.tid],
		() => workload.work(),
		(object, { threads_full = 0 }) => {
			const place = object.map('latency_places').lookup(u32Key(workload.tid % PLACES));
			const { all, at_hand } = PLACE.fields;
			const count = place?.getUint32(all.offset + SUMS.fields.count.offset, true) ?? 0;
			let held = 0;
			for (let at = at_hand.offset; at < PLACE.size; at += 4)
				held += (place?.getUint32(at, true) ?? 0) & AT_HAND_MAX;
			assert.ok(count >= WAKEUPS * 0.98 && threads_full > 100, `${count}, ${threads_full} lost`);
			assert.equal(held + threads_full, count);
		},
	);
	await workload.end();
});

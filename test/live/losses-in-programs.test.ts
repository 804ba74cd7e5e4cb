/** Losses that a whole tool is too large to force: in its programs, with maps that are small. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Losses } from '../../src/bpf/loss.js';
import { runqlat } from '../../src/generated/runqlat.js';
import { timehist } from '../../src/generated/timehist.js';
import { possibleCpus, u32Key } from '../../src/loader/map.js';
import { BpfObject } from '../../src/loader/object.js';
import { onlineCpus } from '../../src/perf/cpus.js';
import { until, Workload } from './support.js';
import { schedstat } from './times.js';

type Program = (typeof runqlat)['programs'][number];

interface Room {
	readonly waits?: number;
	readonly processes?: number;
}

/** Loads these programs of runqlat, attaches some of them for this process, and lets `use` read losses. */
async function withPrograms(
	load: readonly Program[],
	attach: readonly Program[],
	pids: readonly number[],
	{ waits = 1024, processes = 16 }: Room,
	use: (losses: Losses) => Promise<void>,
): Promise<void> {
	const object = new BpfObject(`dist/bpf/${process.arch}/runqlat.bpf.o`, runqlat);
	try {
		for (const half of ['groups_0', 'groups_1'] as const) object.map(half).setMaxEntries(16);
		object.map('hash_waits').setMaxEntries(waits);
		object.map('filter_tgids').setMaxEntries(processes);
		object.setConstants({ filter_by_tgid: true });
		object.load(load);
		for (const pid of pids) object.map('filter_tgids').update(u32Key(pid), new Uint8Array([1]));
		const losses = new Losses(object, () => 0);
		assert.deepEqual(losses.read(), {});
		for (const name of attach) object.attach(name);
		await use(losses);
	} finally {
		object.close();
	}
}

const HASH = ['wakeup_hash', 'wakeup_new_hash', 'switch_hash'] as const;

test('wait_table_full: three that wait for one CPU, with room for one of them', async () => {
	const hogs = await Promise.all(Array.from({ length: 4 }, () => Workload.start('hog', '0')));
	const pids = hogs.map(({ pid }) => pid);
	const [first = 0] = pids;
	const gone = async (count: number) => {
		const { waits } = schedstat(first);
		await until(() => schedstat(first).waits >= waits + count);
	};
	await withPrograms(HASH, HASH, pids, { waits: 1 }, async (losses) => {
		// Two at a time of three that wait have no room.
		await gone(20);
		const { wait_table_full = 0, ...others } = losses.read();
		assert.ok(wait_table_full >= 10, `${wait_table_full} waits`);
		assert.deepEqual(
			Object.keys(others).filter((cause) => cause !== 'waits_unseen'),
			[],
		);
		await gone(20);
		const again = losses.read().wait_table_full ?? 0;
		assert.ok(again > 0 && again < 3 * wait_table_full, `${again}, after ${wait_table_full}`);
	});
	await withPrograms(HASH, HASH, pids, { waits: 1024 }, async (losses) => {
		await gone(20);
		assert.equal(losses.read().wait_table_full, undefined);
	});
	for (const hog of hogs) await hog.end();
});

test('waits_unseen: wake-ups whose waits nobody sees the end of', async () => {
	const WAKEUPS = 997;
	const workload = await Workload.start('wakeups', `${WAKEUPS}`);
	await withPrograms(HASH, ['wakeup_hash'], [workload.pid], {}, async (losses) => {
		await workload.work();
		const { waits_unseen = 0, ...others } = losses.read();
		// Of each thread the last is still open; its main thread is woken, too.
		assert.ok(waits_unseen >= WAKEUPS * 0.98 - 2, `${waits_unseen} waits`);
		assert.deepEqual(others, {});
		assert.deepEqual(losses.read(), {}, 'it is said once');
	});
	await workload.end();
});

test('filter_full: children that --follow has no room for', async () => {
	const CHILDREN = 97;
	const ROOM = 8;
	const workload = await Workload.start('calls', 'forks', `${CHILDREN}`);
	const room = { processes: ROOM };
	await withPrograms(['filter_fork'], ['filter_fork'], [workload.pid], room, async (losses) => {
		await workload.work();
		// None of them is taken out again; the first place is their parent's.
		assert.deepEqual(losses.read(), { filter_full: CHILDREN - (ROOM - 1) });
		assert.deepEqual(losses.read(), {}, 'it is said once');
	});
	await workload.end();
});

/** In struct slice of bpf/lib/timehist/slices.h: which thread was seen to get the CPU. */
const SLICE_PID_AT = 32;

test('waits_unseen: a thread was seen to get a CPU, which another one leaves', async () => {
	const INIT = 1;
	const hog = await Workload.start('hog', '0');
	const object = new BpfObject(`dist/bpf/${process.arch}/timehist.bpf.o`, timehist);
	try {
		object.setConstants({ filter_by_tgid: true });
		object.load(['timehist_switch']);
		object.map('filter_tgids').update(u32Key(hog.pid), new Uint8Array([1]));
		const slices = object.map('slices');
		const places = onlineCpus().map((cpu) => cpu * slices.perCpuStride + SLICE_PID_AT);
		const values = new DataView(new ArrayBuffer(slices.perCpuStride * possibleCpus()));
		for (const place of places) values.setUint32(place, INIT, true);
		slices.update(u32Key(0), new Uint8Array(values.buffer));
		const losses = new Losses(object, () => 0);
		object.attach('timehist_switch');
		const now = () => slices.lookupPerCpu(u32Key(0)) ?? values;
		await until(() => !places.some((place) => now().getUint32(place, true) === INIT));
		const { waits_unseen = 0 } = losses.read();
		// This kernel may hide another thread's switch meanwhile.
		assert.ok(
			waits_unseen >= places.length && waits_unseen <= places.length + 4,
			`${waits_unseen}`,
		);
	} finally {
		object.close();
	}
	await hog.end();
});

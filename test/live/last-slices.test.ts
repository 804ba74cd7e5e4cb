/** The table of last time slices, where others have entries in a thread's set: two get along, and what is not known is said. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Losses } from '../../src/bpf/loss.js';
import { runqlat } from '../../src/generated/runqlat.js';
import { u32Key } from '../../src/loader/map.js';
import { PROT, SharedMapping } from '../../src/loader/memory.js';
import { BpfObject } from '../../src/loader/object.js';
import { until, Workload } from './support.js';
import { schedstat } from './times.js';

/** SLICE_SETS, SLICE_WAYS, struct last_slice of bpf/lib/scheduling/run_queue.h: its pid comes first. */
const [SETS, WAYS, SLICE_BYTES] = [1 << 15, 2, 24];
const WAITS = 20;

/** Lets two hogs wait for each other; whose entries are in the set of one, which had those of `others`. */
async function after(others: number): Promise<{ pids: number[]; hog: number; unknown: number }> {
	const hogs = [await Workload.start('hog', '0'), await Workload.start('hog', '0')];
	const [{ pid } = assert.fail()] = hogs;
	const object = new BpfObject(`dist/bpf/${process.arch}/runqlat.bpf.o`, runqlat);
	try {
		for (const half of ['groups_0', 'groups_1'] as const) object.map(half).setMaxEntries(1);
		object.setConstants({ filter_by_tgid: true });
		object.load(['switch_sched_info']);
		object.map('filter_tgids').update(u32Key(pid), new Uint8Array([1]));
		object.setVariable('slices_seeded', 1);
		// libbpf knows it by 15 letters.
		const table = object.map('.bss.last_slice' as never);
		const memory = new SharedMapping(table.fd, table.valueSize, PROT.read | PROT.write, 0);
		const set = new DataView(memory.buffer, (pid % SETS) * WAYS * SLICE_BYTES, WAYS * SLICE_BYTES);
		for (let i = 0; i < others; i++) set.setUint32(i * SLICE_BYTES, pid + (i + 1) * SETS, true);
		const losses = new Losses(object, () => 0);
		const { waits } = schedstat(pid);
		object.attach('switch_sched_info');
		await until(() => schedstat(pid).waits >= waits + WAITS);
		object.detach();
		const { wait_start_unknown: unknown = 0 } = losses.read();
		const pids = [0, 1].map((i) => set.getUint32(i * SLICE_BYTES, true));
		memory.unmap();
		return { pids, hog: pid, unknown };
	} finally {
		object.close();
		for (const hog of hogs) await hog.end();
	}
}

/** Its first wait, as it was not seen to begin; and few more, before which the kernel has hidden a switch. */
const isFew = (unknown: number) => unknown >= 1 && unknown < WAITS / 4;

test('beside the entry of one other thread: both are there', async () => {
	const { pids, hog, unknown } = await after(1);
	assert.deepEqual(pids, [hog + SETS, hog]);
	assert.ok(isFew(unknown), `${unknown}`);
});

test('beside those of two others: it has taken one, and said that the begin of its first wait is not known', async () => {
	const { pids, hog, unknown } = await after(2);
	assert.deepEqual(pids, [hog, hog + 2 * SETS]);
	assert.ok(isFew(unknown), `${unknown}`);
});

/** Rings of perf events whose positions make no sense: what is skipped is counted as lost, each time. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { PROT, pageSizeBytes, SharedMapping } from '../../src/loader/memory.js';
import type { SidebandRecord } from '../../src/perf/records.js';
import { Sideband } from '../../src/perf/sideband.js';

const RING_BYTES = 64 * 1024;
const CPU = 0;
/** man 2 perf_event_open: struct perf_event_mmap_page, data_head. */
const HEAD_AT = 1024;

const onTheCpu = () => spawnSync('taskset', ['-c', `${CPU}`, '/bin/true']).pid;

/** Lets `use` move the head of a ring; the kernel lets a ring be mapped again, and its first page be written to. */
function withRing(
	use: (sideband: Sideband, records: SidebandRecord[], moveHead: (bytes: number) => void) => void,
): void {
	const records: SidebandRecord[] = [];
	const sideband = new Sideband({ ring_bytes: RING_BYTES, cpus: [CPU] });
	const { fd } = sideband.eventOn(CPU) ?? assert.fail('no event');
	const bytes = pageSizeBytes() + RING_BYTES;
	const memory = new SharedMapping(fd, bytes, PROT.read | PROT.write, 0);
	try {
		const page = new DataView(memory.buffer);
		sideband.start((record) => records.push(record));
		use(sideband, records, (more) => {
			page.setBigUint64(HEAD_AT, page.getBigUint64(HEAD_AT, true) + BigInt(more), true);
		});
	} finally {
		memory.unmap();
		sideband.close();
	}
}

/** The numbers of processes in what was read since then. */
const pidsSince = (records: readonly SidebandRecord[], from: number) =>
	records.slice(from).map(({ pid }) => pid);

test('what follows the last record is none: it is skipped, and said once', () => {
	withRing((sideband, records, moveHead) => {
		sideband.drain();
		const { length } = records;
		const read = onTheCpu();
		moveHead(4);
		sideband.drain();
		assert.ok(pidsSince(records, length).includes(read), 'the records before it');
		assert.equal(sideband.lost(), 1);
		assert.equal(sideband.lost(), 0);
	});
});

test('more than the ring can hold: nothing of it is read, and that is said', () => {
	withRing((sideband, records, moveHead) => {
		sideband.drain();
		const { length } = records;
		onTheCpu();
		moveHead(2 * RING_BYTES);
		sideband.drain();
		assert.deepEqual(pidsSince(records, length), []);
		assert.equal(sideband.lost(), 1);
	});
});

/** What happens to programs besides: of whom it is recorded, and whose records are delivered. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { perf_event_attr } from '../../../src/generated/uapi.js';
import { SAMPLE_ID_TYPE } from '../../../src/perf/attributes.js';
import { PerfRing } from '../../../src/perf/ring.js';
import { PerfRings, type TimedRecord } from '../../../src/perf/rings.js';
import { Sideband } from '../../../src/perf/sideband.js';
import { FakeEvents } from './fake-events.js';
import { FakeRing, PAGE_BYTES } from './fake-ring.js';

test('on each CPU, of all threads, from user space, by records that tell their time', (t) => {
	const kernel = new FakeEvents(t);
	t.mock.method(PerfRing, 'map', () => new PerfRing(new FakeRing(2 ** 18), PAGE_BYTES));
	let deliver: ((record: TimedRecord) => void) | undefined;
	t.mock.method(PerfRings.prototype, 'start', (onRecord: typeof deliver) => {
		deliver = onRecord;
	});
	const ring_bytes = 2 ** 18;
	const sideband = new Sideband({ ring_bytes, cpus: [1, 3], online: () => [0, 1, 2, 3] });
	// The first may be the one that finds out what events can do.
	const asked = kernel.asked.slice(-2);
	assert.deepEqual(
		asked.map(({ pid, cpu }) => [pid, cpu]),
		[
			[-1, 1],
			[-1, 3],
		],
	);
	const { sample_type, wakeup_watermark } = perf_event_attr.fields;
	for (const { flags, attributes } of asked) {
		const expected = ['mmap', 'mmap2', 'comm', 'comm_exec', 'task', 'sample_id_all', 'watermark'];
		const excluded = ['exclude_kernel', 'exclude_hv', 'use_clockid'];
		assert.deepEqual([...flags].sort(), [...expected, ...excluded].sort());
		assert.equal(Number(attributes.getBigUint64(sample_type.offset, true)), SAMPLE_ID_TYPE);
		assert.equal(attributes.getUint32(wakeup_watermark.offset, true), ring_bytes / 4);
	}
	assert.deepEqual(kernel.open.get(sideband.eventOn(3)?.fd ?? -1)?.cpu, 3);
	assert.equal(sideband.eventOn(0), undefined);
	const tids: number[] = [];
	sideband.start(({ tid }) => tids.push(tid));
	for (const [pid, tid] of [
		[70, 71],
		[0, 0],
		[-1, -1],
	] as const)
		deliver?.({ type: 'exit', time_ns: 1, pid, tid });
	assert.deepEqual(tids, [71]);
	sideband.close();
});

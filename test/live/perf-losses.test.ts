/** Samples that are lost: how many, and what nobody knows of threads afterwards. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { eventOf } from '../../src/perf/names.js';
import { OneEventEach } from '../../src/perf/one-event-each.js';
import type { SampleRecord } from '../../src/perf/records.js';
import { PerfRings, type TimedRecord } from '../../src/perf/rings.js';
import { Sampler } from '../../src/perf/sampler.js';

const PAGE_BYTES = 4096;

function started(sampler: Sampler): SampleRecord[] {
	const samples: SampleRecord[] = [];
	sampler.start(
		(sample) => samples.push(sample),
		() => undefined,
	);
	return samples;
}

/** How often the threads of this process have left a CPU. */
function switches(): number {
	const counts = readdirSync('/proc/self/task').flatMap((tid) => {
		const status = readFileSync(`/proc/self/task/${tid}/status`, 'utf8');
		return [...status.matchAll(/^(?:non)?voluntary_ctxt_switches:\s+(\d+)$/gm)];
	});
	return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

test('samples that find no room are counted: with those that came, they are all that were taken', () => {
	const event = eventOf('context-switches');
	const opened = { event, period: 1, ring_bytes: PAGE_BYTES, kernel: 'yes' } as const;
	const first = switches();
	const sampler = new Sampler({ ...opened, pids: [process.pid] });
	try {
		const before = switches();
		const nobody = new Int32Array(new SharedArrayBuffer(4));
		for (let i = 0; i < 500; i++) Atomics.wait(nobody, 0, 0, 1);
		const taken = switches() - before;
		const samples = started(sampler);
		sampler.drain();
		const lost = sampler.lost();
		const said = `${samples.length} samples, ${lost} lost, of ${taken}`;
		assert.ok(samples.length < taken / 2, said);
		assert.ok(samples.length + lost >= taken, said);
		// Of code that is mapped meanwhile, there are records, too.
		assert.ok(samples.length + lost <= switches() - first + 20, said);
	} finally {
		sampler.close();
	}
});

test('when the end of a thread may be lost, another one may have its number, and is sampled', (t) => {
	let deliver = (_: TimedRecord): void => assert.fail('not started');
	t.mock.method(PerfRings.prototype, 'start', (on: typeof deliver) => {
		deliver = on;
	});
	const lost = t.mock.method(PerfRings.prototype, 'lost', () => 0);
	// As if threads had come while events were being opened.
	const { accepts } = OneEventEach.prototype;
	t.mock.method(OneEventEach.prototype, 'accepts', function (this: OneEventEach, of: SampleRecord) {
		this.begin();
		return accepts.call(this, of);
	});
	const sampler = new Sampler({
		event: eventOf('cpu-clock'),
		frequency_hz: 999,
		pids: [process.pid],
		kernel: 'no',
	});
	try {
		const samples = started(sampler);
		const sampled = (id: number): boolean => {
			const before = samples.length;
			const of = { type: 'sample', time_ns: 1, pid: 7, tid: 7, id, cpu: 0, period: 1 } as const;
			deliver({ ...of, kernel: [], user: [id] });
			return samples.length > before;
		};
		assert.deepEqual([sampled(1), sampled(2), sampled(1)], [true, false, true]);
		sampler.lost();
		assert.equal(sampled(2), false, 'nothing was lost');
		lost.mock.mockImplementation(() => 3);
		assert.equal(sampler.lost(), 3);
		assert.deepEqual([sampled(2), sampled(1)], [true, false]);
	} finally {
		sampler.close();
	}
});

/** Counters as threads and CPUs come and go while they are opened and read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counters } from '../../src/perf/counters.js';
import { onlineCpus } from '../../src/perf/cpus.js';
import { countedEvent } from '../../src/perf/event-list.js';
import { CountReader } from '../../src/tools/stat/reader.js';
import { between } from './counts.js';

const CLOCK = [countedEvent('task-clock')];
/** No kernel has so many. */
const NEVER_THERE = 4_194_300;

/** This process's first thread, and others that are said to come: so many of `looks` have one more. */
function coming(looks: number): () => number[] {
	let asked = 0;
	return () => {
		asked++;
		const others = Array.from({ length: Math.min(asked, looks) - 1 }, (_, i) => NEVER_THERE - i);
		return [process.pid, ...others];
	};
}

/** Uses CPU time, and returns how much: ns. */
function burn(): number {
	const before = process.cpuUsage();
	let used_us = 0;
	while (used_us < 50_000) {
		const { user, system } = process.cpuUsage(before);
		used_us = user + system;
	}
	return used_us * 1000;
}

test('a thread that comes while counters are opened: all begins anew, and nothing counts twice', () => {
	const counters = new Counters(CLOCK, { threads: coming(3), inherit: true, cpus: [] });
	try {
		assert.equal(counters.unsettled, 0);
		assert.equal(counters.size, 1, 'those of before are closed');
		counters.enable();
		const used_ns = burn();
		const [count] = counters.read();
		// What node's other threads use is not in the count.
		between(Number(count?.value), 0.5 * used_ns, 1.3 * used_ns, 'task-clock');
	} finally {
		counters.close();
	}
});

test('an event of a PMU that only some CPUs have is counted there, and nowhere else', () => {
	const cpus = onlineCpus();
	const [first = 0] = cpus;
	const clock = countedEvent('cpu-clock');
	const there = { ...clock, onCpus: [first] };
	const counters = new Counters([clock, there, { ...there, shared: true }], { cpus: [] });
	try {
		counters.enable();
		burn();
		const [all, one, shared] = counters.read();
		between(Number(shared?.value), 0.9 * Number(one?.value), 1.1 * Number(one?.value), 'shared');
		between(Number(all?.value), 0.9 * cpus.length * Number(one?.value), Infinity, 'all CPUs');
		between(Number(one?.value), 10e6, 1.1 * (Number(all?.value) / cpus.length), 'one of them');
	} finally {
		counters.close();
	}
});

test('threads that come every time are lost, and said to be: threads_uncounted', async () => {
	const counted = { threads: coming(100), inherit: true, cpus: [] };
	const target = { counted, wholeMachine: false, words: 'this', close: () => undefined };
	const reader = new CountReader(CLOCK, target);
	try {
		reader.begin();
		burn();
		reader.end();
		const { rows } = await reader.read();
		assert.ok((rows[0]?.value ?? 0) > 0, 'what is there counts');
		assert.deepEqual(reader.lost(), { threads_uncounted: 1 });
		assert.deepEqual(reader.lost(), {}, 'once');
	} finally {
		reader.close();
	}
});

test('without inheritance there is nothing to settle', () => {
	const counters = new Counters(CLOCK, { threads: coming(100), inherit: false, cpus: [] });
	assert.equal(counters.unsettled, 0);
	counters.close();
});

test('a CPU goes, and another comes: what the first one counted is kept', () => {
	const [first = 0, second = first] = onlineCpus();
	let online = [first];
	const clock = [countedEvent('cpu-clock')];
	const counters = new Counters(clock, { cpus: [], online: () => online });
	const value = () => Number(counters.read()[0]?.value);
	try {
		counters.enable();
		burn();
		const before = value();
		assert.ok(before > 40e6, `${before} ns on CPU ${first}`);
		online = [];
		counters.refresh();
		const gone = value();
		assert.ok(gone >= before, `${gone} ns are kept`);
		burn();
		assert.equal(value(), gone, 'nobody counts');
		online = [second];
		counters.refresh();
		burn();
		assert.ok(value() > gone + 40e6, `${value()} ns with CPU ${second}`);
		assert.equal(counters.size, 1);
	} finally {
		counters.close();
	}
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OneEventEach } from '../../../src/perf/one-event-each.js';

function sample(cpu: number, tid: number, id: number) {
	const stamp = { time_ns: 1, pid: 1, tid, period: 1, kernel: [], user: [] };
	return { ...stamp, type: 'sample', cpu, id } as const;
}

test('all are taken as long as no thread can have two events', () => {
	const once = new OneEventEach();
	assert.ok(once.accepts(sample(0, 7, 1)));
	assert.ok(once.accepts(sample(0, 7, 2)));
});

test('then, of each thread on each CPU, those of one event', () => {
	const once = new OneEventEach();
	once.begin();
	assert.ok(once.accepts(sample(0, 7, 1)));
	assert.ok(!once.accepts(sample(0, 7, 2)));
	assert.ok(once.accepts(sample(0, 7, 1)));
	assert.ok(once.accepts(sample(1, 7, 3)), 'its event on another CPU');
	assert.ok(once.accepts(sample(0, 8, 2)), 'another thread');
});

test('a number that is used again begins anew', () => {
	const once = new OneEventEach();
	once.begin();
	once.accepts(sample(0, 7, 1));
	once.accepts(sample(1, 7, 1));
	once.begin();
	once.follow({ type: 'comm', time_ns: 2, pid: 1, tid: 7, comm: 'sh', exec: false });
	assert.ok(!once.accepts(sample(0, 7, 2)), 'it goes on');
	once.follow({ type: 'exit', time_ns: 2, pid: 1, tid: 7 });
	assert.ok(once.accepts(sample(0, 7, 2)));
	assert.ok(once.accepts(sample(1, 7, 2)));
	once.forget();
	assert.ok(once.accepts(sample(0, 7, 3)));
});

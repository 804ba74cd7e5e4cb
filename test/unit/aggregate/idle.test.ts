import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isBlockedSince, withoutIdle } from '../../../src/aggregate/idle.js';
import type { StackRow } from '../../../src/aggregate/stack-rows.js';

const S = 1e9;

/** A row of one thread, in a function of the kernel. */
function row(tid: number, wait: string, value: number): StackRow {
	const frames = [
		{ name: 'main', kind: 'user' as const },
		{ name: wait, kind: 'kernel' as const },
		{ name: 'schedule', kind: 'kernel' as const },
	];
	const numbers = { parts: [value], value, count: 1, variance: 0 };
	return { key: { pid: 1, ...(tid ? { tid } : {}), comm: 'x' }, frames, ...numbers };
}

test('idle: one wait all the time, or nothing but waits for work', () => {
	const rows = [
		row(1, 'futex_wait', 10 * S), // stayed
		row(2, 'futex_wait', 10 * S), // many waits for a lock
		row(3, 'ep_poll', 9 * S),
		row(3, 'do_nanosleep', 0.95 * S),
		row(4, 'ep_poll', 9.5 * S), // and it ran, or waited for something else
		row(4, 'anon_pipe_write', 0.2 * S),
		row(5, 'do_poll', 10 * S), // a client that waits for one answer may be there
		row(0, 'ep_poll', 10 * S), // nobody's
		row(7, 'ep_poll', 9.89 * S), // a hundredth and more it did something else
		row(6, 'ep_poll', 9.95 * S),
		row(6, 'filemap_read', 0.01 * S), // goes with the thread
	];
	const { stacks, leftOut } = withoutIdle(rows, { duration_ns: 10 * S, stayed: new Set([1]) });
	assert.deepEqual(
		stacks.map(({ key }) => key.tid ?? 0),
		[2, 4, 4, 5, 0, 7],
	);
	assert.equal(leftOut[0]?.threads, 3);
	assert.deepEqual(
		leftOut[0]?.rows.map(({ key }) => key.tid),
		[1, 3, 3, 6, 6],
	);
});

test('who was blocked from the beginning to the end, and who could have run for some of the time', () => {
	// Blocked, run queue, preempted, throttled.
	assert.ok(isBlockedSince([10 * S, 0, 0, 0], 10 * S));
	assert.ok(isBlockedSince([11 * S, 0, 0, 0], 10 * S), 'since before');
	assert.ok(!isBlockedSince([10 * S - 1, 0, 0, 0], 10 * S), 'it ran at first');
	for (const part of [1, 2, 3]) {
		const parts = [0, 0, 0, 0].with(part, 10 * S);
		assert.ok(!isBlockedSince(parts, 10 * S), 'it could have run all the time');
		assert.ok(!isBlockedSince([10 * S, 0, 0, 0].with(part, 1), 10 * S), 'and at last');
	}
});

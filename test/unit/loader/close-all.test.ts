import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closeAll, closedAfter } from '../../../src/loader/close-all.js';
import { PerCpuEvents } from '../../../src/perf/cpus.js';

const failure = (text: string) => () => {
	throw new Error(text);
};

test('when one cannot be closed the others are, and the first error is told', () => {
	const closed: string[] = [];
	const closes = [
		() => closed.push('a') as unknown as undefined,
		failure('first'),
		undefined,
		failure('second'),
		() => closed.push('b') as unknown as undefined,
	];
	assert.throws(() => closeAll(closes), /first/);
	assert.deepEqual(closed, ['a', 'b']);
	const cause = new Error('cause');
	assert.equal(closedAfter(cause, closes), cause);
	assert.deepEqual(closed, ['a', 'b', 'a', 'b']);
	closeAll([]);
});

test('what is open on CPUs is closed on all of them', () => {
	const closed: number[] = [];
	const events = new PerCpuEvents(
		(cpu) => ({
			close: () => {
				closed.push(cpu);
				if (cpu === 0) throw new Error('CPU 0');
			},
		}),
		{ online: () => [0, 1, 2] },
	);
	assert.throws(() => events.close(), /CPU 0/);
	assert.deepEqual(closed, [0, 1, 2]);
	events.close();
	assert.deepEqual(closed, [0, 1, 2]);
});

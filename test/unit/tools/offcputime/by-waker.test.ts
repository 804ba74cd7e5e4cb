/** Rows by who ended what was blocked: nobody ends a wait for a CPU. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StackRow } from '../../../../src/aggregate/stack-rows.js';
import { withWakers } from '../../../../src/tools/offcputime/by-waker.js';

const waker = { key: { comm: 'writer', tid: 7, pid: 7 }, frames: [], value: 0 } as const;
const row = (kind: string, parts: readonly number[]) =>
	({
		...{ key: { comm: 'reader', kind }, frames: [], parts, value: 5, count: 1, variance: 0 },
		waker,
	}) as unknown as StackRow;

test('what was blocked has its waker, what waited for a CPU says so', () => {
	for (const json of [false, true]) {
		const [blocked, queued] = withWakers(
			[row('pipe', [5, 0, 0]), row('run queue', [0, 5, 0])],
			json,
		);
		assert.match(`${blocked?.key.waker}`, /^writer/);
		assert.equal(queued?.key.waker, '[run queue]');
		assert.equal(queued?.waker, undefined);
		assert.equal(blocked?.waker !== undefined, json);
	}
});

/** In which order system calls are shown. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram } from '../../../../src/aggregate/histogram.js';
import type { CallSum } from '../../../../src/tools/syscount/calls.js';
import { callRows } from '../../../../src/tools/syscount/rows.js';

const SETTINGS = {
	timed: false,
	byProcess: false,
	byErrno: false,
	bytes: false,
	open: false,
	onlyFailed: false,
	hist: undefined,
};

/** Each is first in one order: by calls, by time, by errors, by bytes. */
function sums(): CallSum[] {
	return [
		[0, 100, 10, 1, 0],
		[1, 5, 900, 2, 10],
		[2, 7, 20, 6, 5],
		[3, 8, 30, 0, 4000],
	].map(([nr = 0, calls = 0, sum_ns = 0, errors = 0, read_bytes = 0]) => {
		const histogram = new Histogram();
		histogram.addBucket(3, calls);
		histogram.addTotals({ sum_ns, min_ns: 1, max_ns: 9 });
		const none = { written_bytes: 0, open: 0, longest_ns: 0, sinceBefore: false };
		const group = { abi: 'native', tgid: 1, comm: 'x', errno: 2 };
		return { ...group, nr, calls, errors, read_bytes, histogram, ...none } as unknown as CallSum;
	});
}

for (const [what, settings, order] of [
	['calls', {}, [0, 3, 2, 1]],
	['time', { timed: true }, [1, 3, 2, 0]],
	['errors', { byErrno: true }, [2, 1, 0, 3]],
	['bytes', { bytes: true }, [3, 1, 2, 0]],
] as const)
	test(`the most ${what} first`, async () => {
		const rows = await callRows(sums(), { ...SETTINGS, ...settings });
		assert.deepEqual(
			rows.map(({ nr }) => nr),
			order,
		);
	});

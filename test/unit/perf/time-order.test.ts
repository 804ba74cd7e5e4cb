/** Records of several rings: each once, in order, and none that another ring may precede. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { TimeOrder } from '../../../src/perf/time-order.js';

const at = (time_ns: number) => ({ time_ns });
const times = (records: readonly { time_ns: number }[]) => records.map(({ time_ns }) => time_ns);

test('what is newer than the moment of reading comes with the next one, once', () => {
	const order = new TimeOrder();
	assert.deepEqual(times(order.take([at(5), at(30), at(1), at(20)], 20)), [1, 5, 20]);
	assert.deepEqual(times(order.take([at(25), at(50)], 40)), [25, 30]);
	assert.deepEqual(times(order.take([], 50)), [50]);
	assert.deepEqual(order.take([], 60), []);
});

test('however rings are read, each record comes once, in order, none before its time', () => {
	const readings = fc.array(fc.array(fc.nat(1000), { maxLength: 8 }), { maxLength: 12 });
	fc.assert(
		fc.property(readings, (all) => {
			const order = new TimeOrder();
			const untils = all.map((_, i) => 100 * i);
			const taken = all.map((read, i) => times(order.take(read.map(at), untils[i] ?? 0)));
			for (const [i, one] of taken.entries()) {
				assert.ok(one.every((time, at) => time <= (untils[i] ?? 0) && time >= (one[at - 1] ?? 0)));
			}
			taken.push(times(order.take([], 1000)));
			const sorted = (list: number[]) => list.sort((a, b) => a - b);
			assert.deepEqual(sorted(taken.flat()), sorted(all.flat()));
		}),
	);
});

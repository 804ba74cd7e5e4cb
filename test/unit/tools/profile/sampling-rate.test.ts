import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { eventOf } from '../../../../src/perf/names.js';
import { nextSlower, rateOf } from '../../../../src/tools/profile/sampling-rate.js';

const [CLOCK, CYCLES] = ['cpu-clock', 'cycles'].map(eventOf) as [never, never];
const at = (event: never, frequency_hz: number) => ({ event, frequency_hz, period: undefined });

/** All steps down that there are. */
function steps(rate: Parameters<typeof nextSlower>[0]): number[] {
	const all: number[] = [];
	for (let slower = nextSlower(rate, 1); slower !== undefined; slower = nextSlower(rate, slower)) {
		all.push(slower);
	}
	return all;
}

test('as asked at first', () => {
	assert.deepEqual(rateOf(at(CLOCK, 99)), { frequency_hz: 99 });
	assert.deepEqual(rateOf({ event: CYCLES, frequency_hz: undefined, period: 7 }), { period: 7 });
});

test("a clock's period is a whole multiple of what it was", () => {
	assert.deepEqual(steps(at(CLOCK, 99)), [4, 16, 64]);
	assert.deepEqual(rateOf(at(CLOCK, 99), 64), { period: 64 * 10_101_010 });
});

test('the frequency of other events stays a whole number; the last step is one a second', () => {
	assert.deepEqual(steps(at(CYCLES, 99)), [9, 99]);
	assert.deepEqual(steps(at(CYCLES, 3)), []);
	const anyHz = fc.integer({ min: 1, max: 100_000 });
	fc.assert(
		fc.property(anyHz, (hz) => {
			for (const slower of steps(at(CYCLES, hz))) {
				const rate = rateOf(at(CYCLES, hz), slower);
				assert.ok('frequency_hz' in rate && Number.isInteger(rate.frequency_hz));
				assert.equal(rate.frequency_hz * slower, hz);
			}
		}),
	);
});

test('each so many events: of these there are always more', () => {
	const rate = { event: CYCLES, frequency_hz: undefined, period: 1000 };
	assert.equal(nextSlower(rate, 4), 16);
	assert.deepEqual(rateOf(rate, 16), { period: 16_000 });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CostMeter, OwnAverage } from '../../../src/loader/cost.js';

const MS = 1e6;

/** Looks at given times, in ms, with so much CPU time taken until then. */
function averageOf(...looks: ReadonlyArray<readonly [at_ms: number, own_ms: number]>): OwnAverage {
	const left = looks.map(([at_ms, own_ms]) => ({ at_ns: at_ms * MS, own_ns: own_ms * MS }));
	return new OwnAverage(() => left.shift() ?? assert.fail('no more looks'));
}

test('the first second counts as a whole one: what starts up is no burst', () => {
	const average = averageOf([0, 100], [50, 140], [2000, 200]);
	assert.equal(average.look_pct(), 4);
	assert.equal(average.look_pct(), 5);
});

test('tstrace is looked at over the last five seconds', () => {
	const average = averageOf([0, 0], [1000, 900], [4000, 900], [6500, 1450]);
	assert.equal(average.look_pct(), 90);
	assert.equal(average.look_pct(), 22.5);
	assert.equal(average.look_pct(), 10, 'from 1000 to 6500');
});

test('after a change nothing counts that was before', () => {
	const average = averageOf([0, 0], [1000, 900], [1000, 900], [3000, 920]);
	average.look_pct();
	average.startOver();
	assert.equal(average.look_pct(), 1);
});

test('without programs there is the CPU time of our own, and no cost of theirs', () => {
	const meter = new CostMeter([]);
	assert.equal(meter.begin(), false);
	assert.ok(meter.end().own_pct >= 0);
	const own = { own_ns: 1e7, own_pct: 0.5, unmeasured: undefined };
	assert.deepEqual(meter.estimate(2e9, 1e7), { programs: undefined, ...own });
});

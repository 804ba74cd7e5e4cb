/** What tracing costs is looked at while it goes on: too much is told, or ends it. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CostMeter } from '../../../src/loader/cost.js';
import { Overhead, unmeasuredCost } from '../../../src/run/overhead.js';
import type { Stop } from '../../../src/run/stop.js';

/** Per cent of one CPU. */
interface Cost {
	readonly programs_pct: number;
	readonly own_pct: number;
}

/** What is told, and why it ends, within ten seconds in which tracing costs that. */
function overseen(t: TestContext, cost: Cost, limit_pct: number | undefined) {
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const told: string[] = [];
	let reason: string | undefined;
	const meter = { begin: () => true, end: () => cost, startOver: () => {} };
	const stop = {
		requested: false,
		guard: (action: () => void) => async () => action(),
		request: (why: string) => {
			reason = why;
		},
	};
	const overhead = new Overhead(
		{ cost: meter as unknown as CostMeter, slowDown: () => undefined, unseen: '' },
		limit_pct,
		stop as unknown as Stop,
		(text) => told.push(text),
	);
	overhead.begin();
	for (let passed_ms = 0; passed_ms < 10_000 && reason === undefined; passed_ms += 10)
		t.mock.timers.tick(10);
	overhead.close();
	t.mock.timers.reset();
	return { told, reason };
}

const LITTLE = { programs_pct: 0.01, own_pct: 0.01 };

test('a limit is of programs and of tstrace itself, each alone and together', (t) => {
	// Of each CPU; costs are of one.
	assert.deepEqual(overseen(t, LITTLE, 100), { told: [], reason: undefined });
	for (const cost of [
		{ programs_pct: 1e6, own_pct: 0 },
		{ programs_pct: 0, own_pct: 1e6 },
	]) {
		const { told, reason } = overseen(t, cost, 100);
		assert.equal(reason, 'max_overhead');
		assert.match(
			told.join(),
			/^overhead: peak cost 1000000 % of one CPU, above .*: tracing stops$/,
		);
	}
});

test('without a limit, what tstrace takes itself is warned of, too, and tracing goes on', (t) => {
	assert.deepEqual(overseen(t, LITTLE, undefined), { told: [], reason: undefined });
	const { told, reason } = overseen(t, { programs_pct: 0, own_pct: 1e6 }, undefined);
	assert.equal(reason, undefined);
	assert.match(told.join(), /^overhead: tracing takes 1000000 % of one CPU/);
});

test('the cost in the kernel is measured, unless nobody wants it, or nobody is to be interrupted; a limit needs it', () => {
	const asked = { cost: true, maxOverhead_pct: undefined };
	assert.equal(unmeasuredCost(asked, []), undefined);
	assert.equal(unmeasuredCost({ ...asked, cost: false }, []), '--no-cost');
	assert.match(unmeasuredCost(asked, [2, 3]) ?? '', /some are isolated \(2,3\)$/);
	assert.equal(unmeasuredCost({ ...asked, maxOverhead_pct: 5 }, [2, 3]), undefined);
});

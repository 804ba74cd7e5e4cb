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
function overseen(
	t: TestContext,
	cost: Cost,
	limit_pct: number | undefined,
	{ costs = [] as Cost[], slower = [] as string[], requested = false } = {},
) {
	let passed_ms = 0;
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const told: string[] = [];
	let reason: string | undefined;
	const looks_ms: number[] = [];
	let startedOver = 0;
	const meter = {
		begin: () => {
			looks_ms.push(passed_ms);
			return true;
		},
		end: () => costs.shift() ?? cost,
		startOver: () => startedOver++,
	};
	const stop = {
		requested,
		guard: (action: () => void) => async () => action(),
		request: (why: string) => {
			reason = why;
		},
	};
	const overhead = new Overhead(
		{ cost: meter as unknown as CostMeter, slowDown: () => slower.shift(), unseen: '' },
		limit_pct,
		stop as unknown as Stop,
		(text) => told.push(text),
	);
	overhead.begin();
	while (passed_ms < 10_000 && reason === undefined) {
		passed_ms += 10;
		t.mock.timers.tick(10);
	}
	overhead.close();
	t.mock.timers.reset();
	return { told, reason, looks_ms, startedOver };
}

const verdict = ({ told, reason }: ReturnType<typeof overseen>) => [told, reason];
/** How long it looks each time. */
const LOOK_MS = 50;
const LITTLE = { programs_pct: 0.01, own_pct: 0.01 };

test('a limit is of programs and of tstrace itself, each alone and together', (t) => {
	// Of each CPU; costs are of one.
	assert.deepEqual(verdict(overseen(t, LITTLE, 100)), [[], undefined]);
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
	assert.deepEqual(verdict(overseen(t, LITTLE, undefined)), [[], undefined]);
	const { told, reason } = overseen(t, { programs_pct: 0, own_pct: 1e6 }, undefined);
	assert.equal(reason, undefined);
	assert.match(told.join(), /^overhead: tracing takes 1000000 % of one CPU/);
});

test('it looks ever more seldom, but not where a limit is to be kept', (t) => {
	const pauses = (limit_pct: number | undefined) => {
		const { looks_ms } = overseen(t, LITTLE, limit_pct);
		return looks_ms.slice(1).map((at_ms, i) => at_ms - (looks_ms[i] ?? 0) - LOOK_MS);
	};
	assert.deepEqual(pauses(undefined), [500, 2000]);
	assert.deepEqual(pauses(100), [500, ...Array(9).fill(1000)]);
});

test('what was too much once is looked at again soon: programs at once, tstrace when its average is new', (t) => {
	const [programs, own] = [
		{ programs_pct: 1e6, own_pct: 0 },
		{ programs_pct: 0, own_pct: 1e6 },
	];
	for (const [cost, soon_ms, startedOver] of [
		[programs, 50, 0],
		[own, 1000, 1],
	] as const) {
		const found = overseen(t, LITTLE, 100, { costs: [cost] });
		assert.deepEqual(verdict(found), [[], undefined], 'once is not enough');
		const [, second = 0] = found.looks_ms;
		assert.equal(second, LOOK_MS + soon_ms);
		assert.equal(found.startedOver, startedOver);
	}
	const over = overseen(t, LITTLE, 100, { costs: [programs, programs], requested: true });
	assert.deepEqual([over.looks_ms, over.told], [[0], []], 'it is over anyway');
	// What it took before it traced less says nothing of what it takes now.
	const slowed = overseen(t, LITTLE, 100, { costs: [programs, programs], slower: ['half'] });
	assert.deepEqual([slowed.told.length, slowed.reason, slowed.startedOver], [1, undefined, 1]);
});

test('the cost in the kernel is measured, unless nobody wants it, or nobody is to be interrupted; a limit needs it', () => {
	const asked = { cost: true, maxOverhead_pct: undefined };
	assert.equal(unmeasuredCost(asked, []), undefined);
	assert.equal(unmeasuredCost({ ...asked, cost: false }, []), '--no-cost');
	assert.match(unmeasuredCost(asked, [2, 3]) ?? '', /some are isolated \(2,3\)$/);
	assert.equal(unmeasuredCost({ ...asked, maxOverhead_pct: 5 }, [2, 3]), undefined);
});

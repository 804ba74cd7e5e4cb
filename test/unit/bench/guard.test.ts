import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explain, guardedPart, isWorse, judge } from '../../../bench/guard.js';
import { UNTRACED } from '../../../bench/measure.js';
import { type FigureResult, figureResult } from '../../../bench/results.js';
import { experiment, measured, ORIGIN, result, side } from './support.js';

const recordedAs = (result: FigureResult, median: number): FigureResult => ({
	...result,
	ratios: result.ratios.map((ratio) => ({ ...ratio, median })),
});
const SIDES = [side(UNTRACED), side('tstrace x'), side('peer')];
const GUARDED = 'a | workload, time: tstrace x / peer';

test('the guard lets a quarter pass, and no more', async () => {
	const now = await result();
	const worse = (median: number) =>
		judge([experiment(SIDES)], [recordedAs(now, median)], [now]).map(isWorse);
	assert.deepEqual(worse(0.4), [false]); // 0.5 is just 1.25 times 0.4
	assert.deepEqual(worse(0.39), [true]);
	assert.deepEqual(worse(0.9), [false]);
});

test('a tracer that seemed to make its workload faster is no measure', async () => {
	const sides = [side(UNTRACED, 10, 10, 10), side('tstrace x', 12, 12, 12)];
	const judged = async (before: number, atMost?: number) => {
		const wish = atMost === undefined ? {} : { atMost };
		const ratios = [{ of: 'tstrace x', to: UNTRACED, guard: true, ...wish }];
		const what = { ...experiment(sides), figures: [{ key: 'ns', name: 't', unit: 'ns', ratios }] };
		const samples = new Map([
			[UNTRACED, [{ ns: 10 }]],
			['tstrace x', [{ ns: 13 }]],
		]);
		const [figure] = what.figures;
		assert.ok(figure);
		const now = figureResult('x', what, figure, { samples, missing: [], rounds: 1 }, ORIGIN);
		return judge([what], [recordedAs(now, before)], [now])[0];
	};
	const limits = [await judged(0.8), await judged(1.1), await judged(0.8, 1.05)];
	assert.deepEqual(
		limits.map((each) => [each?.limit?.toFixed(4), each?.fails]),
		[
			['1.2500', true],
			['1.3750', false],
			['1.3125', false],
		],
	);
});

test('the guard fails for what is not recorded', async () => {
	const verdicts = judge([experiment(SIDES)], [], [await result()]);
	assert.deepEqual(verdicts, [{ what: GUARDED, now: 0.5, gap: 'not recorded', fails: true }]);
	assert.equal(verdicts.map(explain)[0], `  FAILED: 0.500, not recorded   ${GUARDED}`);
});

test('the guard names what was not measured, and fails unless its side is missing here', async () => {
	const before = await result();
	const fails = async () => {
		throw new Error('broken');
	};
	const broken = await measured(side('tstrace x', 1, 1, 1), { ...side('peer'), run: fails });
	assert.deepEqual(judge([experiment(SIDES)], [before], [broken]), [
		{ what: GUARDED, recorded: 0.5, gap: 'not measured', why: 'peer: broken', fails: true },
	]);
	const gone = { ...side('peer'), missing: 'not on the PATH' };
	const without = await measured(side('tstrace x', 1, 1, 1), gone);
	const [verdict] = judge([experiment([side('tstrace x'), gone])], [before], [without]);
	assert.equal(verdict?.fails, false);
	assert.equal(verdict && explain(verdict), `  not measured: peer: not on the PATH   ${GUARDED}`);
});

test('a recorded guard that no experiment declares any more fails', async () => {
	assert.deepEqual(
		judge([], [await result()], []).map(({ what, fails }) => [what, fails]),
		[[GUARDED, true]],
	);
});

test('the guard runs only what it needs', () => {
	const sides = [side(UNTRACED), side('tstrace x'), side('peer'), side('other')];
	const part = guardedPart(experiment(sides));
	assert.deepEqual(
		part?.sides.map(({ name }) => name),
		['tstrace x', 'peer'],
	);
	assert.equal(part?.figures.length, 1);
	assert.equal(guardedPart({ ...experiment(sides), figures: [] }), undefined);
});

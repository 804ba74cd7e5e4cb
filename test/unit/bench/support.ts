/** An experiment whose runs give known values. */
import assert from 'node:assert/strict';
import {
	type Experiment,
	type Side,
	toUntraced,
	UNTRACED,
} from '../../../bench/experiments/measure.js';
import { type FigureResult, figureResult } from '../../../bench/experiments/results.js';
import { runRounds } from '../../../bench/experiments/rounds.js';

export const ORIGIN = { date: '2026-11-21T00:00:00.000Z', commit: 'abc1234', kernel: '6.18' };
export const WISHES = { 'tstrace x / peer': { atMost: 0.5 } };

/** A side whose runs give these values, one after the other. */
export function side(name: string, ...values: number[]): Side {
	let at = 0;
	return { name, command: `${name} -a`, run: async () => ({ ns: values[at++] ?? Number.NaN }) };
}

export function experiment(sides: readonly Side[]): Experiment {
	return {
		workload: 'a | workload',
		sides,
		figures: [
			{ key: 'ns', name: 'time', unit: 'ns', ratios: toUntraced(sides, WISHES) },
			{ key: 'mb', name: 'memory', unit: 'MB' },
		],
	};
}

export async function measured(...sides: Side[]): Promise<FigureResult> {
	const what = experiment(sides);
	const runs = await runRounds(what, 3);
	const [figure] = what.figures;
	assert.ok(figure);
	return figureResult('x', what, figure, runs, ORIGIN);
}

export const result = () =>
	measured(
		side(UNTRACED, 10, 20, 10),
		side('tstrace x', 20, 44, 22),
		{ ...side('peer', 40, 88, 88), version: '1.0' },
		{
			...side('other'),
			missing: 'not on the PATH',
		},
	);

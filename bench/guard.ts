/** Whether a ratio got worse than what the repository has recorded. Pure. */
import { type Experiment, isOurs, UNTRACED } from './measure.js';
import type { FigureResult, RatioResult } from './results.js';

/** A guarded ratio may be this much of what is recorded. */
export const TOLERANCE = 1.25;

/** Why a ratio is no comparison; it fails the guard unless its side is missing on this machine. */
type Gap = 'not measured' | 'not recorded';

export interface Verdict {
	/** "workload, figure: of / to" */
	readonly what: string;
	readonly recorded?: number | undefined;
	readonly now?: number | undefined;
	/** The most it may be. */
	readonly limit?: number;
	readonly gap?: Gap;
	readonly why?: string;
	readonly fails: boolean;
}

interface Guarded {
	readonly workload: string;
	readonly figure: string;
	readonly of: string;
	readonly to: string;
}

const nameOf = ({ workload, figure, of, to }: Guarded) => `${workload}, ${figure}: ${of} / ${to}`;

const declared = (experiments: readonly Experiment[]): Guarded[] =>
	experiments.flatMap(({ workload, figures }) =>
		figures.flatMap(({ name: figure, ratios = [] }) =>
			ratios.flatMap(({ of, to, guard }) => (guard ? { workload, figure, of, to } : [])),
		),
	);

const guardedOf = (results: readonly FigureResult[]): Guarded[] =>
	results.flatMap(({ workload, figure, ratios }) =>
		ratios.flatMap(({ of, to, guarded }) => (guarded ? { workload, figure, of, to } : [])),
	);

function ratioOf(
	results: readonly FigureResult[],
	{ workload, figure, of, to }: Guarded,
): RatioResult | undefined {
	return results
		.find((each) => each.workload === workload && each.figure === figure)
		?.ratios.find((ratio) => ratio.of === of && ratio.to === to);
}

/**
 * A tracer does not make its workload faster: a ratio to "untraced" that was recorded below 1, or
 * below what is asked, would make noise a failure.
 */
function limitOf(recorded: number, { to, asked = 1 }: RatioResult): number {
	return (to === UNTRACED ? Math.max(recorded, 1, asked) : recorded) * TOLERANCE;
}

/** Why a ratio was not measured, and whether that was to be expected here. */
function gapOf(
	{ of, to }: Guarded,
	experiments: readonly Experiment[],
	now: readonly FigureResult[],
) {
	const [side] = experiments
		.flatMap(({ sides }) => sides)
		.filter(({ name, missing }) => (name === of || name === to) && missing !== undefined);
	if (side) return { why: `${side.name}: ${side.missing}`, fails: false };
	const [failed] = now
		.flatMap(({ missing }) => missing)
		.filter(({ name }) => name === of || name === to);
	if (failed) return { why: `${failed.name}: ${failed.why}`, fails: true };
	return { why: 'no benchmark gives it any more', fails: true };
}

/**
 * A verdict for each ratio of a tool that is guarded, by what its experiments declare or by what is
 * recorded: one that nobody measures any more would else be guarded by nobody.
 */
export function judge(
	experiments: readonly Experiment[],
	recorded: readonly FigureResult[],
	now: readonly FigureResult[],
): Verdict[] {
	const all = [...declared(experiments), ...guardedOf(recorded)];
	const guarded = new Map(all.map((each) => [nameOf(each), each]));
	return [...guarded].map(([what, each]): Verdict => {
		const before = ratioOf(recorded, each)?.median;
		const ratio = ratioOf(now, each);
		if (!ratio)
			return { what, recorded: before, gap: 'not measured', ...gapOf(each, experiments, now) };
		if (before === undefined) return { what, now: ratio.median, gap: 'not recorded', fails: true };
		const limit = limitOf(before, ratio);
		return { what, recorded: before, now: ratio.median, limit, fails: ratio.median > limit };
	});
}

/** What is left of an experiment when only its guarded ratios count; undefined if there are none. */
export function guardedPart(experiment: Experiment): Experiment | undefined {
	const figures = experiment.figures.flatMap((figure) => {
		const ratios = (figure.ratios ?? []).filter(({ guard }) => guard);
		return ratios.length > 0 ? { ...figure, ratios } : [];
	});
	const needed = new Set(figures.flatMap(({ ratios }) => ratios.flatMap(({ of, to }) => [of, to])));
	const sides = experiment.sides.filter(({ name }) => needed.has(name));
	return sides.some(({ name }) => isOurs(name)) ? { ...experiment, sides, figures } : undefined;
}

/** Compared, and too much: another run may say otherwise. */
export const isWorse = ({ gap, fails }: Verdict) => gap === undefined && fails;

export function explain({ what, recorded, now, limit, gap, why, fails }: Verdict): string {
	const failed = fails ? 'FAILED: ' : '';
	if (gap === 'not measured') return `  ${failed}not measured: ${why}   ${what}`;
	if (gap || !limit) return `  ${failed}${now?.toFixed(3)}, not recorded   ${what}`;
	const [is, was, most] = [now, recorded, limit].map((value) => value?.toFixed(3));
	return `  ${failed}${is}, was ${was}, at most ${most}   ${what}`;
}

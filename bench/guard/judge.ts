/** Whether this tstrace costs more than the base commit's. Pure. */
import type { Guarded, GuardedFigure } from '../experiments/measure.js';
import type { Runs } from '../experiments/results.js';
import { formatSpread, median, ratiosOf, type Spread, spreadOf } from '../shared/statistics.js';

/** The names of the two sides. */
export const BASE = 'base';
export const NOW = 'now';
/** Why the base's side is missing, if its tstrace does not know the command line. */
export const NOT_IN_BASE = 'not in base: skipped';
/** The most that a ratio may be, unless its figure says otherwise. */
const BOUND = 1.25;
const DIGITS = 3;

interface Compared {
	readonly kind: 'fine' | 'worse';
	readonly workload: string;
	readonly figure: GuardedFigure;
	/** Medians of all rounds. */
	readonly base: number;
	readonly now: number;
	/** Of the pairs of all rounds, now / base. */
	readonly ratio: Spread;
	readonly bound: number;
}

interface NotCompared {
	readonly kind: 'skipped' | 'failed';
	readonly workload: string;
	readonly why: string;
}

export type Verdict = Compared | NotCompared;

function compare(workload: string, figure: GuardedFigure, { samples }: Runs): Verdict {
	const [base = [], now = []] = [BASE, NOW].map((name) =>
		(samples.get(name) ?? []).flatMap((sample) => sample[figure.key] ?? []),
	);
	const ratios = ratiosOf(now, base);
	if (ratios.length === 0) return { kind: 'failed', workload, why: `no ${figure.name}` };
	const [ratio, bound] = [spreadOf(ratios), figure.bound ?? BOUND];
	const kind = ratio.median > bound ? 'worse' : 'fine';
	return { kind, workload, figure, base: median(base), now: median(now), ratio, bound };
}

/** A verdict for each figure; one for all of them if a side could not do the work. */
export function judge(
	{ workload, figures }: Pick<Guarded, 'workload' | 'figures'>,
	runs: Runs,
): Verdict[] {
	// First of all what fails now, whatever the base knows.
	for (const side of [NOW, BASE]) {
		const missing = runs.missing.find(({ name }) => name === side);
		if (!missing) continue;
		const skipped = side === BASE && missing.why === NOT_IN_BASE;
		if (skipped) return [{ kind: 'skipped', workload, why: NOT_IN_BASE }];
		return [{ kind: 'failed', workload, why: `${side} failed: ${missing.why}` }];
	}
	return figures.map((figure) => compare(workload, figure, runs));
}

/** Another run may say otherwise: the machine may have been busy. */
export const isWorse = ({ kind }: Verdict) => kind === 'worse';

/** "  1.051 (0.981 – 1.120) ≤ 1.25  102.1 → 107.3 ns  BPF time per context switch" */
export function explain(verdict: Verdict): string {
	if ('why' in verdict) return `  ${verdict.why}`;
	const { kind, figure, base, now, ratio, bound } = verdict;
	const [before, after] = [base, now].map((value) => value.toFixed(figure.digits ?? 1));
	const limit = `${kind === 'worse' ? '>' : '≤'} ${bound}`;
	const spread = formatSpread(ratio, DIGITS);
	return `  ${spread} ${limit}  ${before} → ${after} ${figure.unit}  ${figure.name}`;
}

const count = (n: number, noun: string) => `${n} ${noun}${n === 1 ? '' : 's'}`;

/** What all verdicts come to: lines of text, and whether the guard passes. */
export function conclude(verdicts: readonly Verdict[]): { text: string; passes: boolean } {
	const of = (...kinds: Verdict['kind'][]) => verdicts.filter(({ kind }) => kinds.includes(kind));
	const [compared, bad] = [of('fine', 'worse'), of('worse', 'failed')];
	const lines = [
		`${count(compared.length, 'ratio')}, ${of('worse').length} above the bound; ` +
			`${of('skipped').length} skipped; ${of('failed').length} failed`,
		...bad.flatMap((verdict) => [verdict.workload, explain(verdict)]),
	];
	if (compared.length === 0) lines.push('nothing was compared');
	return { text: lines.join('\n'), passes: compared.length > 0 && bad.length === 0 };
}

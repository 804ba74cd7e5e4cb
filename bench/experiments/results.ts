/** What docs/benchmarks.json holds, and how runs become that. Pure. */

import { ratiosOf, type Spread, spreadOf } from '../shared/statistics.js';
import type { Experiment, Figure, Sample } from './measure.js';

interface SideResult extends Spread {
	readonly name: string;
	/** Of a peer: those of other figures may have been measured with others. */
	readonly version?: string;
	readonly command: string;
}

export interface RatioResult extends Spread {
	readonly of: string;
	readonly to: string;
	readonly asked?: number;
}

export interface MissingSide {
	readonly name: string;
	readonly why: string;
}

/** When, of what and on which kernel a figure is: tools are not all measured at once. */
interface Origin {
	readonly date: string;
	readonly commit: string;
	/** As uname -r prints it. */
	readonly kernel: string;
}

export interface FigureResult extends Origin {
	readonly tool: string;
	readonly workload: string;
	readonly figure: string;
	readonly unit: string;
	readonly digits: number;
	readonly rounds: number;
	readonly sides: readonly SideResult[];
	readonly ratios: readonly RatioResult[];
	readonly missing: readonly MissingSide[];
}

/** Either version or why it is missing. */
export interface PeerResult {
	readonly name: string;
	readonly version?: string;
	readonly missing?: string;
}

export type Machine = Readonly<Record<string, string | number>>;

export interface Benchmarks {
	readonly schema: 1;
	readonly command: string;
	readonly date: string;
	readonly machine: Machine;
	readonly peers: readonly PeerResult[];
	readonly figures: readonly FigureResult[];
}

/** Runs of an experiment: by side, one sample for each round. */
export interface Runs {
	readonly samples: ReadonlyMap<string, readonly Sample[]>;
	readonly missing: readonly MissingSide[];
	readonly rounds: number;
}

const RATIO_DECIMALS = 4;
const SPARE_DIGITS = 3;

function rounded({ median, min, max }: Spread, digits: number): Spread {
	const round = (value: number) => Number(value.toFixed(digits));
	return { median: round(median), min: round(min), max: round(max) };
}

export function figureResult(
	tool: string,
	{ workload, sides }: Experiment,
	figure: Figure,
	{ samples, missing, rounds }: Runs,
	origin: Origin,
): FigureResult {
	const digits = figure.digits ?? 1;
	const valuesOf = (name: string) =>
		(samples.get(name) ?? []).flatMap((sample) => sample[figure.key] ?? []);
	return {
		tool,
		workload,
		figure: figure.name,
		unit: figure.unit,
		digits,
		rounds,
		...origin,
		sides: sides.flatMap(({ name, command, version }) => {
			const values = valuesOf(name);
			if (values.length === 0) return [];
			return {
				...(version === undefined ? { name } : { name, version }),
				command,
				...rounded(spreadOf(values), digits + SPARE_DIGITS),
			};
		}),
		ratios: (figure.ratios ?? []).flatMap(({ of, to, atMost }) => {
			const values = ratiosOf(valuesOf(of), valuesOf(to));
			if (values.length === 0) return [];
			return {
				of,
				to,
				...rounded(spreadOf(values), RATIO_DECIMALS),
				...(atMost === undefined ? {} : { asked: atMost }),
			};
		}),
		missing: [...missing],
	};
}

/** What may have been updated since: each figure has its own kernel, and a ratio is of one machine at one time. */
const UPDATED: ReadonlySet<string> = new Set(['tstrace', 'kernel']);

function sameMachine(a: Machine, b: Machine): boolean {
	const facts = new Set([...Object.keys(a), ...Object.keys(b)]);
	return [...facts].every((fact) => UPDATED.has(fact) || a[fact] === b[fact]);
}

/** What was recorded that can stand beside figures of this machine: all or nothing. */
export function figuresOf(
	recorded: Benchmarks | undefined,
	machine: Machine,
): readonly FigureResult[] {
	return recorded && sameMachine(recorded.machine, machine) ? recorded.figures : [];
}

/** Of tools that were not run this time, what was recorded stays. */
export function mergeFigures(
	recorded: readonly FigureResult[],
	fresh: readonly FigureResult[],
	order: readonly string[],
): FigureResult[] {
	const ran = new Set(fresh.map(({ tool }) => tool));
	const all = [...recorded.filter(({ tool }) => !ran.has(tool)), ...fresh];
	return order.flatMap((tool) => all.filter((figure) => figure.tool === tool));
}

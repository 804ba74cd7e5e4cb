/** What a benchmark declares: who does which work, what is measured, and what is compared. */

/** Figures of one run, by key. */
export type Sample = Readonly<Record<string, number>>;

/** One of those that do the same work. */
export interface Side {
	readonly name: string;
	/** For the reader; `run` is what happens. */
	readonly command: string;
	/** Of the program that does it. */
	readonly version?: string | undefined;
	/** Why it cannot take part on this machine. */
	readonly missing?: string | undefined;
	run(): Promise<Sample>;
}

/** One side's figure over another's, in the same round; less is better, always. */
export interface Ratio {
	readonly of: string;
	readonly to: string;
	/** What was asked of it. */
	readonly atMost?: number;
}

export interface Figure {
	readonly key: string;
	readonly name: string;
	readonly unit: string;
	readonly digits?: number;
	readonly ratios?: readonly Ratio[];
}

/** Sides that take turns. */
export interface Experiment {
	readonly workload: string;
	readonly sides: readonly Side[];
	readonly figures: readonly Figure[];
	/** Instead of what the run was told: for what takes long. */
	readonly rounds?: number;
	/** How long a side may take for a round, s, if it may take longer than others. */
	readonly limit_s?: number;
	/** Before the first round; what it returns is called after the last. */
	prepare?(): Promise<() => Promise<void> | void>;
}

/** What `make bench-guard` compares. */
export interface GuardedFigure extends Omit<Figure, 'ratios'> {
	/** The most that the ratio now / base may be, if not as much as others. */
	readonly bound?: number;
}

/** Work that two of our own do in turn: tstrace as it is now, and as it was in the base commit. */
export interface Guarded extends Pick<Experiment, 'workload' | 'limit_s' | 'prepare'> {
	readonly figures: readonly GuardedFigure[];
	/** The one that does it with this tstrace. */
	side(program: string): Side;
}

export interface Benchmark {
	readonly tool: string;
	/** For `make bench`. */
	readonly experiments: readonly Experiment[];
	/** For `make bench-guard`. */
	readonly guarded: readonly Guarded[];
}

/** What is asked of ratios; by "of / to". */
export type Wishes = Readonly<Record<string, Pick<Ratio, 'atMost'>>>;

export const isOurs = (name: string) => name.startsWith('tstrace');

function ratio(of: string, to: string, wishes: Wishes): Ratio {
	return { of, to, ...wishes[`${of} / ${to}`] };
}

/** Each of tstrace's sides over each other side. */
export function toPeers(sides: readonly Side[], wishes: Wishes = {}): Ratio[] {
	const names = sides.map(({ name }) => name);
	const peers = names.filter((name) => !isOurs(name) && name !== UNTRACED);
	return names.filter(isOurs).flatMap((of) => peers.map((to) => ratio(of, to, wishes)));
}

export const UNTRACED = 'untraced';

/** Each traced side over none, then each of tstrace's over each peer. */
export function toUntraced(sides: readonly Side[], wishes: Wishes = {}): Ratio[] {
	const traced = sides.map(({ name }) => name).filter((name) => name !== UNTRACED);
	return [...traced.map((of) => ratio(of, UNTRACED, wishes)), ...toPeers(sides, wishes)];
}

/** Looks at what tracing costs, while it goes on; where that is too much, it warns, or sees to it. */
import type { CostMeter } from '../loader/cost.js';
import { quietCpus } from '../perf/cpus.js';
import { Budget } from './budget.js';
import type { CommonSettings } from './common-options.js';
import type { Stop } from './stop.js';

/**
 * How long run-time statistics are on; then the pauses between, each four times the one before.
 * Switching them patches the running kernel, which stops all CPUs for a moment.
 */
const SAMPLE_MS = 50;
const FIRST_PAUSE_MS = 500;
const PAUSE_GROWTH = 4;
const LAST_PAUSE_MS = 30_000;
/** With a limit that is to be kept, they are not longer than this. */
const LIMITED_PAUSE_MS = 1000;
/** Until the next look, when it cost too much. */
const LOOK_MS = 50;
/** The same where it was tstrace itself, whose time is not known for less: see cost.ts. */
const OWN_LOOK_MS = 1000;

interface Overseen {
	readonly cost: CostMeter;
	/** Traces less from now on, and says how; undefined where it cannot. */
	slowDown(): string | undefined;
	/** What `cost` misses where there are no run-time statistics, and what to do about it. */
	readonly unseen: string;
}

export class Overhead {
	readonly #overseen: Overseen;
	readonly #budget: Budget;
	readonly #stop: Stop;
	readonly #tell: (text: string) => void;
	#timer: NodeJS.Timeout | undefined;
	#told = false;

	/** `limit_pct`: of each CPU; undefined: only warn. */
	constructor(
		overseen: Overseen,
		limit_pct: number | undefined,
		stop: Stop,
		tell: (text: string) => void,
	) {
		this.#overseen = overseen;
		this.#budget = new Budget(limit_pct);
		this.#stop = stop;
		this.#tell = tell;
	}

	begin(pause_ms = FIRST_PAUSE_MS): void {
		const seesAll = this.#overseen.cost.begin();
		if (!seesAll && this.#budget.enforced && !this.#told) {
			this.#told = true;
			this.#tell(
				`overhead: --max-overhead counts tstrace's own CPU time only, not ${this.#overseen.unseen}`,
			);
		}
		this.#after(SAMPLE_MS, () => this.#look(pause_ms));
	}

	close(): void {
		clearTimeout(this.#timer);
	}

	#look(pause_ms: number): void {
		const { programs_pct, own_pct } = this.#overseen.cost.end();
		if (this.#stop.requested) return;
		const cost_pct = programs_pct + own_pct;
		const verdict = this.#budget.judge(cost_pct);
		if (verdict === 'act') this.#act(cost_pct);
		if (verdict === 'warn') this.#warn(cost_pct);
		const longest_ms = this.#budget.enforced ? LIMITED_PAUSE_MS : LAST_PAUSE_MS;
		const next_ms = Math.min(PAUSE_GROWTH * pause_ms, longest_ms);
		// Its own time is an average: the next look must not see the same burst once more.
		const isOwn = verdict === 'look again' && programs_pct <= this.#budget.limit_pct;
		if (isOwn) this.#overseen.cost.startOver();
		const soon_ms = isOwn ? OWN_LOOK_MS : LOOK_MS;
		const now_ms = verdict === 'fine' ? pause_ms : soon_ms;
		this.#after(now_ms, () => this.begin(next_ms));
	}

	#warn(cost_pct: number): void {
		const { limit_pct } = this.#budget;
		const cost = `${percentAbove(cost_pct, limit_pct)} % of one CPU, more than ${limit_pct} %`;
		this.#tell(`overhead: tracing takes ${cost}; to limit it, use --max-overhead PCT`);
	}

	/** Over the limit that was set: traces less, or no more. */
	#act(cost_pct: number): void {
		const { limit_pct, each_pct, cpus } = this.#budget;
		const how = this.#overseen.slowDown();
		const cost = `peak cost ${percentAbove(cost_pct, limit_pct)} % of one CPU`;
		const all = cpus === 1 ? '' : ` (${percent(limit_pct)} % for ${cpus} CPUs)`;
		const limit = `--max-overhead ${each_pct}${all}`;
		this.#tell(`overhead: ${cost}, above ${limit}: ${how ?? 'tracing stops'}`);
		if (how === undefined) this.#stop.request('max_overhead');
		else this.#overseen.cost.startOver();
	}

	#after(pause_ms: number, action: () => void): void {
		const guarded = this.#stop.guard(action);
		this.#timer = setTimeout(() => void guarded(), pause_ms);
		this.#timer.unref();
	}
}

/**
 * Why the cost in the kernel is not to be measured: somebody asks for that, or has CPUs that nobody is to interrupt.
 * A limit has to be measured. Undefined: it is measured.
 */
export function unmeasuredCost(
	{ cost, maxOverhead_pct }: Pick<CommonSettings, 'cost' | 'maxOverhead_pct'>,
	quiet = quietCpus(),
): string | undefined {
	if (!cost) return '--no-cost';
	if (maxOverhead_pct !== undefined || quiet.length === 0) return undefined;
	return `that would interrupt all CPUs, and some are isolated (${quiet.join(',')})`;
}

const percent = (value: number) => Number(value.toPrecision(3));

/** With as many digits as show that it is above the limit: "10.04", not "10", which is above 10. */
export function percentAbove(value: number, limit: number): number {
	for (let digits = 3; digits < 16; digits++) {
		const shown = Number(value.toPrecision(digits));
		if (shown > limit) return shown;
	}
	return value;
}

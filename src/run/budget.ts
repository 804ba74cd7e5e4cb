/** What tracing may cost, and what is done when it costs more. */
import { onlineCpus } from '../perf/cpus.js';

/** Per cent of each CPU that is online: above it there is a warning, even if nobody set a limit. */
const DEFAULT_PCT = 5;
/** One measurement of 50 ms may be a burst; so many in a row are not. */
const IN_A_ROW = 2;

type Verdict = 'fine' | 'look again' | 'warn' | 'act';

export class Budget {
	/** Those that are online. */
	readonly cpus: number;
	readonly #each_pct: number;
	readonly #limit_pct: number;
	readonly #enforced: boolean;
	#above = 0;
	#warned = false;

	/** `limit_pct`: of each CPU; undefined where only a warning is wanted. */
	constructor(limit_pct: number | undefined, cpus = onlineCpus().length) {
		this.cpus = cpus;
		this.#each_pct = limit_pct ?? DEFAULT_PCT;
		this.#limit_pct = this.#each_pct * cpus;
		this.#enforced = limit_pct !== undefined;
	}

	/** Of one CPU. */
	get limit_pct(): number {
		return this.#limit_pct;
	}

	/** Of each CPU, as --max-overhead has it. */
	get each_pct(): number {
		return this.#each_pct;
	}

	/** Whether something is to be done when it is exceeded. */
	get enforced(): boolean {
		return this.#enforced;
	}

	/** Judges what was just measured, per cent of one CPU. */
	judge(cpu_pct: number): Verdict {
		if (cpu_pct <= this.#limit_pct) {
			this.#above = 0;
			return 'fine';
		}
		this.#above++;
		if (this.#above < IN_A_ROW) return 'look again';
		this.#above = 0;
		if (this.#enforced) return 'act';
		if (this.#warned) return 'fine';
		this.#warned = true;
		return 'warn';
	}
}

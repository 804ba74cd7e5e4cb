/** What threads did, all in all: the summary of `tstrace timehist`, as perf sched timehist has it. */
import type { Key } from '../../aggregate/row-key.js';
import type { ThreadName } from '../../bpf/thread-names.js';

/** Threads that have a line of their own; all others share one. */
const MAX_THREADS = 65_536;

class ThreadTotal {
	switches = 0;
	migrations = 0;
	run_ns = 0;
	wait_ns = 0;
	latency_ns = 0;
	throttled_ns = 0;
	#min_ns = Number.POSITIVE_INFINITY;
	#max_ns = 0;
	/** Time slices whose run time is known. */
	#runs = 0;
	/** Of squares of run times in ms. */
	#squares = 0;
	#cpu = -1;

	constructor(public text: string) {}

	/** One time slice. A time that is not known is 0; a run time undefined. */
	add(cpu: number, wait_ns: number, latency_ns: number, run_ns: number | undefined): void {
		if (this.#cpu !== cpu && this.#cpu >= 0) this.migrations++;
		this.#cpu = cpu;
		this.switches++;
		this.wait_ns += wait_ns;
		this.latency_ns += latency_ns;
		if (run_ns === undefined) return;
		this.#runs++;
		this.run_ns += run_ns;
		if (run_ns < this.#min_ns) this.#min_ns = run_ns;
		if (run_ns > this.#max_ns) this.#max_ns = run_ns;
		this.#squares += (run_ns / 1e6) ** 2;
	}

	/** Times in ns. */
	row(): Key {
		const runs = Math.max(1, this.#runs);
		const mean_ns = this.run_ns / runs;
		const variance_ms2 = Math.max(0, this.#squares / runs - (mean_ns / 1e6) ** 2);
		return {
			thread: this.text,
			switches: this.switches,
			run: this.run_ns,
			min_run: this.#runs === 0 ? 0 : this.#min_ns,
			avg_run: mean_ns,
			max_run: this.#max_ns,
			// Of the mean, in per cent of it; perf calls it stddev.
			stddev_pct: mean_ns > 0 ? (1e8 * Math.sqrt(variance_ms2 / runs)) / mean_ns : 0,
			wait: this.wait_ns,
			delay: this.latency_ns,
			throttled: this.throttled_ns,
			migrations: this.migrations,
		};
	}
}

export class ThreadTotals {
	readonly #threads = new Map<number, ThreadTotal>();
	/** Of threads that have ended: their numbers are used again. */
	readonly #ended: ThreadTotal[] = [];
	readonly #others = new ThreadTotal('(others)');

	of(name: ThreadName): ThreadTotal {
		let total = this.#threads.get(name.tid);
		if (!total) {
			if (this.#threads.size + this.#ended.length >= MAX_THREADS) return this.#others;
			total = new ThreadTotal(name.text);
			this.#threads.set(name.tid, total);
		}
		total.text = name.text;
		return total;
	}

	/** The thread has left its CPU for good. */
	ends(tid: number): void {
		const total = this.#threads.get(tid);
		if (total) this.#ended.push(total);
		this.#threads.delete(tid);
	}

	/** Those that ran longest first. */
	rows(): Key[] {
		const all = [...this.#threads.values(), ...this.#ended].sort((a, b) => b.run_ns - a.run_ns);
		if (this.#others.switches > 0) all.push(this.#others);
		return all.map((each) => each.row());
	}
}

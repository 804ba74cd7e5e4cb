/** What threads did, all in all: the summary of `tstrace timehist`, as perf sched timehist has it. */
import { grouped } from '../render/numbers.js';
import type { ThreadName } from './thread-names.js';

/** Threads that have a line of their own; all others share one. */
const MAX_THREADS = 65_536;
const COLUMNS = [
	'switches',
	'run',
	'min-run',
	'avg-run',
	'max-run',
	'stddev',
	'wait',
	'delay',
	'migrations',
];
const NAME_WIDTH = 30;
const COLUMN_WIDTH = 10;

export class ThreadTotal {
	switches = 0;
	migrations = 0;
	run_ns = 0;
	wait_ns = 0;
	delay_ns = 0;
	#min_ns = Number.POSITIVE_INFINITY;
	#max_ns = 0;
	/** Stays whose run time is known. */
	#runs = 0;
	/** Of squares of run times in ms. */
	#squares = 0;
	#cpu = -1;

	constructor(public text: string) {}

	/** One stay on a CPU; what is not known of its times is 0, and a run time undefined. */
	add(cpu: number, wait_ns: number, delay_ns: number, run_ns: number | undefined): void {
		if (this.#cpu !== cpu && this.#cpu >= 0) this.migrations++;
		this.#cpu = cpu;
		this.switches++;
		this.wait_ns += wait_ns;
		this.delay_ns += delay_ns;
		if (run_ns === undefined) return;
		this.#runs++;
		this.run_ns += run_ns;
		if (run_ns < this.#min_ns) this.#min_ns = run_ns;
		if (run_ns > this.#max_ns) this.#max_ns = run_ns;
		this.#squares += (run_ns / 1e6) ** 2;
	}

	line(): string {
		const ms = (time_ns: number) => (time_ns / 1e6).toFixed(3);
		const runs = Math.max(1, this.#runs);
		const mean_ms = this.run_ns / runs / 1e6;
		const variance = Math.max(0, this.#squares / runs - mean_ms ** 2);
		// Of the mean, in per cent of it; perf calls it stddev.
		const error = mean_ms > 0 ? (100 * Math.sqrt(variance / runs)) / mean_ms : 0;
		return row(this.text, [
			grouped(this.switches),
			ms(this.run_ns),
			ms(this.#runs === 0 ? 0 : this.#min_ns),
			mean_ms.toFixed(3),
			ms(this.#max_ns),
			error.toFixed(2),
			ms(this.wait_ns),
			ms(this.delay_ns),
			grouped(this.migrations),
		]);
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
	render(): string {
		const all = [...this.#threads.values(), ...this.#ended].sort((a, b) => b.run_ns - a.run_ns);
		if (this.#others.switches > 0) all.push(this.#others);
		const switches = all.reduce((sum, each) => sum + each.switches, 0);
		const run_ns = all.reduce((sum, each) => sum + each.run_ns, 0);
		return [
			'',
			row('task name [tid/pid]', COLUMNS),
			row(
				'',
				COLUMNS.map((name) => UNITS[name] ?? '(msec)'),
			),
			...all.map((each) => each.line()),
			`${grouped(all.length)} threads, ${grouped(switches)} switches, ${(run_ns / 1e6).toFixed(3)} ms run`,
			'',
		].join('\n');
	}
}

const UNITS: Readonly<Record<string, string>> = { switches: '', migrations: '', stddev: '(%)' };

function row(name: string, values: readonly string[]): string {
	const columns = values.map((text) => text.padStart(COLUMN_WIDTH));
	return [name.padEnd(NAME_WIDTH), ...columns].join(' ').trimEnd();
}

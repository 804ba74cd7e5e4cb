/**
 * What tracing costs the machine. The kernel's run-time statistics (BPF_ENABLE_STATS, 5.8) read
 * the clock twice for each run of each program on the machine, often more than the program
 * itself; so they are on for a sample of the time, and the rest is extrapolated.
 */
import { closeSync } from 'node:fs';
import { libbpf } from './ffi.js';
import type { BpfProgram } from './program.js';

const BPF_STATS_RUN_TIME = 0;

/** Estimates over a stretch of time; the statistics' own clock readings are part of `bpf_ns`. */
export interface Cost {
	readonly bpf_runs: number;
	readonly bpf_ns: number;
	/** Of one CPU. */
	readonly cpu_pct: number;
}

interface Reading {
	readonly at_ns: bigint;
	readonly runs: number;
	readonly time_ns: number;
}

export class CostMeter {
	readonly #programs: readonly BpfProgram[];
	#fd = -1;
	#from: Reading | undefined;
	#sampled = { ns: 0, runs: 0, time_ns: 0 };

	constructor(programs: readonly BpfProgram[]) {
		this.#programs = programs;
	}

	/** Turns the statistics on. Where the kernel has none (before 5.8) nothing is measured. */
	begin(): void {
		if (this.#fd >= 0) return;
		this.#fd = libbpf().bpf_enable_stats(BPF_STATS_RUN_TIME);
		if (this.#fd >= 0) this.#from = this.#read();
	}

	/** Turns the statistics off, and keeps what they said. */
	end(): void {
		if (this.#fd < 0 || !this.#from) return;
		const to = this.#read();
		this.#sampled.ns += Number(to.at_ns - this.#from.at_ns);
		this.#sampled.runs += to.runs - this.#from.runs;
		this.#sampled.time_ns += to.time_ns - this.#from.time_ns;
		this.close();
	}

	/** The estimate for `duration_ns`, from all samples so far; undefined when there is none. */
	estimate(duration_ns: number): Cost | undefined {
		const { ns, runs, time_ns } = this.#sampled;
		if (ns === 0) return undefined;
		return {
			bpf_runs: Math.round((runs * duration_ns) / ns),
			bpf_ns: Math.round((time_ns * duration_ns) / ns),
			cpu_pct: (100 * time_ns) / ns,
		};
	}

	/** Runs that the kernel skipped because of nesting. */
	missed(): number {
		return this.#programs.reduce((sum, program) => sum + program.info().missed, 0);
	}

	/** Leaves no statistics on. */
	close(): void {
		if (this.#fd >= 0) closeSync(this.#fd);
		this.#fd = -1;
	}

	#read(): Reading {
		let runs = 0;
		let time_ns = 0;
		for (const program of this.#programs) {
			const info = program.info();
			runs += info.runs;
			time_ns += info.time_ns;
		}
		return { at_ns: process.hrtime.bigint(), runs, time_ns };
	}
}

/**
 * What tracing costs the machine. The kernel's run-time statistics (BPF_ENABLE_STATS, 5.8) read
 * the clock twice for each run of each program on the machine, often more than the program
 * itself; so they are on for a sample of the time, and the rest is extrapolated. tstrace's own CPU
 * time costs nothing to ask for: all of it is counted.
 */
import { closeSync } from 'node:fs';
import { uapi } from '../generated/uapi.js';
import { libbpf } from './ffi.js';
import type { BpfProgram } from './program.js';

/** tstrace works in bursts, as it drains maps or prints a result: an average over so long, */
const OWN_LONGEST_NS = 5e9;
/** and not less: what starts up is no measure of what follows. */
const OWN_SHORTEST_NS = 1e9;

/** Estimates over a stretch of time; the statistics' own clock readings are part of `bpf_ns`. */
interface ProgramCost {
	readonly bpf_runs: number;
	readonly bpf_ns: number;
	/** `bpf_ns`, of one CPU. */
	readonly cpu_pct: number;
	/** What traps take that lead to programs, by what one of them took elsewhere: see Metered. */
	readonly trap_ns: number;
	/** `trap_ns`, of one CPU. */
	readonly trap_pct: number;
}

export interface Cost {
	/** Undefined where it could not be measured, or the time was too short. */
	readonly programs: ProgramCost | undefined;
	/** Why it was not to be measured; undefined: it was. */
	readonly unmeasured?: string | undefined;
	/** tstrace's own CPU time: user and system, all threads. */
	readonly own_ns: number;
	/** Of one CPU. */
	readonly own_pct: number;
}

/** A program, and what the kernel takes to come to it, where that is known: ns for each run. */
interface Metered {
	readonly program: BpfProgram;
	readonly trap_ns: number;
}

interface CostReading {
	readonly at_ns: bigint;
	readonly runs: number;
	readonly time_ns: number;
	readonly trap_ns: number;
}

/** tstrace's own CPU time so far. */
export function ownTime_ns(): number {
	const { user, system } = process.cpuUsage();
	return (user + system) * 1000;
}

export class CostMeter {
	readonly #metered: readonly Metered[];
	readonly #unmeasured: string | undefined;
	readonly #own = new OwnAverage();
	#fd = -1;
	#from: CostReading | undefined;
	#sampled = { ns: 0, runs: 0, time_ns: 0, trap_ns: 0 };

	/** `unmeasured`: why the statistics stay off, which stop all CPUs for a moment; undefined: they do not. */
	constructor(metered: readonly Metered[], unmeasured?: string) {
		this.#metered = metered;
		this.#unmeasured = unmeasured;
	}

	/**
	 * Turns the statistics on. Returns whether there are any: not without programs, where they are to stay off,
	 * before 5.8, and for users who may trace but have no CAP_SYS_ADMIN.
	 */
	begin(): boolean {
		if (this.#fd < 0 && this.#metered.length > 0 && this.#unmeasured === undefined) {
			this.#fd = libbpf().bpf_enable_stats(uapi.STATS_RUN_TIME);
			if (this.#fd >= 0) this.#from = this.#read();
		}
		return this.#fd >= 0;
	}

	/**
	 * Turns the statistics off, and keeps what they said. Returns what tracing costs, per cent of one CPU:
	 * what programs and traps took meanwhile, as far as it was measured, and tstrace on average.
	 */
	end(): { readonly programs_pct: number; readonly own_pct: number } {
		const own_pct = this.#own.look_pct();
		if (this.#fd < 0 || !this.#from) return { programs_pct: 0, own_pct };
		const to = this.#read();
		const ns = Number(to.at_ns - this.#from.at_ns);
		const time_ns = to.time_ns - this.#from.time_ns;
		const trap_ns = to.trap_ns - this.#from.trap_ns;
		this.#sampled.ns += ns;
		this.#sampled.runs += to.runs - this.#from.runs;
		this.#sampled.time_ns += time_ns;
		this.#sampled.trap_ns += trap_ns;
		this.close();
		return { programs_pct: ns > 0 ? (100 * (time_ns + trap_ns)) / ns : 0, own_pct };
	}

	/** Something was changed: what tstrace took before says nothing of what it takes now. */
	startOver(): void {
		this.#own.startOver();
	}

	/** Of `duration_ns`, in which tstrace took `own_ns`; of programs it is estimated from all samples. */
	estimate(duration_ns: number, own_ns: number): Cost {
		const { ns, runs, time_ns, trap_ns } = this.#sampled;
		const own_pct = duration_ns > 0 ? (100 * own_ns) / duration_ns : 0;
		const own = { own_ns, own_pct, unmeasured: this.#unmeasured };
		if (ns === 0) return { programs: undefined, ...own };
		const programs = {
			bpf_runs: Math.round((runs * duration_ns) / ns),
			bpf_ns: Math.round((time_ns * duration_ns) / ns),
			cpu_pct: (100 * time_ns) / ns,
			trap_ns: Math.round((trap_ns * duration_ns) / ns),
			trap_pct: (100 * trap_ns) / ns,
		};
		return { programs, ...own };
	}

	/** Runs that the kernel skipped because of nesting. */
	missed(): number {
		return this.#metered.reduce((sum, { program }) => sum + program.info().missed, 0);
	}

	/** Leaves no statistics on. */
	close(): void {
		const fd = this.#fd;
		this.#fd = -1;
		if (fd >= 0) closeSync(fd);
	}

	#read(): CostReading {
		const sum = { runs: 0, time_ns: 0, trap_ns: 0 };
		for (const { program, trap_ns } of this.#metered) {
			const info = program.info();
			sum.runs += info.runs;
			sum.time_ns += info.time_ns;
			sum.trap_ns += info.runs * trap_ns;
		}
		return { at_ns: process.hrtime.bigint(), ...sum };
	}
}

/** tstrace's own CPU time of late. */
export class OwnAverage {
	readonly #clock: () => OwnLook;
	#looks: OwnLook[];

	constructor(clock = lookNow) {
		this.#clock = clock;
		this.#looks = [clock()];
	}

	/** Per cent of one CPU. */
	look_pct(): number {
		const now = this.#clock();
		this.#looks.push(now);
		while ((this.#looks[1] ?? now).at_ns <= now.at_ns - OWN_LONGEST_NS) this.#looks.shift();
		const first = this.#looks[0] ?? now;
		const ns = Math.max(now.at_ns - first.at_ns, OWN_SHORTEST_NS);
		return (100 * (now.own_ns - first.own_ns)) / ns;
	}

	startOver(): void {
		this.#looks = [this.#clock()];
	}
}

interface OwnLook {
	readonly at_ns: number;
	readonly own_ns: number;
}

const lookNow = (): OwnLook => ({
	at_ns: Number(process.hrtime.bigint()),
	own_ns: ownTime_ns(),
});

/** What `make bench-guard` measures of tools that trace: costs, slow-down, memory, start-up. */
import type { Guarded, GuardedFigure } from '../experiments/measure.js';
import { bpfSide, type Contender, slowSide, startSide } from '../experiments/workloads.js';
import { lineOf, TRACING, TSTRACE } from '../shared/tracer.js';

/** A contender with another tstrace. */
export const withTstrace = (program: string, contender: Contender): Contender => ({
	...contender,
	command: contender.command.map((word) => (word === TSTRACE ? program : word)),
});

/** Memory differs by 1 % from run to run, whatever else the machine does. */
export const PEAK: GuardedFigure = {
	...{ key: 'peak_mb', name: 'peak resident memory', unit: 'MB', bound: 1.1 },
};
export const RESULT: GuardedFigure = {
	...{ key: 'result_ms', name: 'from Ctrl-C to the result', unit: 'ms', digits: 0 },
};

/** What a guarded measurement is called: the command, and what it traces. */
export const named = ({ command }: Contender, work: string) =>
	`${lineOf(command).replace(TSTRACE, 'tstrace')}: ${work}`;

/** BPF time for each of `what`, of which there are `perSwitch` in a context switch. */
export const cost = (contender: Contender, what = 'context switch', perSwitch = 1): Guarded => ({
	workload: named(contender, 'perf bench sched pipe'),
	figures: [{ key: 'bpf_ns', name: `BPF time per ${what}`, unit: 'ns' }],
	side: (program) => bpfSide(withTstrace(program, contender), perSwitch),
});

/** How slow the workload is, and the tracer's memory. */
export const slowDown = (contender: Contender): Guarded => ({
	workload: named(contender, 'perf bench sched pipe'),
	figures: [{ key: 'us', name: 'time per operation', unit: 'us', digits: 2 }, RESULT, PEAK],
	side: (program) => slowSide(withTstrace(program, contender)),
});

/** Until it says that it traces. `prepare`: what is to be traced, if it has to be there. */
export const startUp = (contender: Contender, prepare?: Guarded['prepare']): Guarded => ({
	workload: named(contender, 'start-up to the first line'),
	figures: [{ key: 'first_ms', name: 'time', unit: 'ms', digits: 0 }],
	side: (program) => startSide({ ...withTstrace(program, contender), ready: TRACING }),
	...(prepare ? { prepare } : {}),
});

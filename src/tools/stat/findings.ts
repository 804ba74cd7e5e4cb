/** What stat finds: a row for each event. */
import type { TableFindings } from '../../aggregate/report.js';
import type { Space } from '../../perf/event-list.js';

/** Why an event has no count: the machine has no such event; this user may not count it; its turn never came. */
export type Uncounted = 'not_supported' | 'not_permitted' | 'not_counted';

/** One event, as JSON has it. */
export type CountRow = {
	/** As it was typed, with its modifier: "cs:u"; of each PMU, with that one's name. */
	readonly event: string;
	/** The first of its names, without modifier: "context-switches". */
	readonly name: string;
	/** Where it counts; none: everywhere. */
	readonly spaces: readonly Space[];
	/** Over all of the time, and of all threads or CPUs; null: see `status`. ns of clocks. */
	readonly value: number | null;
	/** "ns" of clocks; "events"; what the kernel says of a PMU's event: "Joules". */
	readonly unit: string;
	readonly status: 'counted' | Uncounted;
	/** Where it has no count: in words, what is the matter and what to do. */
	readonly why?: string;
	/** Of wall-clock time. */
	readonly per_s: number | null;
	/** What it says together with another event: "ipc". */
	readonly metric: Metric | null;
	/** For how much of the time it counted; less than 1: `value` is scaled. */
	readonly counted_share: number;
	readonly enabled_ns: number;
	readonly running_ns: number;
	/** Events of one group counted at the same times. */
	readonly group?: number;
	/** Of several runs of COMMAND: `value` is their mean. */
	readonly runs?: Spread;
};

/** Of several runs. */
export type Spread = {
	/** The sample standard deviation, in the unit of the value. */
	readonly deviation: number;
	readonly min: number;
	readonly max: number;
};

/** CPU time, as a thread's or a CPU's clock counts it; a PMU may count ns of something else. */
export const isClockRow = ({ name }: CountRow): boolean =>
	name === 'task-clock' || name === 'cpu-clock';

export type Metric = { readonly name: MetricName; readonly value: number };

export type MetricName =
	| 'cpus_utilised'
	| 'ghz'
	| 'instructions_per_cycle'
	| 'stalled_share'
	| 'miss_share';

/** What the numbers say. */
export type Remark = { readonly rule: string; readonly text: string };

export interface StatFindings extends TableFindings<CountRow> {
	readonly about: {
		/** Wall-clock time of these counts; the mean of several runs. */
		readonly elapsed_s: number;
		/** Until the end of these counts, since tracing began. */
		readonly until_s: number;
		readonly remarks: readonly Remark[];
		/** CPU time of a COMMAND that has ended, and of its children that it waited for. */
		readonly user_s?: number;
		readonly system_s?: number;
		/** How often COMMAND ran. */
		readonly runs?: number;
		readonly elapsed_runs?: Spread;
		/** Of all CPUs, as /proc/stat has it: the share of their time that was not idle. */
		readonly busy_share?: number;
		/** The same, where not all CPUs are counted. */
		readonly machine_busy_share?: number;
	};
}

/** What counts say, in words. One table; each threshold says where it comes from. Pure. */
import { largest } from '../../aggregate/largest.js';
import type { Space } from '../../perf/event-list.js';
import { grouped } from '../../render/numbers.js';
import type { CountRow, Remark } from './findings.js';

/** What rules look at. */
export interface Seen {
	readonly rows: readonly CountRow[];
	readonly elapsed_s: number;
	/** How many CPUs are online. */
	readonly cpus: number;
	/** What is counted: a program, a cgroup, or all that runs on CPUs. */
	readonly of: 'program' | 'cgroup' | 'cpus';
	/** Of the whole machine. */
	readonly busy_share?: number | undefined;
	/** The same, where a program or a cgroup is counted. */
	readonly machine_busy_share?: number | undefined;
	/** For the next command: " -p 812"; empty: there is none to name. */
	readonly choice: string;
}

interface Rule {
	readonly name: string;
	/** Undefined: the counts do not say it. */
	says(seen: Seen): string | undefined;
}

/** Shorter runs are mostly what it takes to start a program. */
const LEAST_S = 0.1;

/** Less than half a CPU: even a program of one thread waits for longer than it runs. Arithmetic. */
const WAITS_CPUS = 0.5;
/** One thread that always runs, give or take what a scheduler takes from it. Arithmetic. */
const ONE_CPU = [0.9, 1.1] as const;
/** Of all CPUs' time: what is left is no room for more work. Gregg, "The USE Method": 100 % is saturation. */
const FULL_SHARE = 0.9;
/**
 * Gregg, "CPU Utilization is Wrong" (2017): below 1.0 "you are likely memory stalled", above it "likely
 * instruction bound".
 */
const IPC = 1;
/** tools/perf/util/stat-shadow.c, get_ratio_color: above these perf prints shares in red. */
const RED_MISSES = 0.2;
const RED_STALLED = { 'stalled-cycles-frontend': 0.5, 'stalled-cycles-backend': 0.75 } as const;
/** The same of branches, but perf's second colour: a miss costs the work of 15 to 20 cycles. */
const BRANCH_MISSES = 0.1;
/** Li, Ding, Shen, "Quantifying the Cost of Context Switch" (2007): 3.8 us each; these take 4 % of a CPU. */
const SWITCHES_PER_S = 10_000;
/**
 * kernel/sched/fair.c, sysctl_sched_migration_cost: for 500 us after it ran a thread's memory counts as being in
 * the caches of its CPU. So many migrations may lose 10 % of a CPU's time.
 */
const MIGRATIONS_PER_S = 200;
/** A disk takes 10 ms for each: 10 % of the time. man 2 getrusage, ru_majflt: they "required I/O". */
const MAJOR_PER_S = 10;
/** Each takes 0.5 us at least (lmbench's lat_pagefault on current processors), so these 5 % of a CPU. */
const MINOR_PER_S = 100_000;

/** As long as it was, and a program: else the CPU time says something else. */
function utilised({ of, rows, elapsed_s }: Seen): number | undefined {
	if (of === 'cpus' || elapsed_s < LEAST_S) return undefined;
	return rows.find(({ metric }) => metric?.name === 'cpus_utilised')?.metric?.value;
}

/** Rows of an event, by its first name, that count in `space`, there alone or elsewhere, too. */
const counting = (rows: readonly CountRow[], event: string, space: Space) =>
	rows.filter(
		({ name, spaces }) => name === event && (spaces.length === 0 || spaces.includes(space)),
	);

/** Of several rows the largest: what the others count is a part of it. */
function rate({ rows, elapsed_s }: Seen, event: string, space: Space): number {
	if (elapsed_s < LEAST_S) return 0;
	return largest(
		counting(rows, event, space).map(({ per_s }) => per_s ?? 0),
		0,
	);
}

/** Not of the kernel alone. */
const metric = ({ rows }: Seen, event: string): number | undefined =>
	counting(rows, event, 'user').find((row) => row.metric)?.metric?.value;

const share = (value: number) => `${Math.round(100 * value)} %`;

export const RULES: readonly Rule[] = [
	{
		name: 'busy',
		says({ busy_share, cpus }) {
			if (busy_share === undefined) return undefined;
			const busy = `CPUs were busy ${share(busy_share)} of the time (${cpus} CPUs, /proc/stat)`;
			return busy_share < FULL_SHARE
				? busy
				: `${busy}: there is no room for more work; \`tstrace runqlat\` shows how long threads wait for a CPU`;
		},
	},
	{
		name: 'waits',
		says(seen) {
			const cpus = utilised(seen);
			if (cpus === undefined || cpus >= WAITS_CPUS) return undefined;
			const who = seen.of === 'program' ? 'this program waits' : 'this cgroup waits';
			const used = `${cpus.toFixed(cpus < 0.1 ? 3 : 2)} CPUs utilised`;
			const { machine_busy_share = 0 } = seen;
			if (machine_busy_share >= FULL_SHARE)
				return (
					`${used}, while all CPUs were busy ${share(machine_busy_share)} of the time: ${who}, perhaps for a ` +
					`CPU; \`tstrace why${seen.choice}\` tells`
				);
			return `${used}: ${who} most of the time; try \`tstrace why${seen.choice}\``;
		},
	},
	{
		name: 'one_cpu',
		says(seen) {
			const cpus = utilised(seen);
			if (cpus === undefined || seen.cpus < 2 || cpus < ONE_CPU[0] || cpus > ONE_CPU[1])
				return undefined;
			return (
				`${cpus.toFixed(1)} CPUs utilised, of ${seen.cpus}: as one thread that always runs; ` +
				`\`tstrace profile${seen.choice}\` shows where`
			);
		},
	},
	{
		name: 'all_cpus',
		says(seen) {
			const cpus = utilised(seen);
			if (cpus === undefined || seen.cpus < 2 || cpus < FULL_SHARE * seen.cpus) return undefined;
			return (
				`${cpus.toFixed(1)} of ${seen.cpus} CPUs utilised: CPUs are what limits it; ` +
				`\`tstrace profile${seen.choice}\` shows what takes their time`
			);
		},
	},
	{
		name: 'instructions',
		says(seen) {
			const ipc = metric(seen, 'instructions');
			if (ipc === undefined) return undefined;
			return ipc < IPC
				? `${ipc.toFixed(1)} instructions per cycle: likely stalled on memory; look at cache misses (-d)`
				: `${ipc.toFixed(1)} instructions per cycle: likely limited by instructions, not by memory`;
		},
	},
	...Object.entries(RED_STALLED).map(
		([event, limit]): Rule => ({
			name: event.replaceAll('-', '_'),
			says(seen) {
				const stalled = metric(seen, event);
				if (stalled === undefined || stalled <= limit) return undefined;
				const what = event.endsWith('frontend') ? 'fetching instructions' : 'memory or other units';
				return `the processor waited for ${what} in ${share(stalled)} of its cycles`;
			},
		}),
	),
	{
		name: 'branch_misses',
		says(seen) {
			const misses = metric(seen, 'branch-misses');
			if (misses === undefined || misses <= BRANCH_MISSES) return undefined;
			return `${share(misses)} of branches went another way than the processor expected, which is much`;
		},
	},
	{
		name: 'cache_misses',
		says(seen) {
			const misses = metric(seen, 'cache-misses');
			if (misses === undefined || misses <= RED_MISSES) return undefined;
			return `${share(misses)} of cache references missed, which is much: they went to memory`;
		},
	},
	{
		name: 'switches',
		says(seen) {
			const each_s = rate(seen, 'context-switches', 'kernel');
			if (seen.of === 'cpus' || each_s < SWITCHES_PER_S) return undefined;
			return (
				`${grouped(each_s)} switches/s: they alone take about ${share((each_s * 3.8) / 1e6)} of a CPU; ` +
				`\`tstrace offcputime${seen.choice}\` shows what it waits for so often`
			);
		},
	},
	{
		name: 'migrations',
		says(seen) {
			const each_s = rate(seen, 'cpu-migrations', 'kernel');
			if (seen.of === 'cpus' || each_s < MIGRATIONS_PER_S) return undefined;
			return (
				`${grouped(each_s)} migrations/s: threads often find their memory in the caches of another CPU; ` +
				'fewer threads, or taskset, may help'
			);
		},
	},
	{
		name: 'major_faults',
		says(seen) {
			const each_s = rate(seen, 'major-faults', 'user');
			if (each_s < MAJOR_PER_S) return undefined;
			return `${grouped(each_s)} major faults/s: it waits for memory that is read from a disk (files or swap)`;
		},
	},
	{
		name: 'minor_faults',
		says(seen) {
			const each_s = rate(seen, 'minor-faults', 'user');
			if (seen.of === 'cpus' || each_s < MINOR_PER_S) return undefined;
			return (
				`${grouped(each_s)} minor faults/s: the kernel prepares new memory all the time; ` +
				`\`tstrace profile -e page-faults -c 1${seen.choice}\` shows where`
			);
		},
	},
	{
		// Arithmetic: what is counted in a part of the time stands for the rest.
		name: 'scaled',
		says({ rows }) {
			const scaled = rows.some(({ value, counted_share }) => value !== null && counted_share < 1);
			return scaled
				? 'events took turns on the counters of the processor: counts are scaled from the time COUNTED; ' +
						'for exact ones, count fewer events at once (-e)'
				: undefined;
		},
	},
];

/** In the order of the table. */
export function remarksOf(seen: Seen): Remark[] {
	return RULES.flatMap((rule) => {
		const text = rule.says(seen);
		return text === undefined ? [] : [{ rule: rule.name, text }];
	});
}

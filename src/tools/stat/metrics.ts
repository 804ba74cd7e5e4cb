/** What counts say together: instructions per cycle, shares of misses. Pure. As perf stat has them. */
import type { Metric, MetricName } from './findings.js';

/** Counts of one interval, by the event's first name and its modifier: "cycles:u". */
export type Values = ReadonlyMap<string, number>;

const CLOCKS = ['task-clock', 'cpu-clock'];

/** Each event with one that it is divided by: tools/perf/util/stat-shadow.c has the same pairs. */
const RATIOS: Readonly<Record<string, readonly [by: string, metric: MetricName]>> = {
	instructions: ['cycles', 'instructions_per_cycle'],
	'stalled-cycles-frontend': ['cycles', 'stalled_share'],
	'stalled-cycles-backend': ['cycles', 'stalled_share'],
	'branch-misses': ['branches', 'miss_share'],
	'cache-misses': ['cache-references', 'miss_share'],
	'L1-dcache-load-misses': ['L1-dcache-loads', 'miss_share'],
	'L1-icache-load-misses': ['L1-icache-loads', 'miss_share'],
	'LLC-load-misses': ['LLC-loads', 'miss_share'],
	'dTLB-load-misses': ['dTLB-loads', 'miss_share'],
	'iTLB-load-misses': ['iTLB-loads', 'miss_share'],
};

export const isClock = (name: string): boolean => CLOCKS.includes(name);

/** What `name` (with the modifier `:u` or '') says together with others; null: nothing. */
export function metricOf(
	name: string,
	modifier: string,
	values: Values,
	elapsed_s: number,
): Metric | null {
	const value = values.get(name + modifier);
	if (value === undefined) return null;
	if (isClock(name)) return divided('cpus_utilised', value, elapsed_s * 1e9);
	if (name === 'cycles') return divided('ghz', value, clock_ns(values));
	const [by, metric] = RATIOS[name] ?? [];
	return by && metric ? divided(metric, value, values.get(by + modifier)) : null;
}

function clock_ns(values: Values): number | undefined {
	for (const clock of CLOCKS) {
		const ns = values.get(clock);
		if (ns !== undefined) return ns;
	}
	return undefined;
}

function divided(name: MetricName, value: number, by: number | undefined): Metric | null {
	return by === undefined || by <= 0 ? null : { name, value: value / by };
}

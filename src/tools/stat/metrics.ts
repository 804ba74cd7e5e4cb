/** What counts say together: instructions per cycle, shares of misses. Pure. As perf stat has them. */
import { type CountRow, isClockRow, type Metric, type MetricName } from './findings.js';

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

/** What a row says together with the others of its interval; null: nothing. */
export function metricOf(
	row: CountRow,
	rows: readonly CountRow[],
	elapsed_s: number,
): Metric | null {
	const { name, value } = row;
	if (value === null) return null;
	if (isClockRow(row)) return divided('cpus_utilised', value, elapsed_s * 1e9);
	if (name === 'cycles') return divided('ghz', value, firstValue(rows, isClockRow));
	const [by, metric] = RATIOS[name] ?? [];
	if (!by || !metric) return null;
	const spaces = row.spaces.join();
	const isIt = (each: CountRow) => each.name === by && each.spaces.join() === spaces;
	return divided(metric, value, firstValue(rows, isIt));
}

const firstValue = (rows: readonly CountRow[], isIt: (row: CountRow) => boolean) =>
	rows.find((row) => row.value !== null && isIt(row))?.value;

function divided(name: MetricName, value: number, by: number | null | undefined): Metric | null {
	return !by || by <= 0 ? null : { name, value: value / by };
}

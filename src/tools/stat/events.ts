/** Which events are counted where nobody names any: what perf stat counts, and what -d adds. */
import { type CountedEvent, countedEvent } from '../../perf/event-list.js';

const SOFTWARE = [
	'context-switches',
	'cpu-migrations',
	'page-faults',
	'minor-faults',
	'major-faults',
];
const HARDWARE = [
	'cycles',
	'instructions',
	'branches',
	'branch-misses',
	'cache-references',
	'cache-misses',
];
/** man 1 perf-stat, under -d. */
const DETAILED = [
	'L1-dcache-loads',
	'L1-dcache-load-misses',
	'LLC-loads',
	'LLC-load-misses',
	'L1-icache-load-misses',
	'dTLB-loads',
	'dTLB-load-misses',
	'iTLB-load-misses',
];

/** A clock counts while its thread runs; that of a CPU counts always. */
export function defaultEvents({ ofCpus = false, detailed = false }): CountedEvent[] {
	const clock = ofCpus ? 'cpu-clock' : 'task-clock';
	const names = [clock, ...SOFTWARE, ...HARDWARE, ...(detailed ? DETAILED : [])];
	return names.map((name) => countedEvent(name));
}

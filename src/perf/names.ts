/**
 * The names that `perf list` gives to events. Source: include/uapi/linux/perf_event.h,
 * man 1 perf-list.
 */
import { perf_type_id } from '../generated/uapi.js';

const { PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_RAW } = perf_type_id;

export interface EventType {
	/** As perf list has it. */
	readonly name: string;
	/** perf_event_attr's. */
	readonly type: number;
	readonly config: bigint;
}

/** enum perf_hw_id: all names of each, in the order of their numbers. */
const HARDWARE = [
	['cycles', 'cpu-cycles'],
	['instructions'],
	['cache-references'],
	['cache-misses'],
	['branches', 'branch-instructions'],
	['branch-misses'],
	['bus-cycles'],
	['stalled-cycles-frontend', 'idle-cycles-frontend'],
	['stalled-cycles-backend', 'idle-cycles-backend'],
	['ref-cycles'],
] as const;

/** enum perf_sw_ids */
const SOFTWARE = [
	['cpu-clock'],
	['task-clock'],
	['page-faults', 'faults'],
	['context-switches', 'cs'],
	['cpu-migrations', 'migrations'],
	['minor-faults'],
	['major-faults'],
	['alignment-faults'],
	['emulation-faults'],
	['dummy'],
	['bpf-output'],
	['cgroup-switches'],
] as const;

/** enum perf_hw_cache_id, with the operations that make sense there: load, store, prefetch. */
const CACHES = [
	['L1-dcache', 'lsp'],
	['L1-icache', 'lp'],
	['LLC', 'lsp'],
	['dTLB', 'lsp'],
	['iTLB', 'l'],
	['branch', 'l'],
	['node', 'lsp'],
] as const;

/** enum perf_hw_cache_op_id, and what perf calls its accesses and its misses. */
const CACHE_OPERATIONS = [
	['l', 'loads', 'load-misses'],
	['s', 'stores', 'store-misses'],
	['p', 'prefetches', 'prefetch-misses'],
] as const;

function* allEvents(): Generator<EventType> {
	for (const [id, names] of HARDWARE.entries()) {
		for (const name of names) yield { name, type: PERF_TYPE_HARDWARE, config: BigInt(id) };
	}
	for (const [id, names] of SOFTWARE.entries()) {
		for (const name of names) yield { name, type: PERF_TYPE_SOFTWARE, config: BigInt(id) };
	}
	for (const [cache, [cacheName, operations]] of CACHES.entries()) {
		for (const [operation, [letter, ...results]] of CACHE_OPERATIONS.entries()) {
			if (!operations.includes(letter)) continue;
			for (const [result, resultName] of results.entries()) {
				const config = BigInt(cache | (operation << 8) | (result << 16));
				yield { name: `${cacheName}-${resultName}`, type: PERF_TYPE_HW_CACHE, config };
			}
		}
	}
}

/** By name in lower case. */
export const EVENTS: ReadonlyMap<string, EventType> = new Map(
	[...allEvents()].map((event) => [event.name.toLowerCase(), event]),
);

/** "r1a8": a raw event of the processor, in hexadecimal; undefined: it is none. */
export function parseRaw(text: string): EventType | undefined {
	const raw = /^r([0-9a-f]{1,16})$/i.exec(text);
	if (!raw) return undefined;
	return { name: text.toLowerCase(), type: PERF_TYPE_RAW, config: BigInt(`0x${raw[1]}`) };
}

/** The first of an event's names: "cycles" of "CPU-cycles"; what is none of perf's names as it is. */
export function canonicalName(text: string): string {
	const event = EVENTS.get(text.toLowerCase());
	return event ? eventName(event) : text;
}

/** What an event is called; the first of its names. */
export function eventName({ type, config }: Omit<EventType, 'name'>): string {
	for (const event of EVENTS.values()) {
		if (event.type === type && event.config === config) return event.name;
	}
	return type === PERF_TYPE_RAW ? `r${config.toString(16)}` : `${type}:${config}`;
}

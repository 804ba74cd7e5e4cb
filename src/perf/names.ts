/**
 * Events by the names that `perf list` gives them. Source: include/uapi/linux/perf_event.h,
 * man 1 perf-list.
 */
import { UsageError } from '../errors.js';
import { perf_sw_ids, perf_type_id } from '../generated/uapi.js';
import { nearest } from '../nearest.js';

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
const EVENTS: ReadonlyMap<string, EventType> = new Map(
	[...allEvents()].map((event) => [event.name.toLowerCase(), event]),
);

/** All names, except raw events. */
export const EVENT_NAMES: readonly string[] = [...EVENTS.values()].map((event) => event.name);

/**
 * An event by its name, in upper or lower case, or as "r1a8", a raw event of the processor in
 * hexadecimal. Throws UsageError, which names those that may be meant, if there is none.
 */
export function eventOf(text: string): EventType {
	const event = findEvent(text);
	if (event) return event;
	throw new UsageError(whyNoEvent(text));
}

/** As eventOf; undefined: there is none. */
export const findEvent = (text: string): EventType | undefined =>
	EVENTS.get(text.toLowerCase()) ?? parseRaw(text);

/** What is the matter with a name of no event; `elsewhere`: tracepoints and events of PMUs of that name. */
export function whyNoEvent(text: string, elsewhere: readonly string[] = []): string {
	if (text.includes('/'))
		return (
			`"${text}" is an event of one PMU, which cannot be used here: use perf's common names, or a raw event, ` +
			'such as r1a8'
		);
	const began = EVENT_NAMES.filter((each) => each.toLowerCase().startsWith(text.toLowerCase()));
	if (text.length > 1 && began.length > 1) return `"${text}" is ambiguous: ${some(began)}`;
	if (elsewhere.length > 1) return `"${text}" is ambiguous: there are ${some(elsewhere)}`;
	const [point] = elsewhere;
	const near = point === undefined ? meant(text, EVENT_NAMES) : `: did you mean ${point}?`;
	return `there is no event "${text}"${near || ';'} \`perf list\` names events; r1a8 is a raw one`;
}

/** ": did you mean branches or branch-misses?"; at most three. */
export function meant(word: string, candidates: readonly string[]): string {
	const near: string[] = [];
	for (let left = [...candidates]; near.length < 3; ) {
		const next = nearest(word, left);
		if (next === undefined) break;
		near.push(next);
		left = left.filter((each) => each !== next);
	}
	return near.length === 0 ? '' : `: did you mean ${near.join(' or ')}?`;
}

const SHOWN = 6;

function some(names: readonly string[]): string {
	const more = names.length - SHOWN;
	return names.slice(0, SHOWN).join(', ') + (more > 0 ? `, and ${more} more` : '');
}

/** "r1a8"; undefined: it is no raw event. */
function parseRaw(text: string): EventType | undefined {
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

const CLOCKS: readonly number[] = [
	perf_sw_ids.PERF_COUNT_SW_CPU_CLOCK,
	perf_sw_ids.PERF_COUNT_SW_TASK_CLOCK,
];

/** cpu-clock and task-clock: timers, which count ns. */
export const isClock = ({ type, config }: Omit<EventType, 'name'>): boolean =>
	type === PERF_TYPE_SOFTWARE && CLOCKS.includes(Number(config));

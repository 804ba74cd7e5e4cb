/** Lists of events as perf takes them: "cycles,{branches,branch-misses}:u,sched:sched_switch". */

import { UsageError } from '../errors.js';
import { perf_sw_ids, perf_type_id } from '../generated/uapi.js';
import { type EventType, eventOf, findEvent, meant, whyNoEvent } from './names.js';
import { type PmuEvent, pmuEvents, pmuEventsNamed, splitPmuEvent } from './pmu-events.js';
import { tracepointId, tracepointNames } from './tracepoint.js';

export type Space = 'user' | 'kernel' | 'hypervisor';

/** An event to count. */
export interface CountedEvent extends EventType, Partial<Omit<PmuEvent, keyof EventType>> {
	/** As it was typed, with its modifier: "cycles:u". */
	readonly text: string;
	/** Count only there, in the order of `Space`; none: everywhere. */
	readonly spaces: readonly Space[];
	/** Events of the same number count at the same time, or not at all. */
	readonly group: number | undefined;
	/** It happens in the kernel alone, whoever causes it. */
	readonly kernelOnly: boolean;
}

/** Where tracepoints are looked up; tests have others. */
export interface Tracepoints {
	id(category: string, name: string): number;
	names(): readonly string[];
}

const KERNELS_OWN: Tracepoints = { id: tracepointId, names: tracepointNames };

const SPACES: Readonly<Record<string, Space>> = { u: 'user', k: 'kernel', h: 'hypervisor' };

/** Words of perf's modifiers that say nothing about counting. */
const OTHER_MODIFIERS = 'pPGHIDSWeb';

const KERNEL_ONLY: readonly number[] = [
	perf_sw_ids.PERF_COUNT_SW_CONTEXT_SWITCHES,
	perf_sw_ids.PERF_COUNT_SW_CPU_MIGRATIONS,
];

/** An event by a name of perf list's that is certain to be there. */
export function countedEvent(name: string, group?: number): CountedEvent {
	const event = eventOf(name);
	return { ...event, text: name, spaces: [], group, kernelOnly: isKernelOnly(event) };
}

/**
 * The events of a list; `pmuFolder`: where PMUs are listed, if not where the kernel does. Throws UsageError, which names the nearest ones, for what is no event; TstraceError for
 * tracepoints that may not be read.
 */
export function parseEventList(
	text: string,
	tracepoints: Tracepoints = KERNELS_OWN,
	pmuFolder?: string,
): CountedEvent[] {
	const parts = splitList(text);
	return parts.flatMap((part, index) => {
		const braces = /^\{(.*)\}(?::(\w*))?$/.exec(part);
		const names = braces ? splitList(braces[1] ?? '') : [part];
		return names.flatMap((name) =>
			eventsOf(name, braces?.[2], tracepoints, pmuFolder).map((event, i) => ({
				...event,
				// Events of several PMUs cannot be together: each PMU has a group of its own.
				group: braces ? index + (event.shared === undefined ? 0 : i * parts.length) : undefined,
			})),
		);
	});
}

/** Stands for a comma that does not separate events; no argument has it. */
const COMMA = '\0';

/** Split at commas that are neither in braces nor between slashes. Throws UsageError. */
function splitList(text: string): string[] {
	const hidden = text.replaceAll(/\/[^/]*\//g, (terms) => terms.replaceAll(',', COMMA));
	const parts = hidden.split(/,(?![^{]*\})/).map((part) => part.replaceAll(COMMA, ',').trim());
	for (const part of parts) {
		if (part === '')
			throw new UsageError('-e: an event is missing: give names, separated by commas');
		if (/^\{[^{}]*\}(:\w*)?$/.test(part) || !/[{}]/.test(part)) continue;
		throw new UsageError(`-e: "${part}" is no group: a group is as {cycles,instructions}:u`);
	}
	return parts;
}

function eventsOf(
	text: string,
	groupModifier: string | undefined,
	tracepoints: Tracepoints,
	pmuFolder: string | undefined,
): Omit<CountedEvent, 'group'>[] {
	const ofPmu = splitPmuEvent(text);
	const { modifier } = ofPmu ?? splitModifier(text);
	const letters = (modifier ?? '') + (groupModifier ?? '');
	const spaces = spacesOf(letters, text);
	const suffix = letters === '' ? '' : `:${letters}`;
	const types = ofPmu
		? pmuEvents(ofPmu.pmu, ofPmu.terms, pmuFolder)
		: typesOf(splitModifier(text).name, tracepoints);
	return types.map((event) => ({
		...event,
		text: `${event.name}${suffix}`,
		spaces,
		kernelOnly: isKernelOnly(event),
	}));
}

/** "cycles:u" has a modifier, "sched:sched_switch" has none, "sched:sched_switch:k" has one. */
function splitModifier(text: string): { name: string; modifier: string | undefined } {
	const parts = text.split(':');
	const isTracepoint = parts.length > 1 && !findEvent(parts[0] as string);
	const length = isTracepoint ? 2 : 1;
	if (parts.length > length + 1) throw new UsageError(`-e: "${text}" has too many colons`);
	return { name: parts.slice(0, length).join(':'), modifier: parts[length] };
}

function spacesOf(letters: string, text: string): Space[] {
	const spaces = new Set<Space>();
	for (const letter of letters) {
		const space = SPACES[letter];
		if (space) spaces.add(space);
		else {
			const why = OTHER_MODIFIERS.includes(letter)
				? `modifier ${letter} says nothing about counting`
				: `there is no modifier ${letter}`;
			throw new UsageError(`-e ${text}: ${why}: use u (user space), k (kernel), h (hypervisor)`);
		}
	}
	return Object.values(SPACES).filter((space) => spaces.has(space));
}

function typesOf(name: string, tracepoints: Tracepoints): EventType[] {
	if (!name.includes(':')) return [findEvent(name) ?? unknown(name, tracepoints)];
	const [category = '', point = ''] = name.split(':');
	if (!/^[\w*?.-]+$/.test(category) || !/^[\w*?.-]+$/.test(point))
		throw new UsageError(`-e: "${name}" is no tracepoint: these are as sched:sched_switch`);
	const names = /[*?]/.test(name) ? matching(name, tracepoints) : [existing(name, tracepoints)];
	return names.map((each) => {
		const [first = '', second = ''] = each.split(':');
		return {
			name: each,
			type: perf_type_id.PERF_TYPE_TRACEPOINT,
			config: BigInt(tracepoints.id(first, second)),
		};
	});
}

function matching(pattern: string, tracepoints: Tracepoints): string[] {
	const escaped = pattern.replace(/[.-]/g, '\\$&').replaceAll('*', '.*').replaceAll('?', '.');
	const names = tracepoints.names().filter((name) => new RegExp(`^${escaped}$`).test(name));
	if (names.length > 0) return names;
	throw new UsageError(`-e: no tracepoint is like ${pattern}; \`perf list tracepoint\` names them`);
}

function existing(name: string, tracepoints: Tracepoints): string {
	const names = tracepoints.names();
	if (names.includes(name)) return name;
	throw new UsageError(
		`-e: there is no tracepoint ${name}${meant(name, names) || ';'} \`perf list tracepoint\` names them`,
	);
}

/** What has no colon, and is none of perf's names. */
function unknown(name: string, tracepoints: Tracepoints): never {
	if (name.includes('/'))
		throw new UsageError(
			`-e: "${name}" is no event: those of a PMU are as msr/tsc/, with two slashes`,
		);
	throw new UsageError(`-e: ${whyNoEvent(name, named(name, tracepoints))}`);
}

/** Tracepoints of that name in whatever category, where they may be read; events of PMUs. */
function named(name: string, tracepoints: Tracepoints): string[] {
	try {
		return [
			...tracepoints.names().filter((each) => each.endsWith(`:${name}`)),
			...pmuEventsNamed(name),
		];
	} catch {
		return pmuEventsNamed(name);
	}
}

function isKernelOnly({ type, config }: EventType): boolean {
	if (type === perf_type_id.PERF_TYPE_TRACEPOINT) return true;
	return type === perf_type_id.PERF_TYPE_SOFTWARE && KERNEL_ONLY.includes(Number(config));
}

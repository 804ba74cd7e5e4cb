/** The longest single waits, with their chains: chains have sums only. Pure values: no I/O, no kernel. */
import type { StackRow } from '../../aggregate/stack-rows.js';
import type { WaitObject } from '../../aggregate/wait-object.js';
import type { RunnableKind } from './evidence.js';
import type { Part } from './parts.js';

/** Of one thread, for one thing: so many, else the same wait over and over would be all there is. */
export const MOST_ALIKE = 8;
/** Shorter ones are sampled: of them nobody knows which was the longest. */
const LEAST_NS = 1e6;
/** Of all. */
export const MOST_WORST = 50;
/** Of a wait that is in a row: the row's time may be less by what was rounded. */
const ALMOST = 0.99;

/** Times of one wait; CLOCK_MONOTONIC. */
interface Span {
	readonly begin_ns: number;
	readonly end_ns: number;
}

/** A wait that was long; its times are from the beginning of the window, and within it. */
export interface WorstWait extends Span {
	readonly pid: number;
	readonly tid: number;
	readonly comm: string;
	/** Whose place and kind it has; its row has the stack, and who ended it. */
	readonly part: Part;
	/** It went on as the window ended. */
	readonly isOpen: boolean;
}

const lengthOf = ({ begin_ns, end_ns }: Span) => end_ns - begin_ns;

/** The longest waits while they come: for each stack, and for each thread that waits for a CPU, a few. */
export class LongestWaits {
	/** By the number of the stack that waited. */
	readonly #blocked = new Map<number, Span[]>();
	/** By the kernel's number of the thread. */
	readonly #forCpu = new Map<string, Span[]>();

	blocked(stack: number, span: Span): void {
		if (lengthOf(span) >= LEAST_NS) addTo(this.#blocked, stack, span);
	}

	forCpu(pid: number, kind: RunnableKind, span: Span): void {
		if (lengthOf(span) >= LEAST_NS) addTo(this.#forCpu, `${pid} ${kind}`, span);
	}

	blockedAt(stack: number): readonly Span[] {
		return this.#blocked.get(stack) ?? [];
	}

	forCpuOf(pid: number, kind: string): readonly Span[] {
		return this.#forCpu.get(`${pid} ${kind}`) ?? [];
	}
}

function addTo<K>(all: Map<K, Span[]>, key: K, { begin_ns, end_ns }: Span): void {
	const span = { begin_ns, end_ns };
	const known = all.get(key);
	if (!known) {
		all.set(key, [span]);
		return;
	}
	const isFull = known.length >= MOST_ALIKE;
	if (isFull && lengthOf(span) <= lengthOf(known.at(-1) as Span)) return;
	if (isFull) known.pop();
	known.push(span);
	known.sort((a, b) => lengthOf(b) - lengthOf(a));
}

interface SeenOfWaits {
	readonly longest: LongestWaits;
	/** By the stacks that rows were made of (`sources`): their numbers, and what they waited for. */
	readonly numbers: readonly number[];
	readonly objects: readonly (WaitObject | undefined)[];
	/** Of threads, as the kernel numbers them and as we do. */
	readonly threads: readonly {
		readonly kernelPid: number;
		readonly pid: number;
		readonly tid: number;
	}[];
	readonly window: Span;
	/** An idle one that is told all the same, as it may be what is wrong. */
	readonly stayed?: Part | undefined;
}

/** Of threads that had work, and none for other traced threads: what the working time is made of. */
export function worstWaits(parts: readonly Part[], seen: SeenOfWaits): WorstWait[] {
	const { window } = seen;
	const found = [
		...blockedWaits(parts, seen),
		...parts.flatMap((part) => cpuWaits(part, seen)),
		...openWaits(parts, seen),
	];
	const alike = new Map<string, number>();
	return found
		.filter(({ part }) => isWork(part) || part === seen.stayed)
		.sort((a, b) => lengthOf(b) - lengthOf(a))
		.filter(({ part: { place, kind, object, row } }) => {
			const thing = JSON.stringify([row.key, place, kind, object]);
			const before = alike.get(thing) ?? 0;
			alike.set(thing, before + 1);
			return before < MOST_ALIKE;
		})
		.map((wait): WorstWait => {
			const { pid, tid, comm } = wait.part.row.key;
			const begin_ns = Math.max(0, wait.begin_ns - window.begin_ns);
			const end_ns = Math.min(lengthOf(window), wait.end_ns - window.begin_ns);
			const who = { pid: Number(pid ?? 0), tid: Number(tid ?? pid ?? 0), comm: `${comm ?? ''}` };
			return { ...wait, ...who, begin_ns, end_ns };
		})
		.filter((wait) => lengthOf(wait) >= LEAST_NS)
		.sort((a, b) => lengthOf(b) - lengthOf(a))
		.slice(0, MOST_WORST);
}

type FoundWait = Span & Pick<WorstWait, 'part' | 'isOpen'>;

const isWork = ({ place, follows }: Part) =>
	(place === 'waiting' || place === 'runnable') && !follows;

const numbersOf = ({ sources = [] }: StackRow, numbers: readonly number[]) =>
	new Set(sources.flatMap((source) => numbers[source] ?? []));

/** Each wait that ended, in the part that it is most likely in. */
function blockedWaits(parts: readonly Part[], { longest, numbers, objects }: SeenOfWaits) {
	const byNumber = new Map<number, Part[]>();
	for (const part of parts) {
		if (part.place === 'running' || part.place === 'runnable') continue;
		for (const number of numbersOf(part.row, numbers)) {
			const same = byNumber.get(number);
			if (same) same.push(part);
			else byNumber.set(number, [part]);
		}
	}
	const objectOf = new Map(numbers.map((number, source) => [number, objects[source]]));
	return [...byNumber].flatMap(([number, candidates]) => {
		const object = JSON.stringify(objectOf.get(number));
		const same = candidates.filter((part) => JSON.stringify(part.object) === object);
		return longest.blockedAt(number).map((span): FoundWait => {
			const part = likeliest(same.length > 0 ? same : candidates, lengthOf(span));
			return { ...span, part, isOpen: false };
		});
	});
}

/** Chains that begin at the same stack differ in who was behind it: of waits of about that length. */
function likeliest(parts: readonly Part[], length_ns: number): Part {
	const room = parts.filter(({ row }) => row.value >= ALMOST * length_ns);
	const distance = ({ row }: Part) =>
		Math.abs(Math.log(Math.max(1, row.value / Math.max(1, row.count)) / Math.max(1, length_ns)));
	return (room.length > 0 ? room : parts).reduce((a, b) => (distance(b) < distance(a) ? b : a));
}

function cpuWaits(part: Part, { longest, threads }: SeenOfWaits): FoundWait[] {
	if (part.place !== 'runnable') return [];
	const { pid, tid } = part.row.key;
	return threads
		.filter((thread) => thread.pid === pid && thread.tid === tid)
		.flatMap(({ kernelPid }) => longest.forCpuOf(kernelPid, part.kind))
		.map((span) => ({ ...span, part, isOpen: false }));
}

/** What still waits has no number: its time is up to the end. Its row is one wait, whatever it was for. */
function openWaits(parts: readonly Part[], { numbers, window }: SeenOfWaits): FoundWait[] {
	const largest = new Map<StackRow, Part>();
	for (const part of parts) {
		const isBlocked = part.place === 'waiting' || part.place === 'idle';
		if (!isBlocked || numbersOf(part.row, numbers).size > 0) continue;
		if (part.value_ns > (largest.get(part.row)?.value_ns ?? 0)) largest.set(part.row, part);
	}
	return [...largest].map(([{ value }, part]) => ({
		...{ begin_ns: window.end_ns - value, end_ns: window.end_ns },
		...{ part, isOpen: true },
	}));
}

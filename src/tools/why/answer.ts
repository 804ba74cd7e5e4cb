/** The account of a window, and the reasons why threads did not get on. Pure values: no I/O, no kernel. */
import { middleOf } from '../../aggregate/buckets.js';
import { Histogram } from '../../aggregate/histogram.js';
import type { Key } from '../../aggregate/row-key.js';
import type { Waker } from '../../aggregate/stack-rows.js';
import type { WaitObject } from '../../aggregate/wait-object.js';
import { objectText } from '../../render/wait-object.js';
import { type Link, linksOf, tellingFunction } from './chain.js';
import { type Evidence, isAmong } from './evidence.js';
import { nameOf } from './idle.js';
import type { Part, Parts, PlaceName } from './parts.js';

/** Times of waits, in ns; all 0 where none was seen to end. */
export interface Durations {
	readonly p50: number;
	readonly p99: number;
	readonly max: number;
}

/** A line of the account. */
export interface Place {
	readonly place: PlaceName | 'not seen';
	readonly kind: string;
	/** '': it is not known, or not for anything. */
	readonly object: string;
	/** For other threads that are traced, too. */
	readonly follows: boolean;
	readonly total_ns: number;
	readonly count: number;
	/** Standard error of `total_ns`. */
	readonly error_ns: number;
	readonly durations: Durations;
}

/** Who ended waits, and what that one did meanwhile. */
export interface Culprit {
	/** From who woke the thread to the last one that is known; the last one is the culprit. */
	readonly links: readonly Link[];
	readonly total_ns: number;
}

export interface Sufferer {
	readonly pid: number;
	readonly tid: number;
	readonly comm: string;
	readonly total_ns: number;
}

/** Parts that are about the same thing. */
export interface Reason extends Place {
	readonly place: 'running' | 'runnable' | 'waiting';
	readonly of: WaitObject | undefined;
	/** The costliest part: its stack is shown. */
	readonly worst: Part;
	/** The program's functions, the costliest first. */
	readonly functions: readonly { readonly name: string; readonly total_ns: number }[];
	readonly culprits: readonly Culprit[];
	readonly threads: readonly Sufferer[];
	/** How much of it may as well be idle. */
	readonly undecided_ns: number;
}

/** Threads of one name for which other traced threads waited. */
export interface Followed {
	readonly comm: string;
	/** How many of them there are, and how long they were idle, together. */
	readonly servers: number;
	readonly idle_ns: number;
	/** How many threads waited, how long together, and in which function of theirs. */
	readonly waiters: number;
	readonly total_ns: number;
	readonly function: string;
}

export interface Answer {
	/** See `Evidence`. */
	readonly target: string;
	readonly window_ns: number;
	readonly threads: Evidence['threads'];
	readonly wall_ns: number;
	readonly idle_ns: number;
	/** All but idle, and but waits for other threads that are traced, too, and had work. */
	readonly working_ns: number;
	readonly following_ns: number;
	readonly unseen_ns: number;
	readonly samples: number;
	readonly account: readonly Place[];
	/** The largest first. */
	readonly reasons: readonly Reason[];
	/** The thread that was in one wait all the time, which may be what is wrong; undefined: there is none. */
	readonly stayed: Part | undefined;
	/** For which threads others wait most; undefined: for none. */
	readonly followed: Followed | undefined;
	/** Threads by how long they were runnable or waiting, the longest first. */
	readonly sufferers: readonly Sufferer[];
}

/** `parts`: of the same evidence. */
export function answerOf(evidence: Evidence, { parts, wall_ns, unseen_ns }: Parts): Answer {
	const idle_ns = sumOf(parts.filter(({ place }) => place === 'idle'));
	const following_ns = sumOf(parts.filter(({ follows }) => follows));
	const account = grouped(parts, (part) => [
		...[part.place, part.kind, accountObject(part)],
		`${part.follows}`,
	]).map(placeOf);
	const unseen = unseen_ns > 0 ? [unseenPlace(unseen_ns)] : [];
	const busy = parts.filter(({ place, follows }) => place !== 'idle' && !follows);
	// Not what the others leave: of what is left by rounding, shares are no numbers.
	const working_ns = sumOf(busy);
	return {
		target: evidence.target,
		window_ns: evidence.window_ns,
		threads: evidence.threads,
		wall_ns,
		idle_ns,
		working_ns,
		following_ns,
		unseen_ns,
		samples: evidence.samples.reduce((sum, { count }) => sum + count, 0),
		account: [...account, ...unseen].sort((a, b) => b.total_ns - a.total_ns),
		reasons: ordered(grouped(busy, reasonKey).map(reasonOf), working_ns),
		sufferers: sufferersOf(busy.filter(({ place }) => place !== 'running')),
		stayed: largestStay(parts),
		followed: mostFollowed(parts, isAmong(evidence.threads)),
	};
}

/** Kinds of waits in which a thread that has work may stay, too. */
const TELLING_STAYS = ['sleep', 'child', 'socket receive', 'stopped'];

function largestStay(parts: readonly Part[]): Part | undefined {
	const stays = parts.filter(({ stayed, kind }) => stayed && TELLING_STAYS.includes(kind));
	return stays.sort((a, b) => b.value_ns - a.value_ns)[0];
}

const MAJORITY = 0.5;

/**
 * The largest first. Waits are told apart by what they are for, and CPU time is one: where it is less than half of
 * all, one of its functions has to be as large as a wait to come first.
 */
function ordered(reasons: Reason[], working_ns: number): Reason[] {
	const [first, second, ...rest] = reasons.sort((a, b) => b.total_ns - a.total_ns);
	if (!first || !second || first.place !== 'running') return reasons;
	const most_ns = first.functions[0]?.total_ns ?? 0;
	const isFirst = first.total_ns >= MAJORITY * working_ns || most_ns >= second.total_ns;
	return isFirst ? reasons : [second, first, ...rest];
}

function mostFollowed(
	parts: readonly Part[],
	isTraced: (key: Key) => boolean,
): Followed | undefined {
	const following = parts.filter(({ follows }) => follows);
	// Threads that are not traced may stand between.
	const followedName = ({ row }: Part) =>
		`${wakersOf(row).find(({ key }) => isTraced(key))?.key.comm}`;
	const [most] = grouped(following, (part) => [followedName(part)]).sort(
		(a, b) => sumOf(b) - sumOf(a),
	);
	const [first] = most ?? [];
	if (!most || !first) return undefined;
	const comm = followedName(first);
	const theirs = parts.filter(({ row }) => row.key.comm === comm);
	return {
		comm,
		servers: new Set(theirs.map(({ row }) => row.key.tid)).size,
		idle_ns: sumOf(theirs.filter(({ place }) => place === 'idle')),
		waiters: new Set(most.map(({ row }) => row.key.tid)).size,
		total_ns: sumOf(most),
		function: tellingFunction(first.row),
	};
}

/** The nearest first. */
function wakersOf({ waker }: Pick<Waker, 'waker'>): Waker[] {
	const wakers: Waker[] = [];
	for (let each = waker; each; each = each.waker) wakers.push(each);
	return wakers;
}

const sumOf = (parts: readonly Part[]) => parts.reduce((sum, { value_ns }) => sum + value_ns, 0);

/** Memory of the heap or a stack, which no name tells apart. */
const UNNAMED = /^(heap|stack|anonymous memory|\[anon.*|)$/;

/**
 * What it was for, without who has it now; '': it has no name. What there may be thousands of is one: children of a
 * name; condition variables of one array, or the two words of each.
 */
export function accountObject({ object, place, kind }: Part): string {
	if (!object || place === 'running' || place === 'runnable') return '';
	if (object.type === 'child') return `child ${object.comm}`;
	if (object.type === 'futex') {
		const { owner: _, ...whole } = object;
		const name = kind === 'condition' ? whole.in.replace(/\+0x[0-9a-f]+$/, '') : whole.in;
		const futex = { ...whole, in: name };
		return nameOf(object) ?? (UNNAMED.test(object.in) ? '' : objectText(futex));
	}
	return object.type === 'unknown' ? '' : objectText(object);
}

/** Where the object has no name, the program's function tells reasons apart. */
function reasonKey(part: Part): string[] {
	if (part.place === 'running') return [part.place];
	// Whether it was woken or preempted: it lacks a CPU.
	if (part.place === 'runnable') return [part.place, part.kind === 'CPU quota' ? part.kind : ''];
	const object = accountObject(part);
	return [part.place, part.kind, object, object === '' ? tellingFunction(part.row) : ''];
}

function grouped(parts: readonly Part[], keyOf: (part: Part) => readonly string[]): Part[][] {
	const groups = new Map<string, Part[]>();
	for (const part of parts) {
		const key = JSON.stringify(keyOf(part));
		const group = groups.get(key);
		if (group) group.push(part);
		else groups.set(key, [part]);
	}
	return [...groups.values()];
}

function placeOf(parts: readonly Part[]): Place {
	const [first] = parts as [Part];
	return {
		place: first.place,
		kind: first.kind,
		object: accountObject(first),
		follows: first.follows,
		total_ns: sumOf(parts),
		count: parts.reduce((sum, { count }) => sum + count, 0),
		error_ns: Math.sqrt(parts.reduce((sum, { variance }) => sum + variance, 0)),
		durations: durationsOf(new Set(parts.flatMap(({ durations }) => durations))),
	};
}

const unseenPlace = (total_ns: number): Place => ({
	...{ place: 'not seen', kind: '', object: '', follows: false, total_ns, count: 0, error_ns: 0 },
	durations: { p50: 0, p99: 0, max: 0 },
});

function reasonOf(parts: readonly Part[]): Reason {
	const [first] = parts as [Part];
	// Of a stack without the program's functions nobody can see where it is.
	const named = parts.filter(({ row }) => tellingFunction(row) !== '');
	const worst = (named.length > 0 ? named : parts).reduce((a, b) =>
		b.value_ns > a.value_ns ? b : a,
	);
	const place = placeOf(parts);
	const functions = new Map<string, number>();
	for (const { row, value_ns } of parts) {
		const name = tellingFunction(row);
		functions.set(name, (functions.get(name) ?? 0) + value_ns);
	}
	return {
		...place,
		place: first.place as Reason['place'],
		kind: first.place === 'running' ? 'on CPU' : worst.kind,
		of:
			parts.find(({ object }) => object?.type === 'futex' && object.owner)?.object ?? worst.object,
		worst,
		functions: largestFirst(functions).map(([name, total_ns]) => ({ name, total_ns })),
		culprits: culpritsOf(parts),
		threads: sufferersOf(parts),
		undecided_ns: sumOf(parts.filter(({ undecided }) => undecided)),
	};
}

function largestFirst<K>(sums: ReadonlyMap<K, number>): [K, number][] {
	return [...sums].sort((a, b) => b[1] - a[1]);
}

/** Who was waited for in the end, by the name of the thread; each with the costliest way to there. */
function culpritsOf(parts: readonly Part[]): Culprit[] {
	const byName = new Map<string, Map<string, Culprit & { readonly most_ns: number }>>();
	for (const { row, value_ns } of parts) {
		if (!row.waker) continue;
		const links = linksOf(row.waker);
		const { comm, did, kind, function: name } = links.at(-1) as Link;
		const ways = byName.get(comm) ?? new Map();
		byName.set(comm, ways);
		const key = JSON.stringify([did, kind, name]);
		const sum = ways.get(key) ?? { links, most_ns: 0, total_ns: 0 };
		const isWorst = value_ns > sum.most_ns;
		ways.set(key, {
			links: isWorst ? links : sum.links,
			most_ns: isWorst ? value_ns : sum.most_ns,
			total_ns: sum.total_ns + value_ns,
		});
	}
	const culprits = [...byName.values()].map((ways) => {
		const [first, ...others] = [...ways.values()].sort((a, b) => b.total_ns - a.total_ns);
		const total_ns = others.reduce((sum, way) => sum + way.total_ns, first?.total_ns ?? 0);
		return { links: first?.links ?? [], total_ns };
	});
	// Who waits still was ended by nobody: that names no one.
	const isNobody = ({ links }: Culprit) => links.at(-1)?.isNobody === true;
	return culprits.sort(
		(a, b) => Number(isNobody(a)) - Number(isNobody(b)) || b.total_ns - a.total_ns,
	);
}

/** Whose they are, by thread: the longest first. */
export function sufferersOf(parts: readonly Pick<Part, 'row' | 'value_ns'>[]): Sufferer[] {
	const threads = new Map<string, Sufferer>();
	for (const { row, value_ns } of parts) {
		const { pid, tid, comm } = row.key;
		const name = JSON.stringify([pid, tid]);
		const before = threads.get(name)?.total_ns ?? 0;
		threads.set(name, {
			pid: Number(pid ?? 0),
			tid: Number(tid ?? pid ?? 0),
			comm: `${comm ?? ''}`,
			total_ns: before + value_ns,
		});
	}
	return [...threads.values()].sort((a, b) => b.total_ns - a.total_ns);
}

/** Of waits that count for several: each bucket by its middle. */
function durationsOf(histograms: ReadonlySet<Histogram>): Durations {
	const all = new Histogram();
	for (const each of histograms) all.add(each);
	if (all.count === 0) return { p50: 0, p99: 0, max: 0 };
	const buckets = all.buckets();
	const at = (share: number) => {
		let left = share * all.count;
		const found = buckets.find(({ count }) => {
			left -= count;
			return left <= 0;
		});
		return Math.min(
			all.max_ns,
			Math.max(all.min_ns, middleOf((found ?? buckets.at(-1))?.bucket ?? 0)),
		);
	};
	return { p50: at(0.5), p99: at(0.99), max: all.max_ns };
}

/** The account of a window, and the reasons why threads did not get on. Pure values: no I/O, no kernel. */
import { largest } from '../../aggregate/largest.js';
import type { Key } from '../../aggregate/row-key.js';
import type { WaitObject } from '../../aggregate/wait-object.js';
import { type Link, linksOf, tellingFunction, wakersOf } from './chain.js';
import { type Evidence, isAmong } from './evidence.js';
import { type FullPool, fullPools } from './full-pool.js';
import { type Mutual, mutualWaits } from './mutual.js';
import type { Part, Parts } from './parts.js';
import { accountObject, grouped, type Place, placeOf, sumOf, unseenPlace } from './places.js';

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
interface Followed {
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
	readonly isThere: Evidence['isThere'];
	readonly lockHolders: Evidence['lockHolders'];
	readonly machine: Evidence['machine'];
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
	/** Threads that were in one wait all the time, which may be what is wrong; undefined: there are none. */
	readonly stays:
		| { readonly largest: Part; readonly threads: number; readonly total_ns: number }
		| undefined;
	/** See `Parts`. */
	readonly excess_ns: number;
	/** For which threads others wait most; undefined: for none. */
	readonly followed: Followed | undefined;
	/** Threads that waited for each other; undefined: there are none. */
	readonly mutual: Mutual | undefined;
	/** See `FullPool`. */
	readonly pools: readonly FullPool[];
	/** Threads by how long they were runnable or waiting, the longest first. */
	readonly sufferers: readonly Sufferer[];
}

/** `parts`: of the same evidence. */
export function answerOf(
	evidence: Evidence,
	{ parts, wall_ns, unseen_ns, excess_ns }: Parts,
): Answer {
	const idle_ns = sumOf(parts.filter(({ place }) => place === 'idle'));
	const following_ns = sumOf(parts.filter(({ follows }) => follows));
	const account = grouped(parts, (part) => [
		...[part.place, part.kind, accountObject(part)],
		`${part.follows}`,
	]).map(placeOf);
	const unseen = unseen_ns > 0 ? [unseenPlace(unseen_ns)] : [];
	const spread = spreadKinds(parts);
	const busy = parts.filter(({ place, follows }) => place !== 'idle' && !follows);
	// Not what the others leave: of what is left by rounding, shares are no numbers.
	const working_ns = sumOf(busy);
	return {
		target: evidence.target,
		isThere: evidence.isThere,
		lockHolders: evidence.lockHolders,
		machine: evidence.machine,
		window_ns: evidence.window_ns,
		threads: evidence.threads,
		wall_ns,
		idle_ns,
		working_ns,
		following_ns,
		unseen_ns,
		samples: evidence.samples.reduce((sum, { count }) => sum + count, 0),
		account: [...account, ...unseen].sort((a, b) => b.total_ns - a.total_ns),
		reasons: ordered(grouped(busy, (part) => reasonKey(part, spread)).map(reasonOf), working_ns),
		sufferers: sufferersOf(busy.filter(({ place }) => place !== 'running')),
		stays: staysOf(parts),
		mutual: mutualWaits(parts, ({ row }) => tellingFunction(row)),
		pools: fullPools(parts, evidence.threads, evidence.window_ns),
		excess_ns,
		followed: mostFollowed(parts, isAmong(evidence.threads)),
	};
}

/** Waits of all of the window in which something had been asked for: how many threads, and the largest. */
function staysOf(parts: readonly Part[]): Answer['stays'] {
	const stays = parts.filter(({ mayWork }) => mayWork).sort((a, b) => b.value_ns - a.value_ns);
	const [longest] = stays;
	return (
		longest && { largest: longest, threads: sufferersOf(stays).length, total_ns: sumOf(stays) }
	);
}

const MAJORITY = 0.5;

/** Of all files. */
export const isForDisk = ({ kind }: Pick<Reason, 'kind'>): boolean => /^disk\b/.test(kind);

/**
 * The largest first. Waits are told apart by what they are for, and CPU time is one: where it is less than half of
 * all, one of its functions has to be as large as a wait to come first. Files are on one disk, most often: where all
 * waits for it are more than anything else, the largest of these comes first.
 */
function ordered(reasons: Reason[], working_ns: number): Reason[] {
	const [first, second, ...rest] = reasons.sort((a, b) => b.total_ns - a.total_ns);
	if (!first || !second) return reasons;
	const forDisk = reasons.filter(isForDisk);
	const [file] = forDisk;
	if (file && file !== first && sumOfReasons(forDisk) > first.total_ns)
		return [file, ...reasons.filter((each) => each !== file)];
	if (first.place !== 'running') return reasons;
	const most_ns = first.functions[0]?.total_ns ?? 0;
	const isFirst = first.total_ns >= MAJORITY * working_ns || most_ns >= second.total_ns;
	return isFirst ? reasons : [second, first, ...rest];
}

/** In ns. */
export const sumOfReasons = (reasons: readonly Reason[]): number =>
	reasons.reduce((sum, { total_ns }) => sum + total_ns, 0);

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

/** Of one kind of waits: more different things, and none with half of the time, are no reason each. */
const FEW_OBJECTS = 3;

/** Others do not have the CPU: it may not run the thread, or sleeps. */
const OF_THE_CPU: ReadonlySet<string> = new Set(['CPU quota', 'CPU wake-up']);

/** Kinds of waits that were for many things. */
function spreadKinds(parts: readonly Part[]): Set<string> {
	const waiting = parts.filter(({ place }) => place === 'waiting');
	const isSpread = (of: readonly Part[]) => {
		const objects = grouped(of, (part) => [accountObject(part)]).map(sumOf);
		return objects.length > FEW_OBJECTS && largest(objects, 0) < MAJORITY * sumOf(of);
	};
	const kinds = grouped(waiting, ({ kind }) => [kind]).filter(isSpread);
	return new Set(kinds.map(([first]) => (first as Part).kind));
}

/** Where the object has no name, or is one of many, the program's function tells reasons apart. */
function reasonKey(part: Part, spread: ReadonlySet<string>): string[] {
	if (part.place === 'running') return [part.place];
	// Whether it was woken or preempted: it lacks a CPU.
	if (part.place === 'runnable') return [part.place, OF_THE_CPU.has(part.kind) ? part.kind : ''];
	const object = spread.has(part.kind) ? '' : accountObject(part);
	return [part.place, part.kind, object, object === '' ? tellingFunction(part.row) : ''];
}

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
	const objects = new Set(parts.map(accountObject));
	return {
		...place,
		object: objects.size > 1 ? '' : place.object,
		place: first.place as Reason['place'],
		kind: first.place === 'running' ? 'on CPU' : worst.kind,
		of: lockOf(parts) ?? worst.object,
		worst,
		functions: largestFirst(functions).map(([name, total_ns]) => ({ name, total_ns })),
		culprits: culpritsOf(parts),
		threads: sufferersOf(parts),
		undecided_ns: sumOf(parts.filter(({ undecided }) => undecided)),
	};
}

/** Of locks whose owner is known the one that was waited for the longest; what one owner has is one. */
function lockOf(parts: readonly Part[]): WaitObject | undefined {
	const owned = parts.filter(({ object }) => object?.type === 'futex' && object.owner);
	const byOwner = grouped(owned, ({ object }) => [
		object?.type === 'futex' ? `${object.owner?.tid}` : '',
	]);
	const [most] = byOwner.sort((a, b) => sumOf(b) - sumOf(a));
	return most?.[0]?.object;
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

/** Why threads did not get on: parts that are about the same thing. Pure values: no I/O, no kernel. */
import { largest } from '../../aggregate/largest.js';
import type { LockOwner, WaitObject } from '../../aggregate/wait-object.js';
import { type Link, linksOf, tellingFunction } from './chain.js';
import type { Part } from './parts.js';
import { accountObject, grouped, type Place, placeOf, sumOf } from './places.js';

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

/** Who has a lock; `function`: in which it is for most of its own time; '': in none, or it is not traced. */
export interface LockHolder extends LockOwner {
	readonly function: string;
	/** Of the time of these waits. Of a mutex it is known as tracing ended only: 1. */
	readonly share: number;
}

/** Parts that are about the same thing. */
export interface Reason extends Place {
	readonly place: 'running' | 'runnable' | 'waiting';
	readonly of: WaitObject | undefined;
	/** Of a lock: the thread that has it, as far as that is known. */
	readonly holder: LockHolder | undefined;
	/** The costliest part: its stack is shown. */
	readonly worst: Part;
	/** The program's functions, the costliest first. */
	readonly functions: readonly { readonly name: string; readonly total_ns: number }[];
	readonly culprits: readonly Culprit[];
	readonly threads: readonly Sufferer[];
	/** How much of it may as well be idle. */
	readonly undecided_ns: number;
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

/** The largest first. `parts`: all; `busy`: those that count as work, which are `working_ns` together. */
export function reasonsOf(
	parts: readonly Part[],
	busy: readonly Part[],
	working_ns: number,
): Reason[] {
	const spread = spreadKinds(parts);
	const reasons = grouped(busy, (part) => reasonKey(part, spread));
	return ordered(
		reasons.map((each) => reasonOf(each, busy)),
		working_ns,
	);
}

/** `busy`: all parts, of others, too. */
function reasonOf(parts: readonly Part[], busy: readonly Part[]): Reason {
	const [first] = parts as [Part];
	// Of a stack without the program's functions nobody can see where it is.
	const named = parts.filter(({ row }) => tellingFunction(row) !== '');
	const worst = (named.length > 0 ? named : parts).reduce((a, b) =>
		b.value_ns > a.value_ns ? b : a,
	);
	const place = placeOf(parts);
	const functions = functionsOf(parts);
	const objects = new Set(parts.map(accountObject));
	const lock = lockOf(parts);
	return {
		...place,
		object: objects.size > 1 ? '' : place.object,
		place: first.place as Reason['place'],
		kind: first.place === 'running' ? 'on CPU' : worst.kind,
		of: lock?.lock ?? worst.object,
		holder: lock && holderOf(lock, busy),
		worst,
		functions,
		culprits: culpritsOf(parts),
		threads: sufferersOf(parts),
		undecided_ns: sumOf(parts.filter(({ undecided }) => undecided)),
	};
}

type Futex = WaitObject & { readonly type: 'futex' };

/** Of locks whose owner is known the one that was waited for the longest; what one owner has is one. */
function lockOf(
	parts: readonly Part[],
): { readonly lock: Futex; readonly share: number } | undefined {
	const owned = parts.filter(({ object }) => object?.type === 'futex' && object.owner);
	const byOwner = grouped(owned, ({ object }) => [`${(object as Futex).owner?.tid}`]);
	const [most = []] = byOwner.sort((a, b) => sumOf(b) - sumOf(a));
	const [largest] = most.toSorted((a, b) => b.value_ns - a.value_ns);
	return largest && { lock: largest.object as Futex, share: sumOf(most) / sumOf(parts) };
}

/** The program's functions, the costliest first. */
function functionsOf(parts: readonly Part[]): Reason['functions'] {
	const sums = new Map<string, number>();
	for (const { row, value_ns } of parts) {
		const name = tellingFunction(row);
		sums.set(name, (sums.get(name) ?? 0) + value_ns);
	}
	return largestFirst(sums).map(([name, total_ns]) => ({ name, total_ns }));
}

/** But for its own waits for the same lock, which somebody else has then. */
function holderOf(
	{ lock: { owner, address, gil }, share }: { readonly lock: Futex; readonly share: number },
	busy: readonly Part[],
): LockHolder | undefined {
	if (!owner) return undefined;
	const isSame = (object: WaitObject | undefined) =>
		object?.type === 'futex' && object.address === address;
	const theirs = busy.filter(
		({ row, object }) => Number(row.key.tid) === owner.tid && !isSame(object),
	);
	const [most] = functionsOf(theirs);
	const isMost = most && most.total_ns >= MAJORITY * sumOf(theirs);
	// Of one that has ended, its own waits tell the name.
	const comm = owner.comm ?? theirs[0]?.row.key.comm;
	const named = comm === undefined ? owner : { ...owner, comm: `${comm}` };
	return { ...named, function: isMost ? most.name : '', share: gil ? share : 1 };
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

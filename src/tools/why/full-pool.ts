/** Threads that begin in the same function, and of which none was ever idle: if they are a pool, it is full. Pure values. */
import { functionOf } from '../../aggregate/application-frames.js';
import type { StackRow } from '../../aggregate/stack-rows.js';
import { isNamed } from '../../aggregate/summary-frames.js';
import { bareName } from '../../render/function-name.js';
import type { ThreadTime } from './evidence.js';
import type { Part } from './parts.js';

/** Of one process. */
export interface FullPool {
	readonly comm: string;
	/** The function that its threads begin in; '': it has no name. */
	readonly start: string;
	readonly tids: readonly number[];
}

/** One thread is no pool. */
const LEAST_THREADS = 2;
/** Of the window: who had work for so much of it had work all the time. */
const LEAST_BUSY_SHARE = 0.98;
/** Of the window: so much are waits for something outside of the process, of which more can be asked for at once. */
const LEAST_OUTSIDE_SHARE = 0.5;
/** Where other threads of its own, or time, are waited for, more threads finish no sooner. */
const OUTSIDE: ReadonlySet<string> = new Set([
	'disk read',
	'disk write',
	'disk',
	'page fault',
	'file server',
	'socket receive',
	'socket send',
	'socket connect',
	'unix socket',
	'pipe',
	'poll',
	'io_uring',
]);

interface Work {
	readonly start: string;
	readonly busy_ns: number;
	readonly outside_ns: number;
}

/** A process's first thread is in none. Of a thread whose first function is not known nobody knows in which it is. */
export function fullPools(
	parts: readonly Part[],
	threads: readonly ThreadTime[],
	window_ns: number,
): FullPool[] {
	const works = worksOf(parts);
	const workOf = ({ pid, tid }: ThreadTime) => works.get(`${pid} ${tid}`);
	const keyOf = ({ pid, comm }: ThreadTime, start: string) => JSON.stringify([pid, comm, start]);
	const groups = new Map<string, { start: string; members: ThreadTime[] }>();
	for (const thread of threads.filter(({ pid, tid }) => pid !== tid)) {
		const start = workOf(thread)?.start ?? '';
		const key = keyOf(thread, start);
		const group = groups.get(key) ?? { start, members: [] };
		groups.set(key, group);
		group.members.push(thread);
	}
	const isFull = (thread: ThreadTime) => {
		const { busy_ns = 0, outside_ns = 0 } = workOf(thread) ?? {};
		return busy_ns >= LEAST_BUSY_SHARE * window_ns && outside_ns >= LEAST_OUTSIDE_SHARE * window_ns;
	};
	return [...groups.values()].flatMap(({ start, members }): FullPool[] => {
		const [first] = members as [ThreadTime];
		const unknown = groups.get(keyOf(first, ''))?.members ?? [];
		if (members.length < LEAST_THREADS || ![...members, ...unknown].every(isFull)) return [];
		const name = isNamed({ name: start }) ? bareName(start) : '';
		return [{ comm: first.comm, start: name, tids: members.map(({ tid }) => tid) }];
	});
}

/** By thread. What may be idle is no work, and what was not seen is none either. */
function worksOf(parts: readonly Part[]): Map<string, Work> {
	const works = new Map<string, Work>();
	for (const { row, place, kind, follows, undecided, value_ns } of parts) {
		const name = `${row.key.pid} ${row.key.tid}`;
		const sum = works.get(name) ?? { start: '', busy_ns: 0, outside_ns: 0 };
		const isBusy = place !== 'idle' && !follows && !undecided;
		const isOutside = isBusy && place === 'waiting' && OUTSIDE.has(kind);
		works.set(name, {
			start: sum.start || startOf(row),
			busy_ns: sum.busy_ns + (isBusy ? value_ns : 0),
			outside_ns: sum.outside_ns + (isOutside ? value_ns : 0),
		});
	}
	return works;
}

/** The program's first function, by name or address; '': not known, as the stack does not reach the C library, which calls it. */
function startOf({ frames }: StackRow): string {
	const user = frames.filter(({ kind }) => kind !== 'kernel');
	if (!user[0]?.inCLibrary) return '';
	const first = user.find(({ inCLibrary }) => !inCLibrary);
	return first ? functionOf(first) : '';
}

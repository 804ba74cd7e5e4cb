/** Threads of one process that wait for each other, as for a pool or a queue that is too small. Pure values. */
import type { Part } from './parts.js';
import { sumOf } from './places.js';

/** How long they did, together, and in which function most. */
export interface Mutual {
	readonly waiters: number;
	readonly total_ns: number;
	readonly function: string;
}

/** What a thread waits in for another one of its process. */
const BETWEEN_THREADS: ReadonlySet<string> = new Set(['condition', 'futex', 'IPC']);

/**
 * Waits for threads that wait in the same way themselves, now and then; undefined: there are none. Who only hands out
 * work, or only takes it, is not among them. `nameOf`: of the function that a part is in.
 */
export function mutualWaits(
	parts: readonly Part[],
	nameOf: (part: Part) => string,
): Mutual | undefined {
	const following = parts.filter(({ follows, kind }) => follows && BETWEEN_THREADS.has(kind));
	const waiters = new Set(following.map(({ row }) => `${row.key.pid} ${row.key.tid}`));
	const mutual = following.filter(({ row }) => {
		const { pid, tid } = row.waker?.key ?? {};
		return pid === row.key.pid && tid !== row.key.tid && waiters.has(`${pid} ${tid}`);
	});
	const [worst] = [...mutual].sort((a, b) => b.value_ns - a.value_ns);
	if (!worst) return undefined;
	return {
		waiters: new Set(mutual.map(({ row }) => row.key.tid)).size,
		total_ns: sumOf(mutual),
		function: nameOf(worst),
	};
}

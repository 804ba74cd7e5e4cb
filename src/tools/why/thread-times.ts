/** What threads did within the window, by their accounts. Pure values: no I/O. */
import type { ThreadTime } from './evidence.js';
import type { ThreadAccount } from './thread-accounts.js';

/** Between two accounts of a thread; undefined: since it was born. */
export const ranSince = (
	before: Pick<ThreadAccount, 'run_ns'> | undefined,
	last: Pick<ThreadAccount, 'run_ns'>,
): number => Math.max(0, last.run_ns - (before?.run_ns ?? 0));

/**
 * What a thread did within a window, by its account as the window began (undefined: it was not there) and the last
 * one; undefined: nothing. Threads are asked one after the other, which takes a while where there are many: what one
 * ran between two accounts counts for the part of that time that is in the window.
 */
export function timeWithin(
	window: { readonly begin_ns: number; readonly end_ns: number },
	before: Pick<ThreadAccount, 'at_ns' | 'run_ns'> | undefined,
	last: ThreadAccount,
): ThreadTime | undefined {
	const from_ns = Math.max(last.born_ns, window.begin_ns);
	const life_ns = Math.min(last.at_ns, window.end_ns) - from_ns;
	if (life_ns <= 0) return undefined;
	const known_ns = last.at_ns - (before?.at_ns ?? last.born_ns);
	const share = known_ns > 0 ? life_ns / known_ns : 1;
	const run_ns = Math.min(life_ns, ranSince(before, last) * share);
	return { pid: last.pid, tid: last.tid, comm: last.comm, life_ns, run_ns };
}

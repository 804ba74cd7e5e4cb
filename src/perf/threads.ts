/** The threads of processes. Source: man 5 proc. */
import { threadIds } from '../proc/threads.js';

/** The threads there are now: those chosen, and all of each process chosen that is there. */
export function threadsOf({
	pids = [],
	tids = [],
}: {
	readonly pids?: readonly number[];
	readonly tids?: readonly number[];
}): number[] {
	return [...new Set([...tids, ...pids.flatMap(threadIds)])];
}

/** The threads of processes. Source: man 5 proc. */
import { readdirSync } from 'node:fs';

/** The threads there are now: those chosen, and all of each process chosen that is there. */
export function threadsOf({
	pids = [],
	tids = [],
}: {
	readonly pids?: readonly number[];
	readonly tids?: readonly number[];
}): number[] {
	return [...new Set([...tids, ...pids.flatMap(threadsOfProcess)])];
}

function threadsOfProcess(pid: number): number[] {
	try {
		return readdirSync(`/proc/${pid}/task`).map(Number);
	} catch {
		return []; // it has ended
	}
}

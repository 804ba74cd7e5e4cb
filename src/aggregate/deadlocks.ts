/** Threads that wait for each other's mutexes, in a circle. Pure values: no I/O, no kernel. */

export interface WaitingForMutex {
	readonly tid: number;
	readonly comm: string;
	/** The thread that has the mutex. */
	readonly owner: number;
}

/** Each circle once, each thread waiting for the mutex that the next one has, and the last one for the first one's. */
export function deadlocks(waiting: readonly WaitingForMutex[]): WaitingForMutex[][] {
	const byTid = new Map(waiting.map((each) => [each.tid, each]));
	const seen = new Set<number>();
	const circles: WaitingForMutex[][] = [];
	for (const first of waiting) {
		const path: WaitingForMutex[] = [];
		let each: WaitingForMutex | undefined = first;
		for (; each && !seen.has(each.tid); each = byTid.get(each.owner)) {
			seen.add(each.tid);
			path.push(each);
		}
		const start = each ? path.indexOf(each) : -1;
		if (start >= 0) circles.push(path.slice(start));
	}
	return circles;
}

/** Sleeps that are nobody's trouble. Pure values: no I/O, no kernel. */
import type { StackRow, Waker } from '../../aggregate/stack-rows.js';
import type { WaitObject } from '../../aggregate/wait-object.js';
import { wakersOf } from './chain.js';
import type { Evidence } from './evidence.js';
import { kindOf } from './idle.js';

/** What of a wait tells. */
interface Wait {
	readonly place: string;
	readonly kind: string;
	readonly object: WaitObject | undefined;
	readonly row: StackRow;
}

/**
 * Tells who only rests in a sleep, for the whole machine: many programs sleep between two rounds of what they do, and
 * `sleep` in a script does so all its life. A thread does not rest if another one waited until it had slept, or waits for
 * a lock that it holds; but that its parent waits for its end does not count.
 */
export function whoRests(
	waits: readonly Wait[],
	lockHolders: Evidence['lockHolders'],
): (wait: Wait) => boolean {
	const threads = new Set<number>();
	const processes = new Set<number>();
	for (const { place, kind, object, row } of waits) {
		if (place !== 'waiting' || kind === 'child') continue;
		for (const waker of wakersOf(row).filter(hasSlept)) threads.add(Number(waker.key.tid));
		// Who sleeps has given its GIL up.
		if (object?.type === 'futex' && object.owner && !object.gil) threads.add(object.owner.tid);
		const holder = kind === 'file lock' && lockHolders.get(Number(row.key.pid));
		if (holder) processes.add(holder.pid);
	}
	return ({ place, kind, row }) => {
		const { pid, tid } = row.key;
		const isAwaited = threads.has(Number(tid)) || processes.has(Number(pid));
		return place === 'waiting' && kind === 'sleep' && !isAwaited;
	};
}

function hasSlept({ did, frames, objects }: Waker): boolean {
	return did === 'was blocked' && kindOf(frames, objects?.[0]?.object) === 'sleep';
}

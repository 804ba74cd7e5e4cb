/** Threads that had nothing to do, told by how they waited. Pure values: no I/O, no kernel. */
import type { LeftOut, StackRow } from './stack-rows.js';
import { waitsForWork } from './summary-frames.js';
import { blockedOf, isBlocked } from './wait-parts.js';

/** A thread that was off the CPU, and waited for work, for that share of the time is idle. */
const IDLE_SHARE = 0.99;

/** What is known of a run, beside its stacks. */
interface IdleOptions {
	readonly duration_ns: number;
	/** Threads, by number, that were blocked in one wait from the beginning to the end. */
	readonly stayed: ReadonlySet<number>;
}

/**
 * Whether an open wait, by part, has lasted for `duration_ns` or longer, and its thread could not run in all that time.
 * Who had no CPU, or no quota for one, is anything but idle.
 */
export function isBlockedSince(parts: readonly number[], duration_ns: number): boolean {
	return blockedOf({ parts }) >= duration_ns && isBlocked({ parts });
}

/**
 * Leaves out the rows of idle threads; the rows' keys say which thread each is of. A thread is idle if it
 * was blocked in one wait all the time, whatever that was, or if for 99 % of the time it was in
 * waits for work or for time: see summary-frames.ts.
 */
export function withoutIdle(
	rows: readonly StackRow[],
	{ duration_ns, stayed }: IdleOptions,
): { stacks: StackRow[]; leftOut: LeftOut[] } {
	const forWork_ns = new Map<number, number>();
	for (const { key, frames, value } of rows) {
		if (!waitsForWork(frames)) continue;
		const tid = Number(key.tid);
		forWork_ns.set(tid, (forWork_ns.get(tid) ?? 0) + value);
	}
	const isIdle = (tid: number) =>
		stayed.has(tid) || (forWork_ns.get(tid) ?? 0) >= IDLE_SHARE * duration_ns;
	const stacks: StackRow[] = [];
	const idle: StackRow[] = [];
	// What is nobody's, as there was no room, is no thread's.
	for (const row of rows) (row.key.tid && isIdle(Number(row.key.tid)) ? idle : stacks).push(row);
	const threads = new Set(idle.map(({ key }) => key.tid)).size;
	return { stacks, leftOut: [{ by: 'idle', rows: idle, threads }] };
}

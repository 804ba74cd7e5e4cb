/** All of the window as stacks in ns, on and off the CPU in one picture: where a thread is, is the root. */
import { type StackRow, withKnown } from '../../aggregate/stack-rows.js';
import type { Part, Parts } from './parts.js';

/** One row for each part, apart by its place and kind. The largest first. */
export function windowRows({ parts }: Parts): StackRow[] {
	return parts.map(rowOf).sort((a, b) => b.value - a.value);
}

function rowOf({ place, kind, value_ns, count, variance, row }: Part): StackRow {
	const { cut, callerMissing, waker, objects, frames } = row;
	const key = { place, kind, ...row.key };
	const shown = { key, frames, parts: [value_ns], value: value_ns, count, variance };
	return withKnown(shown, { cut, callerMissing, waker, objects });
}

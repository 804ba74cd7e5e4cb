/** Stacks without what a runtime does to run functions of its language. Pure values: no I/O. */
import { type Frame, isOfLanguage } from './stack.js';
import type { StackRow, Waker } from './stack-rows.js';

/** Of user frames only those of the language, where a stack has any; its wakers', too. */
export function languageFrames(row: StackRow): StackRow {
	return { ...row, ...ofLanguage(row) };
}

interface Walked {
	readonly frames: readonly Frame[];
	readonly walked?: readonly Frame[];
	readonly waker?: Waker;
}

function ofLanguage({ frames, waker }: Walked): Partial<Walked> {
	const woken = waker && { waker: { ...waker, ...ofLanguage(waker) } };
	if (!frames.some(isOfLanguage)) return { ...woken };
	const kept = frames.filter((frame) => isOfLanguage(frame) || frame.kind === 'kernel');
	return { ...woken, frames: kept, walked: frames };
}

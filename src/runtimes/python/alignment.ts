/** Which C frame each Python function of a stack belongs to, where the interpreter does not say so. Pure values. */
import type { PythonLayout } from './layout.js';

/** The innermost C frame of the interpreter's, if it begins or ends, is the leaf, or has called the leaf. */
const MAX_LEAF = 1;

/** Whether walks may give functions to other frames than theirs. */
export const goesByLoop = ({ segments, recordPrevious }: PythonLayout): boolean =>
	segments === 'one frame each' && recordPrevious === undefined;

/**
 * Python 3.9 puts a function into its list some instructions after the function's C frame began, and takes it out some
 * before that ends. A walk in between finds one function less than C frames: it gives each the function of the one
 * further out, and the outermost none. This puts them right. The innermost has none then: it runs none.
 *
 * `offsets`: of the stack's frames, where their code is in the file that CPython is in; leaf first.
 * `functions`: by the number of the frame that a walk gave them to.
 */
export function inTheirFrames<T>(
	layout: PythonLayout,
	offsets: readonly number[],
	functions: ReadonlyMap<number, T>,
): ReadonlyMap<number, T> {
	if (!goesByLoop(layout)) return functions;
	const { evalStart, evalEnd } = layout;
	const loops = [...offsets.keys()].filter((i) => {
		const offset = offsets[i] as number;
		return offset >= evalStart && offset < evalEnd;
	});
	const [innermost = 0, ...others] = loops;
	const inner = loops.slice(0, -1).map((loop) => functions.get(loop));
	// A stack that ends in the loop was cut there.
	const isCut = loops.at(-1) === offsets.length - 1;
	if (isCut || innermost > MAX_LEAF || functions.size !== others.length) return functions;
	const moved = new Map<number, T>();
	for (const [i, loop] of others.entries()) {
		const function_ = inner[i];
		if (function_ === undefined) return functions;
		moved.set(loop, function_);
	}
	return moved;
}

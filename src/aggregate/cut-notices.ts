/** What to say of stacks that are not whole. Pure values: no I/O, no kernel. */
import { type StackRow, totalOf } from './stack-rows.js';

/** What is smaller is not worth a line. */
export const MIN_SHARE = 0.01;

/** How much of what was counted is in stacks that are cut: from 0 to 1. */
export function cutShare(stacks: readonly StackRow[]): number {
	return shareOf(stacks, ({ cut }) => cut !== undefined);
}

/** A line for each thing that stacks lack, with how many of those shown lack it. */
export function cutNotices(stacks: readonly StackRow[]): string[] {
	const told = (lacks: (row: StackRow) => boolean, text: (some: string) => string): string[] => {
		const share = shareOf(stacks, lacks);
		const count = stacks.filter(lacks).length;
		if (count === 0 || share < MIN_SHARE) return [];
		return [text(`${count} of ${stacks.length} stacks (${percent(share)} of what is shown)`)];
	};
	return [
		...told(
			({ cut }) => cut === 'no frame pointers',
			(some) =>
				`${some} are cut: they do not reach the thread's first function, because some code, often a ` +
				"distribution's library, has no frame pointers (-fno-omit-frame-pointer).",
		),
		...told(
			({ cut }) => cut === 'no table',
			(some) =>
				`${some} are cut: tstrace met a file for the first time, and had not read yet which function calls ` +
				'which there. Later stacks are whole; with -p it reads files before it begins, for at most 2 s.',
		),
		...told(
			({ cut }) => cut === 'no way on',
			(some) =>
				`${some} are cut: tstrace did not find which function called the last one that is shown.`,
		),
		...told(
			({ cut }) => cut === 'too deep',
			(some) => `${some} are cut: they have more frames than --max-depth.`,
		),
		...told(
			({ callerMissing }) => callerMissing === true,
			(some) =>
				`${some} lack the function that called the C library, because that library has no frame ` +
				'pointers.',
		),
	];
}

function shareOf(stacks: readonly StackRow[], lacks: (row: StackRow) => boolean): number {
	const total = totalOf({ stacks, parts: [] }).value;
	const { value } = totalOf({ stacks: stacks.filter(lacks), parts: [] });
	return total > 0 ? value / total : 0;
}

function percent(share: number): string {
	return share > 0.99 && share < 1 ? '>99%' : `${Math.round(100 * share)}%`;
}

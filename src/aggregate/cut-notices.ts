/** What to say of stacks that are not whole. Pure values: no I/O, no kernel. */
import type { StackRow } from './stack-rows.js';

/** What is smaller is not worth a line. */
export const MIN_SHARE = 0.01;

/** How much of what was counted is in stacks that are cut: from 0 to 1. */
export function cutShare(stacks: readonly StackRow[]): number {
	return shareOf(
		stacks.filter(({ cut }) => cut !== undefined),
		stacks,
	);
}

/** A line for each thing that stacks lack, with how many of those shown lack it. */
export function cutNotices(stacks: readonly StackRow[]): string[] {
	const told = (lacks: (row: StackRow) => boolean, text: (some: string) => string): string[] => {
		const lacking = stacks.filter(lacks);
		const share = shareOf(lacking, stacks);
		if (lacking.length === 0 || share < MIN_SHARE) return [];
		const some = `${lacking.length} of ${stacks.length}`;
		return [text(`${some} stacks (${percent(share)} of what is shown)`)];
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
				'which there. Once it has, stacks are whole; with -p it reads files before it begins, for at most 2 s.',
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

function shareOf(some: readonly StackRow[], all: readonly StackRow[]): number {
	const total = sumOf(all);
	return total > 0 ? sumOf(some) / total : 0;
}

function sumOf(rows: readonly StackRow[]): number {
	return rows.reduce((sum, { value }) => sum + value, 0);
}

function percent(share: number): string {
	return share > 0.99 && share < 1 ? '>99%' : `${Math.round(100 * share)}%`;
}

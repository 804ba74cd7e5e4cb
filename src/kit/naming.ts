/** From addresses to rows: names for stacks, and notices about what could not be named. */

import type { Key } from '../aggregate/report.js';
import { mergeStacks, type StackRow } from '../aggregate/stacks.js';
import { noticeText } from '../symbolize/notices.js';
import type { ProcessHistory } from '../symbolize/processes.js';
import type { Frame, NamedStack, RawStack } from '../symbolize/stack.js';
import { Symbolizer } from '../symbolize/symbolizer.js';
import type { OwnedStack } from './stacks.js';

/** A stack of somebody with what was counted there. */
export interface CountedStack extends OwnedStack {
	/** CLOCK_MONOTONIC */
	readonly at_ns: number;
	readonly parts: readonly number[];
	readonly count: number;
	readonly variance: number;
}

const LOST: Frame = { name: '[stack lost]', kind: 'user' };

/** Names all stacks and adds up those that read the same. */
export async function nameStacks(
	stacks: readonly CountedStack[],
	history: ProcessHistory,
): Promise<{ rows: StackRow[]; notices: string[] }> {
	const symbolizer = new Symbolizer(history);
	const named = await symbolizer.resolve(stacks.map(rawStack));
	const rows = function* (): Generator<StackRow> {
		for (const [index, stack] of stacks.entries()) {
			const { parts, count, variance } = stack;
			const frames = framesOf(stack, named[index]);
			yield { key: keyOf(stack), frames, parts, value: totalValue(stack), count, variance };
		}
	};
	return { rows: mergeStacks(rows()), notices: symbolizer.notices().map(noticeText) };
}

/** Root first. */
function framesOf(stack: CountedStack, named: NamedStack | undefined): Frame[] {
	const frames: Frame[] = [...(named?.kernel ?? [])];
	// In between: at the root if the user's are lost, at the leaf if the kernel's are.
	if (stack.lost) frames.push(LOST);
	frames.push(...(named?.user ?? []));
	return frames.reverse();
}

function rawStack(stack: CountedStack): RawStack {
	const { pid, at_ns, kernel, user } = stack;
	return { pid, at_ns, kernel, user, value: totalValue(stack) };
}

function totalValue({ parts }: CountedStack): number {
	return parts.reduce((sum, part) => sum + part, 0);
}

function keyOf({ pid, tid, comm }: OwnedStack): Key {
	if (pid === 0 && comm === '') return { comm: '[others]' };
	return { pid, ...(tid ? { tid } : {}), comm };
}

/** From addresses to rows: names for stacks, and notices about what could not be named. */

import type { Key } from '../aggregate/report.js';
import { mergeStacks, type StackRow } from '../aggregate/stacks.js';
import { noticeText } from '../symbolize/notices.js';
import type { ProcessHistory } from '../symbolize/processes.js';
import type { Frame, RawStack } from '../symbolize/stack.js';
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

/** Names all stacks and adds up those that read the same; see Symbolizer for `kernelLeaf`. */
export async function nameStacks(
	stacks: readonly CountedStack[],
	history: ProcessHistory,
	kernelLeaf: 'sampled' | 'called',
): Promise<{ rows: StackRow[]; notices: string[] }> {
	const symbolizer = new Symbolizer(history, { kernelLeaf });
	const named = await symbolizer.resolve(stacks.map(rawStack));
	const rows = stacks.map((stack, index): StackRow => {
		const { kernel = [], user = [] } = named[index] ?? {};
		// In between: at the root if the user's are lost, at the leaf if the kernel's are.
		const lost = stack.lost ? [LOST] : [];
		const frames = [...[...user].reverse(), ...lost, ...[...kernel].reverse()];
		const { parts, count, variance } = stack;
		return { key: keyOf(stack), frames, parts, value: totalValue(stack), count, variance };
	});
	return { rows: mergeStacks(rows), notices: symbolizer.notices().map(noticeText) };
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

/** wakeuptime: who wakes threads, where, and how long these were blocked. */

import { shownStacks } from '../aggregate/keep-stacks.js';
import { mergeStacks, type StackFindings, type StackRow } from '../aggregate/stack-rows.js';
import { stackText } from '../render/stack-text.js';
import { defineTool } from '../tool.js';
import { endedBlockedTime } from '../waits/blocked.js';

export const wakeuptime = defineTool({
	...endedBlockedTime,
	name: 'wakeuptime',
	summary: 'who wakes threads, and how long these were blocked',
	description:
		'Shows the stacks of those who wake threads: other threads, or interrupts (disk, network, timer). ' +
		'The time is how long the woken threads were blocked.',
	examples: [
		['tstrace wakeuptime -p 1234 5', 'who wakes the threads of a process'],
		['tstrace wakeuptime --min 10ms 10', 'who ends long waits, on the whole machine'],
	],
	stackTool: {
		use: 'to draw',
		title: 'Wakeup Flame Graph',
		palette: 'io',
		pprofType: 'blocked',
		folded: { unit: 'us', divisor: 1000 },
	},

	text(settings) {
		const text = stackText(settings, { verb: 'blocked' });
		return {
			none: 'no waits were seen',
			...text,
			shown(findings, json) {
				return shownStacks(byWaker(findings), settings, json);
			},
		};
	},
});

/** The wakers' stacks, each with whom it woke at its leaf. */
function byWaker(findings: StackFindings): StackFindings {
	const stacks = findings.stacks.map((row): StackRow => {
		const { waker, cut: _, callerMissing: __, ...rest } = row;
		if (!waker) return row;
		const woken = { name: `wakes ${row.key.comm ?? ''}`, kind: 'kernel' } as const;
		const { frames, key, cut, callerMissing } = waker;
		const missing = { ...(cut ? { cut } : {}), ...(callerMissing ? { callerMissing } : {}) };
		return { ...rest, ...missing, key, frames: [...frames, woken] };
	});
	return { ...findings, stacks: mergeStacks(stacks) };
}

/** What stacks are of, where they do not say it. */
import type { StackProfile } from '../aggregate/stack-profile.js';
import type { Notify } from '../input/reader.js';

/** Where threads leave the CPU: kernel/sched/core.c, and what waits by way of it. */
const LEAVES_CPU = /^(__schedule|schedule|io_schedule|preempt_schedule|finish_task_switch)(_|\.|$)/;
/** Running threads are hardly ever there. */
const MOST = 0.8;

/**
 * Folded stacks say neither what was counted nor in which unit. Those that end in the scheduler are of
 * threads off the CPU, and offcputime, of tstrace and of bcc, counts microseconds.
 */
export function withGuessedOrigin(profile: StackProfile, notify: Notify): StackProfile {
	const { frames, stacks, origin } = profile;
	if (origin.tool !== undefined || origin.event !== undefined || origin.unit !== undefined) {
		return profile;
	}
	const leaves = Array.from({ length: frames.size }, (_, i) => LEAVES_CPU.test(frames.name(i)));
	let total = 0;
	let offCpu = 0;
	for (const [stack, value] of stacks.values().entries()) {
		total += value;
		if (leaves[stacks.frameAt(stack, stacks.depth(stack) - 1)]) offCpu += value;
	}
	if (total === 0 || offCpu / total < MOST) return profile;
	notify(
		'taken for off-CPU time in us, since the stacks end in the scheduler; else say --title, ' +
			'--colors and --countname',
	);
	return { ...profile, origin: { tool: 'offcputime', unit: 'us' } };
}

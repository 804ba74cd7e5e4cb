/** Choosing stacks by their frames. */
import { InvalidArgumentError, Option } from 'commander';
import type { StackProfile } from '../aggregate/stack-profile.js';
import { StackTable } from '../aggregate/stack-table.js';

/** An option whose value is a regular expression. */
export function patternOption(flags: string, description: string): Option {
	return new Option(flags, description).argParser((text) => {
		try {
			return new RegExp(text, 'u');
		} catch {
			throw new InvalidArgumentError('give a regular expression, such as ^tcp_|^ip_');
		}
	});
}

/** The stacks with a frame that matches `grep`, and without one that matches `exclude`. */
export function keepStacks(
	profile: StackProfile,
	{ grep, exclude }: { grep: RegExp | undefined; exclude: RegExp | undefined },
): StackProfile {
	if (!grep && !exclude) return profile;
	const { frames } = profile;
	const names = Array.from({ length: frames.size }, (_, frame) => frames.name(frame));
	const wanted = names.map((name) => grep?.test(name) ?? true);
	const unwanted = names.map((name) => exclude?.test(name) ?? false);
	const kept = new StackTable();
	for (const [stack, value] of profile.stacks.values().entries()) {
		const path = profile.stacks.frames(stack);
		if (!path.some((frame) => wanted[frame]) || path.some((frame) => unwanted[frame])) continue;
		kept.add(path, path.length, value);
	}
	return { ...profile, stacks: kept };
}

/** Choosing stacks by their frames. */
import { InvalidArgumentError } from 'commander';
import { typedPattern } from '../aggregate/pattern.js';
import type { StackProfile } from '../aggregate/stack-profile.js';
import { StackTable } from '../aggregate/stack-table.js';
import { parsed } from './typed-option.js';

/** Which stacks are kept; capitals in patterns matter if there are any. */
export function stackFilterOptions() {
	return {
		grep: parsed('--grep <pattern>', 'only stacks with a frame that matches', pattern),
		exclude: parsed('--exclude <pattern>', 'leave out stacks with a frame that matches', pattern),
	};
}

function pattern(text: string): RegExp {
	try {
		return typedPattern(text);
	} catch {
		throw new InvalidArgumentError('give a regular expression, such as ^tcp_|^ip_');
	}
}

/** What `stackFilterOptions` say. */
export interface StackFilter {
	readonly grep: RegExp | undefined;
	readonly exclude: RegExp | undefined;
}

/** As a run's result says it. */
export function filtersOf({ grep, exclude }: StackFilter): Record<string, string[]> {
	return {
		...(grep ? { grep: [`/${grep.source}/`] } : {}),
		...(exclude ? { exclude: [`/${exclude.source}/`] } : {}),
	};
}

/** In words, for a title: "only /tcp_/, without /idle/"; '' where all are kept. */
export function filterText({ grep, exclude }: StackFilter): string {
	const parts = [
		...(grep ? [`only /${grep.source}/`] : []),
		...(exclude ? [`without /${exclude.source}/`] : []),
	];
	return parts.join(', ');
}

/** The stacks with a frame that matches `grep`, and without one that matches `exclude`. */
export function keepStacks(profile: StackProfile, { grep, exclude }: StackFilter): StackProfile {
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

/** Which stacks are kept: the options, and what results and titles say of them. */
import { InvalidArgumentError } from 'commander';
import type { StackFilter } from '../aggregate/keep-stacks.js';
import { typedPattern } from '../aggregate/pattern.js';
import { parsed } from './typed-option.js';

/** Which stacks are kept; capitals in patterns matter if there are any. */
export function stackFilterOptions() {
	return {
		grep: parsed(
			'--grep <pattern>',
			'only stacks with a name that matches: of a function, the thread, or its waker',
			pattern,
		),
		exclude: parsed('--exclude <pattern>', 'leave out stacks with a name that matches', pattern),
	};
}

function pattern(text: string): RegExp {
	try {
		return typedPattern(text);
	} catch {
		throw new InvalidArgumentError('give a regular expression, such as ^tcp_|^ip_');
	}
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

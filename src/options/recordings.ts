/** Which recordings are read, and how. */
import { isatty } from 'node:tty';
import { UsageError } from '../errors.js';
import type { ReadOptions } from '../input/format-reader.js';
import { STANDARD_INPUT } from '../input/read-files.js';
import { textOption, type ValuesOf } from './typed-option.js';

const STDIN = 0;

/** How stacks are read, where the options say nothing. */
export const PLAIN_READING: ReadOptions = {
	identify: 'none',
	addresses: false,
	inline: false,
	event: undefined,
};

/** Which event is shown of several. */
export function eventOptions() {
	return {
		event: textOption('-e, --event <event>', 'use only this event, if the input has several'),
		eventFilter: textOption(
			'--event-filter <event>',
			'the same as --event (as in stackcollapse-perf.pl)',
		).conflicts('event'),
	};
}

/** What `eventOptions` say. */
export function chosenEventName({
	event,
	eventFilter,
}: ValuesOf<ReturnType<typeof eventOptions>>): string | undefined {
	return event ?? eventFilter;
}

/** The files to read; standard input if none are named. Throws UsageError where nothing is piped in. */
export function inputsOf(files: readonly string[]): readonly string[] {
	const paths = files.length === 0 ? [STANDARD_INPUT] : files;
	if (paths.includes(STANDARD_INPUT) && isatty(STDIN)) {
		throw new UsageError('standard input is a terminal; name a FILE, or pipe a recording into it');
	}
	return paths;
}

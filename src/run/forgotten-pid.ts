/** A process's number where a duration is expected: -p was forgotten. */
import { commOf } from '../proc/threads.js';

/** Shorter ones are more often meant than not. */
const LEAST_S = 300;

/**
 * What to say of a plain number that is both a long time and a process that lives: "31960 is a time here, 9 hours; …";
 * undefined: it is not. `words` are the command line's, `nameOf` tells a process's name.
 */
export function forgottenPid(
	seconds: number | undefined,
	words: readonly string[],
	nameOf: (pid: number) => string | undefined = commOf,
): string | undefined {
	if (seconds === undefined || seconds < LEAST_S || !words.includes(`${seconds}`)) return undefined;
	const comm = nameOf(seconds);
	if (comm === undefined) return undefined;
	const [long, unit] = seconds < 7200 ? [seconds / 60, 'minutes'] : [seconds / 3600, 'hours'];
	return `${seconds} is a time here, ${Math.round(long)} ${unit}; for process ${seconds} (${comm}): -p ${seconds}`;
}

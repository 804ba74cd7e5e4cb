/** Values of options: each parser names what is valid, and throws InvalidArgumentError. */
import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { compileGlobs, isGlob } from '../bpf/glob.js';
import { DURATION_EXAMPLES, durationOf, type PlainUnit } from './durations.js';
import { flag, parsedOr, TypedOption } from './typed-option.js';

/** A year; "until Ctrl-C" is the absence of an interval, not a large one. */
const MAX_SECONDS = 365 * 86_400;
const MIN_SECONDS = 0.01;
/** include/linux/threads.h, PID_MAX_LIMIT */
const MAX_PID = 4_194_304;
const MAX_CPU = 8191;

function number(text: string): number {
	return /^[+-]?(\d+\.?\d*|\.\d+)(e\d+)?$/i.test(text.trim()) ? Number(text) : Number.NaN;
}

function inRange(text: string, low: number, high: number, what: string, whole: boolean): number {
	const value = number(text);
	if (Number.isNaN(value)) throw new InvalidArgumentError(`give ${what}`);
	if (value < low || value > high || (whole && !Number.isInteger(value)))
		throw new InvalidArgumentError(`give ${what}`);
	return value;
}

const UNIT_WORDS = { us: 'microseconds', ms: 'milliseconds', s: 'seconds' } as const;

/** A time in units of `plain`, or with a unit of its own; `whole`: no part of such a unit. */
export function durationParser(
	plain: PlainUnit,
	least: number,
	most: number,
	whole = false,
): (text: string) => number {
	return (text) => {
		const value = durationOf(text, plain);
		if (value >= least && value <= most && !(whole && !Number.isInteger(value))) return value;
		throw new InvalidArgumentError(
			`give ${UNIT_WORDS[plain]} from ${least} to ${most}, or ${DURATION_EXAMPLES[plain]}`,
		);
	};
}

/** A time in seconds, whole or not, or with a unit of its own. */
export const parseSeconds = durationParser('s', MIN_SECONDS, MAX_SECONDS);

/** An age in seconds, or with a unit of its own. */
export const parseAge = durationParser('s', 0, MAX_SECONDS);

/** A time in whole microseconds, or with a unit of its own. */
export const parseUsec = durationParser('us', 1, 1e9, true);

export function parseCount(text: string): number {
	const what = 'a whole number from 1 to 1000000000 (a COMMAND comes after --)';
	return inRange(text, 1, 1e9, what, true);
}

/** More than nothing. */
export function parsePercent(text: string): number {
	return inRange(text.replace(/ *%$/, ''), 0.001, 100, 'a percentage from 0.001 to 100', false);
}

/** For an option that may be given several times and takes comma lists. */
export function parsePids(text: string, before: readonly number[] = []): number[] {
	const what = `process or thread numbers from 1 to ${MAX_PID}, separated by commas`;
	// The user knows the name and not the number.
	if (/^[A-Za-z][\w.:-]*$/.test(text))
		throw new InvalidArgumentError(`give ${what}; to choose threads by name: --comm ${text}`);
	return [...before, ...text.split(',').map((each) => inRange(each, 1, MAX_PID, what, true))];
}

/** Thread names, compared whole, as the kernel keeps them: 15 bytes; or patterns of them. */
export function parseComms(text: string, before: readonly string[] = []): string[] {
	const names = text.split(',');
	if (names.some((name) => name === ''))
		throw new InvalidArgumentError('give thread names, separated by commas');
	const long = names.find((name) => !isGlob(name) && Buffer.byteLength(name) > 15);
	if (long)
		throw new InvalidArgumentError(
			`the kernel keeps only 15 bytes of a thread name; give "${Buffer.from(long).toString('utf8', 0, 15)}"`,
		);
	try {
		compileGlobs([...before, ...names].filter(isGlob));
	} catch (error) {
		throw new InvalidArgumentError((error as RangeError).message);
	}
	return [...before, ...names];
}

export function parsePaths(text: string, before: readonly string[] = []): string[] {
	if (text === '') throw new InvalidArgumentError('give a path');
	return [...before, text];
}

/** Of containers: what is in paths of cgroups. */
export function parseContainers(text: string, before: readonly string[] = []): string[] {
	const all = text.split(',');
	if (all.some((each) => each === '' || each.includes('/')))
		throw new InvalidArgumentError('give the ID of a container, or the beginning of it');
	return [...before, ...all];
}

/** CPUs as "0,2-3"; they must be there. Format: man 7 cpuset. */
export function parseCpus(text: string, before: readonly number[] = []): number[] {
	const possible = readFileSync('/sys/devices/system/cpu/possible', 'utf8').trim();
	const last = Number(possible.split(/[-,]/).at(-1));
	const what = `CPUs from 0 to ${last}, such as 0,2-3`;
	const cpus = [...before];
	for (const part of text.split(',')) {
		const [from = '', to = from, more] = part.split('-');
		const low = inRange(from, 0, Math.min(last, MAX_CPU), what, true);
		const high = inRange(to, low, Math.min(last, MAX_CPU), what, true);
		if (more !== undefined) throw new InvalidArgumentError(`give ${what}`);
		for (let cpu = low; cpu <= high; cpu++) cpus.push(cpu);
	}
	return cpus;
}

/** Whole numbers up to `most`. */
export function wholeNumber(most: number, least = 1): (text: string) => number {
	return (text) => inRange(text, least, most, `a whole number from ${least} to ${most}`, true);
}

/** As parsedOr; but commander does not say that it is given where only `otherwise` is. */
function quietly<T>(
	flags: string,
	description: string,
	parse: (text: string) => T,
	otherwise: T,
): TypedOption<T> {
	const shown = `${description} (default: ${otherwise})`;
	return new TypedOption(flags, shown, otherwise).argParser(parse);
}

/** How many of what text shows: `shown` unless it is given. */
export function topOption(shown: number, what = 'groups that waited longest'): TypedOption<number> {
	return quietly('--top <n>', `show the N ${what}; 0 shows all`, wholeNumber(1e9, 0), shown);
}

/** For tools with a result for each interval. */
export function timestampsOption(): TypedOption<boolean> {
	return flag('-T, --timestamps', 'print the time above each interval');
}

/** The room that bpf/lib/groups.h has for groups; see there. */
export function maxBucketsOption(): TypedOption<number> {
	return parsedOr(
		'--max-buckets <n>',
		"room for N entries in the kernel's table of groups, 300 B each",
		wholeNumber(1 << 26),
		65_536,
	);
}

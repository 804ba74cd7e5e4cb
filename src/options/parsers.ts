/** Values of options: each parser names what is valid, and throws InvalidArgumentError. */
import { readFileSync } from 'node:fs';
import { InvalidArgumentError, Option } from 'commander';
import type { Grouping } from '../aggregate/stack-rows.js';
import { compileGlobs, isGlob } from '../bpf/globs.js';
import { MAX_DEPTH, type StackSettings } from '../bpf/stacks.js';
import { DURATION_EXAMPLES, durationOf, type PlainUnit } from './durations.js';
import { type StackFilter, stackFilter, stackFilterOptions } from './stack-filter.js';

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

/** A time in seconds, whole or not, or with a unit of its own. */
export function parseSeconds(text: string): number {
	return duration(text, 's', MIN_SECONDS, MAX_SECONDS);
}

/** An age in seconds, or with a unit of its own. */
export function parseAge(text: string): number {
	return duration(text, 's', 0, MAX_SECONDS);
}

const UNIT_WORDS = { us: 'microseconds', s: 'seconds' } as const;

/** In units of `plain`. */
function duration(text: string, plain: PlainUnit, least: number, most: number): number {
	const value = durationOf(text, plain);
	// Of microseconds there are whole ones only.
	if (value >= least && value <= most && (plain === 's' || Number.isInteger(value))) return value;
	throw new InvalidArgumentError(
		`give ${UNIT_WORDS[plain]} from ${least} to ${most}, or ${DURATION_EXAMPLES[plain]}`,
	);
}

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

/** A time in microseconds, or with a unit of its own. */
export function usecOption(flags: string, description: string): Option {
	return new Option(flags, description).argParser((text) => duration(text, 'us', 1, 1e9));
}

/** A whole number from 1 on. */
export function wholeNumberOption(flags: string, description: string, most: number): Option {
	return new Option(flags, description).argParser((text) =>
		inRange(text, 1, most, `a whole number from 1 to ${most}`, true),
	);
}

/** How many of what text shows. */
export function topOption(shown: number | undefined, what = 'groups that waited longest'): Option {
	return new Option('--top <n>', `show the N ${what}; 0 shows all`)
		.default(shown)
		.argParser((text) => inRange(text, 0, 1e9, 'a whole number from 0 to 1000000000', true));
}

/** For tools with a result for each interval. */
export function timestampsOption(): Option {
	return new Option('-T, --timestamps', 'print the time above each interval');
}

/** The room that bpf/lib/groups.h has for groups; see there. */
export function maxBucketsOption(): Option {
	return new Option(
		'--max-buckets <n>',
		"room for N entries in the kernel's table of groups, 300 B each",
	)
		.default(65_536)
		.argParser((text) => inRange(text, 1, 1 << 26, 'a whole number from 1 to 67108864', true));
}

/** The room that bpf/lib/failures.h has for failed calls by what they were about. */
export function maxPathsOption(): Option {
	return new Option('--max-paths <n>', 'with --paths: room for N rows in the kernel, 600 B each')
		.default(8192)
		.argParser((text) => inRange(text, 1, 1 << 20, 'a whole number from 1 to 1048576', true));
}

/** What all stack tools have. */
export function stackOptions(): Option[] {
	return [
		new Option('-U, --user-stacks', 'only user frames').conflicts('kernelStacks'),
		new Option('-K, --kernel-stacks', 'only kernel frames'),
		new Option('-L, --tids', 'show each thread of a process separately'),
		...stackFilterOptions(),
		new Option('-d, --delimited', 'print a line -- between kernel and user frames'),
		new Option('--annotated', 'mark kernel, JIT and inlined frames: _[k], _[j], _[i]'),
		topOption(10, 'largest stacks'),
		new Option('--max-stacks <n>', 'room for N different stacks')
			.default(32_768)
			.argParser((text) => inRange(text, 1, 1 << 22, 'a whole number from 1 to 4194304', true)),
		new Option('--max-depth <n>', 'record at most N frames of a stack')
			.default(MAX_DEPTH)
			.argParser((text) =>
				inRange(text, 1, MAX_DEPTH, `a whole number from 1 to ${MAX_DEPTH}`, true),
			),
	];
}

const GROUPINGS: readonly Grouping[] = ['comm', 'process', 'thread'];

/** What one entry of a result is. */
export function groupingOption(): Option {
	return new Option(
		'--by <what>',
		'one entry for each thread name (comm), process or thread; -L is --by thread',
	)
		.choices(GROUPINGS)
		.conflicts('tids');
}

/** What `stackOptions`, and `groupingOption` where there is one, say. */
export interface StackView extends StackFilter {
	readonly delimited: boolean;
	readonly annotated: boolean;
	readonly top: number;
	/** Undefined: what suits the format. */
	readonly by: Grouping | undefined;
}

export function stackView(values: Readonly<Record<string, unknown>>): StackView {
	return {
		delimited: values.delimited === true,
		annotated: values.annotated === true,
		top: Number(values.top),
		by: values.tids === true ? 'thread' : (values.by as Grouping | undefined),
		...stackFilter(values),
	};
}

export function stackSettings(values: Readonly<Record<string, unknown>>): StackSettings {
	return {
		maxStacks: Number(values.maxStacks),
		maxDepth: Number(values.maxDepth),
		kernel: values.userStacks !== true,
		user: values.kernelStacks !== true,
		byThread: values.tids === true || values.by === 'thread',
	};
}

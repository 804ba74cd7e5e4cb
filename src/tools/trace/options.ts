/** The options of `tstrace trace`, and what they mean together. */
import { InvalidArgumentError } from 'commander';
import { indexesOf } from '../../bpf/calls/calls.js';
import { MAX_DEPTH, type StackSettings } from '../../bpf/stacks/stacks.js';
import { UsageError } from '../../errors.js';
import { trace as layout } from '../../generated/trace.js';
import { kernelBtf } from '../../loader/kernel.js';
import { durationParser, wholeNumber } from '../../options/parsers.js';
import { linesOption, refuseLines, UNWIND_WAYS } from '../../options/stack-options.js';
import {
	flag,
	listed,
	oneOf,
	parsed,
	parsedOr,
	type ValuesOf,
} from '../../options/typed-option.js';
import type { CommonChoices } from '../../tool.js';
import { ENDS, parseChoice } from './call-choice.js';
import type { TraceView } from './lines.js';
import { compilePathGlobs } from './path-globs.js';
import { CallPlanner } from './plans.js';
import { TOTALS_ORDERS } from './totals.js';

const { RECORD_TEXT_BYTES: MAX_TEXT_BYTES } = layout.enums.call_record_limit;
/** As strace's. */
const TEXT_BYTES = 32;
const BUFFER_BYTES = 32 << 20;
const LEAST_BUFFER_BYTES = 4096;
const MOST_BUFFER_BYTES = 2 ** 30;
/** Room for stacks, unless it is given. */
const MAX_STACKS = 32_768;
const MOST_STACKS = 2 ** 22;
const MAX_DESCRIPTOR = 2 ** 31 - 1;
const MOST_DURATION_US = 1e12;

export interface Settings extends TraceView {
	/** Indexes into the programs' tables; undefined: all calls. */
	readonly calls: readonly number[] | undefined;
	readonly planner: CallPlanner;
	/** What descriptors are. */
	readonly files: boolean;
	readonly onlyFailed: boolean;
	readonly onlySuccessful: boolean;
	readonly min_ns: number;
	readonly paths: readonly string[];
	readonly descriptor: number | undefined;
	/** Threads that end, and signals. */
	readonly ends: boolean;
	readonly buffer_bytes: number;
	/** How the stacks of calls are taken; undefined: they are not. */
	readonly stacks: StackSettings | undefined;
}

export const traceOptions = () => ({
	calls: parsed(
		'-e, --calls <list>',
		'only these calls: names, %file, %network, …; "!futex": all but these',
		parseChoice,
	),
	successful: flag('-z, --successful', 'only calls that succeed').conflicts('unsuccessful'),
	unsuccessful: flag('-Z, --unsuccessful', 'only calls that fail'),
	minDuration: parsed(
		'--min-duration <usec>',
		'only calls of USEC microseconds (or 5ms, 2s) or more',
		durationParser('us', 0, MOST_DURATION_US),
	),
	path: listed('--path <globs>', 'only calls with a path like this: "/etc/*"', parseGlobs),
	fd: parsed('--fd <n>', 'only calls with this descriptor', parseDescriptor).conflicts('path'),
	descriptors: flag('-y, --descriptors', 'show what descriptors are: path, pipe, socket'),
	stringLength: parsedOr(
		'-s, --string-length <n>',
		'show at most N bytes of a string or a buffer',
		wholeNumber(MAX_TEXT_BYTES),
		TEXT_BYTES,
	),
	totalsOnly: flag('-c, --totals-only', 'print only a table of calls, at the end').conflicts([
		'totals',
		'stringLength',
		'descriptors',
		'stacks',
	]),
	totals: flag('-C, --totals', 'also print a table of calls, at the end'),
	totalsOrder: oneOf(
		'-S, --totals-order <order>',
		'with -c or -C: what comes first',
		TOTALS_ORDERS,
	),
	buffer: parsedOr(
		'--buffer <size>',
		'buffer so many bytes of calls in the kernel: 64M',
		parseBuffer,
		BUFFER_BYTES,
		'32M',
	),
	stacks: flag('-k, --stacks', 'show the user stack that each call is made at'),
	maxStacks: parsed(
		'--max-stacks <n>',
		`with -k: room for N different stacks (default: ${MAX_STACKS})`,
		wholeNumber(MOST_STACKS),
	).conflicts('totalsOnly'),
	maxDepth: parsed(
		'--max-depth <n>',
		`with -k: at most N frames of a stack (default: ${MAX_DEPTH})`,
		wholeNumber(MAX_DEPTH),
	).conflicts('totalsOnly'),
	unwind: oneOf(
		'--unwind <how>',
		'with -k: walk stacks by unwind tables, or by frame pointers (fp) alone',
		UNWIND_WAYS,
	).conflicts('totalsOnly'),
	lines: linesOption('with -k: ').conflicts('totalsOnly'),
	list: flag('-l, --list', 'list the names of calls and sets'),
});

export type TraceOptions = ReturnType<typeof traceOptions>;

/** Throws UsageError. */
export function traceSettings(
	values: ValuesOf<TraceOptions>,
	{ format, filter }: CommonChoices,
): Settings {
	if (filter.cpus.length > 0)
		throw new UsageError('a call may return on another CPU than it began on; leave out --cpu');
	if (filter.kernelThreads)
		throw new UsageError('leave out --kernel-threads: kernel threads make no system calls');
	const { minDuration, path, fd, successful, unsuccessful, totals, totalsOnly, totalsOrder } =
		values;
	for (const [name, given] of [
		['--totals', totals],
		['--totals-only', totalsOnly],
	] as const)
		if (given && format === 'json')
			throw new UsageError(
				`${name} is for text, not JSON; syscount --latency writes such a table as JSON`,
			);
	if (totalsOrder !== undefined && !totals && !totalsOnly)
		throw new UsageError('--totals-order is for the table of calls: add -c or -C');
	const all =
		!successful &&
		!unsuccessful &&
		minDuration === undefined &&
		path.length === 0 &&
		fd === undefined;
	return {
		lines: !totalsOnly,
		summary: totals || totalsOnly,
		totalsOrder: totalsOrder ?? 'time',
		calls: values.calls?.filter((index) => index !== ENDS),
		planner: new CallPlanner(kernelBtf, {
			text: values.stringLength,
			files: values.descriptors,
			nothing: totalsOnly,
		}),
		files: values.descriptors,
		onlyFailed: unsuccessful,
		onlySuccessful: successful,
		min_ns: (minDuration ?? 0) * 1000,
		paths: path,
		descriptor: fd,
		ends: all && !totalsOnly && hasEnds(values.calls),
		buffer_bytes: values.buffer,
		stacks: stacksOf(values),
	};
}

/** Undefined: none are wanted. Throws UsageError for what is about stacks then. */
function stacksOf(values: ValuesOf<TraceOptions>): StackSettings | undefined {
	const { stacks, maxStacks, maxDepth, unwind } = values;
	const lines = values.lines || undefined;
	refuseLines({ lines: values.lines, ...(unwind ? { unwind } : {}) });
	if (!stacks) {
		for (const [name, given] of Object.entries({ maxStacks, maxDepth, unwind, lines })) {
			const option = `--${name.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`)}`;
			if (given !== undefined)
				throw new UsageError(
					`${option} is about stacks: add --stacks (-k), or leave out ${option}`,
				);
		}
		return undefined;
	}
	return {
		maxStacks: maxStacks ?? MAX_STACKS,
		maxDepth: maxDepth ?? MAX_DEPTH,
		kernel: false,
		user: true,
		byThread: false,
		unwind: unwind ?? 'tables',
		executingLines: values.lines,
	};
}

/** Who looks for how processes end wants to know: all calls, exit_group, or none. */
function hasEnds(calls: readonly number[] | undefined): boolean {
	if (calls === undefined || calls.includes(ENDS)) return true;
	return indexesOf('exit_group').some((index) => calls.includes(index));
}

function parseDescriptor(text: string): number {
	if (/^\d+$/.test(text) && Number(text) <= MAX_DESCRIPTOR) return Number(text);
	throw new InvalidArgumentError('give the number of a descriptor, such as 3');
}

function parseGlobs(text: string, before: readonly string[] = []): string[] {
	const globs = [...before, text];
	try {
		compilePathGlobs(globs);
	} catch (error) {
		if (error instanceof RangeError) throw new InvalidArgumentError(error.message);
		throw error;
	}
	return globs;
}

const UNITS: Readonly<Record<string, number>> = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

/** "64M", rounded up to a power of two, as the kernel wants it. */
export function parseBuffer(text: string): number {
	const [, digits, unit = ''] = /^(\d+)([KMG]?)i?B?$/i.exec(text) ?? [];
	const bytes =
		digits === undefined ? Number.NaN : Number(digits) * (UNITS[unit.toUpperCase()] ?? Number.NaN);
	if (!(bytes >= 1 && bytes <= MOST_BUFFER_BYTES))
		throw new InvalidArgumentError('give a size of 4K to 1G, such as 64M');
	return 2 ** Math.ceil(Math.log2(Math.max(LEAST_BUFFER_BYTES, bytes)));
}

/** The options every tool has, with one name and one meaning everywhere. */
import type { StackTool } from '../aggregate/stack-tool.js';
import { byNumber, type Filter } from '../bpf/filter.js';
import { UsageError } from '../errors.js';
import { formatOfFile, formatOption, formatOptions } from '../options/choose-format.js';
import {
	parseComms,
	parseContainers,
	parseCpus,
	parsePaths,
	parsePercent,
	parsePids,
	timestampsOption,
} from '../options/parsers.js';
import {
	flag,
	listed,
	parsed,
	type RawValues,
	type TypedOption,
	textOption,
	type ValuesOf,
	valuesOf,
} from '../options/typed-option.js';
import { cgroupOfContainer, type Found } from '../proc/containers.js';
import { STACK_FORMATS, type StackFormat } from '../render/stack-formats.js';
import type { CommonChoices, ToolKind } from '../tool.js';

export type Format = 'text' | 'json' | StackFormat;

const FORMATS: Readonly<Record<ToolKind, readonly Format[]>> = {
	latency: ['text', 'json'],
	stacks: ['text', 'json', ...STACK_FORMATS],
	table: ['text', 'json'],
	events: ['text', 'json'],
};

/** What the common options say. */
export interface CommonSettings extends CommonChoices {
	/** Undefined: what suits the place the result goes to. */
	readonly format: Format | undefined;
	/** Per cent of each CPU, on average; undefined: only warn. */
	readonly maxOverhead_pct: number | undefined;
	/** Whether to measure what tracing costs in the kernel. */
	readonly cost: boolean;
	readonly quiet: boolean;
	readonly verbose: boolean;
}

/** Fresh ones at each call: commander keeps state in them. */
export function commonOptions(kind: ToolKind, use: StackTool['use'] = 'report') {
	const repeats = kind !== 'stacks' && kind !== 'events';
	return {
		pid: listed('-p, --pid <pids>', 'only these processes: 1,2,3 (or repeat -p)', parsePids),
		tid: listed('-t, --tid <tids>', 'only these threads', parsePids),
		comm: listed('--comm <names>', 'only threads of these names: nginx or "php*"', parseComms),
		cgroup: listed('--cgroup <path>', 'only threads in this cgroup (v2) and below it', parsePaths),
		container: listed(
			'--container <id>',
			'only threads in this container: its ID, or as much of that as is its own',
			parseContainers,
		).conflicts('cgroup'),
		cpu: listed('-C, --cpu <list>', 'only on these CPUs, such as 0,2-3', parseCpus),
		userThreads: flag('-u, --user-threads', 'only threads of user processes').conflicts(
			'kernelThreads',
		),
		kernelThreads: flag('-k, --kernel-threads', 'only kernel threads'),
		follow: flag('-f, --follow', 'with -p, -t or COMMAND: also trace child processes'),
		...formatOptions(FORMATS[kind], use),
		hdr:
			kind === 'latency'
				? textOption('--hdr <file>', 'also write an HdrHistogram log to FILE')
				: undefined,
		timestamps: repeats ? timestampsOption() : undefined,
		output: outputOption(),
		maxOverhead: parsed(
			'--max-overhead <pct>',
			'if tracing takes more than PCT % of each CPU, trace less, or stop',
			parsePercent,
		),
		cost: flag(
			'--no-cost',
			'do not measure what tracing costs: that interrupts all CPUs',
		).conflicts('maxOverhead'),
		quiet: flag('-q, --quiet', 'print only the result, errors and what was lost'),
		verbose: flag('-v, --verbose', 'also print what tstrace does and why, and causes of errors'),
	};
}

function outputOption(): TypedOption<string | undefined> {
	return textOption('-o, --output <file>', 'write the result to FILE instead of standard output');
}

/** What a converter has. */
export function fileOptions() {
	return {
		output: outputOption(),
		quiet: flag('-q, --quiet', 'print only the result and errors'),
		verbose: flag('-v, --verbose', 'also print causes of errors'),
	};
}

type CommonValues = ValuesOf<ReturnType<typeof commonOptions>>;

const MADE = new Map<ToolKind, ReturnType<typeof commonOptions>>();

/** The values of the common options of a kind of tool; the options are made once for each kind. */
function commonValues(kind: ToolKind, raw: RawValues): CommonValues {
	const options = MADE.get(kind) ?? commonOptions(kind);
	MADE.set(kind, options);
	return valuesOf(options, raw);
}

/** Throws UsageError when two options name different formats. */
function formatOf(values: CommonValues, kind: ToolKind): Format | undefined {
	const format = formatOption(values, FORMATS[kind]);
	const { output } = values;
	if (format !== undefined || output === undefined) return format;
	const ofFile = formatOfFile(output);
	if (ofFile === undefined || FORMATS[kind].includes(ofFile)) return ofFile;
	throw new UsageError(
		`cannot write ${ofFile} to ${output}: this tool writes ${FORMATS[kind].join(' and ')}`,
	);
}

/** What only text has, and why not JSON; and why no other format. */
const OF_TEXT: ReadonlyArray<readonly [name: string, json: string, others?: string]> = [
	['timestamps', 'JSON has the start of each result', 'has no place for them'],
	['top', 'JSON has all entries', 'has all entries'],
	['delimited', 'JSON has the kind of each frame'],
	['annotated', 'JSON has the kind of each frame'],
];

/** The names of those that are given. */
const ofTextIn = (raw: RawValues): string[] =>
	OF_TEXT.map(([name]) => name).filter((name) => raw[name] !== undefined && raw[name] !== false);

/**
 * Throws UsageError where an option is given that this format has nothing for. `unnamed`: nobody has named the
 * format; it suits the place the result goes to.
 */
export function refuseOfText(given: readonly string[], format: Format, unnamed: boolean): void {
	if (format === 'text') return;
	for (const [name, json, others] of OF_TEXT) {
		const why = format === 'json' ? json : others && `${format} ${others}`;
		if (!given.includes(name) || !why) continue;
		if (!unnamed) throw new UsageError(`--${name} is for text, and ${why}: leave out --${name}`);
		throw new UsageError(
			`--${name} is for text; a file or a pipe gets the format ${format}, which ${others}: ` +
				`leave out --${name}, or add --format text`,
		);
	}
}

/** The same values with the cgroups of the containers in them, in which `there` is asked. Throws UsageError. */
export function withContainers(raw: RawValues, there: () => Iterable<Found>): RawValues {
	const { container, ...others } = raw;
	if (!Array.isArray(container)) return raw;
	const all = [...there()];
	return { ...others, cgroup: container.map((text) => cgroupOfContainer(`${text}`, all)) };
}

/** Puts the common options' values together; `intervals`: there is to be a result for each. Throws UsageError when they contradict. */
export function commonSettings(
	raw: RawValues,
	command: readonly string[],
	kind: ToolKind,
	intervals = false,
): CommonSettings {
	const values = commonValues(kind, raw);
	const filter: Filter = {
		pids: values.pid,
		tids: values.tid,
		comms: values.comm,
		cgroups: values.cgroup,
		cpus: values.cpu,
		userThreads: values.userThreads,
		kernelThreads: values.kernelThreads,
		follow: values.follow,
	};
	const chosen = byNumber(filter);
	if (command.length > 0 && chosen)
		throw new UsageError(
			'give either -p/-t or a COMMAND: with a COMMAND, tstrace traces only the COMMAND; to trace -p for 5 ' +
				'seconds, add the number 5',
		);
	if (filter.follow && command.length === 0 && !chosen)
		throw new UsageError('--follow needs a process to follow: add -p PID, or -- COMMAND');
	const format = formatOf(values, kind);
	const ofText = ofTextIn(raw);
	if (format !== undefined) refuseOfText(ofText, format, false);
	return {
		filter,
		format,
		output: values.output,
		hdr: values.hdr,
		// A tool that has results for each interval at times offers it as its own.
		timestamps: timestampsOption().valueIn(raw),
		ofText,
		intervals,
		hasCommand: command.length > 0,
		maxOverhead_pct: values.maxOverhead,
		cost: values.cost,
		quiet: values.quiet,
		verbose: values.verbose,
	};
}

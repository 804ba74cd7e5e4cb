/** The options every tool has, with one name and one meaning everywhere. */
import { Option } from 'commander';
import type { StackTool } from '../aggregate/stack-tool.js';
import type { Filter } from '../bpf/filter.js';
import { UsageError } from '../errors.js';
import { formatOption, formatOptions, stackFormatOfFile } from '../options/choose-format.js';
import {
	parseComms,
	parseCpus,
	parsePaths,
	parsePercent,
	parsePids,
	timestampsOption,
} from '../options/parsers.js';
import { STACK_FORMATS, type StackFormat } from '../render/stack-formats.js';
import type { ToolKind } from '../tool.js';

export type Format = 'text' | 'json' | StackFormat;

const FORMATS: Readonly<Record<ToolKind, readonly Format[]>> = {
	latency: ['text', 'json'],
	stacks: ['text', 'json', ...STACK_FORMATS],
	table: ['text', 'json'],
	events: ['text', 'json'],
};

/** What the common options say. */
export interface CommonSettings {
	readonly filter: Filter;
	/** Undefined: what suits the place the result goes to. */
	readonly format: Format | undefined;
	readonly output: string | undefined;
	readonly hdr: string | undefined;
	readonly timestamps: boolean;
	/** Per cent of each CPU, on average; undefined: only warn. */
	readonly maxOverhead_pct: number | undefined;
	readonly quiet: boolean;
	readonly verbose: boolean;
}

/** Fresh ones at each call: commander keeps state in them. */
export function commonOptions(kind: ToolKind, use: StackTool['use'] = 'report'): Option[] {
	return [
		new Option('-p, --pid <pids>', 'only these processes: 1,2,3 (or repeat -p)').argParser(
			parsePids,
		),
		new Option('-t, --tid <tids>', 'only these threads').argParser(parsePids),
		new Option('--comm <names>', 'only threads of these names: nginx or "php*"').argParser(
			parseComms,
		),
		new Option('--cgroup <path>', 'only threads in this cgroup (v2) and below it').argParser(
			parsePaths,
		),
		new Option('-C, --cpu <list>', 'only on these CPUs, such as 0,2-3').argParser(parseCpus),
		new Option('-u, --user-threads', 'only threads of user processes').conflicts('kernelThreads'),
		new Option('-k, --kernel-threads', 'only kernel threads'),
		new Option('--follow', 'with -p, -t or COMMAND: also trace child processes'),
		...formatOptions(FORMATS[kind], use),
		...(kind === 'latency'
			? [new Option('--hdr <file>', 'also write an HdrHistogram log to FILE')]
			: []),
		...(kind === 'stacks' || kind === 'events' ? [] : [timestampsOption()]),
		new Option('-o, --output <file>', 'write the result to FILE instead of standard output'),
		new Option(
			'--max-overhead <pct>',
			'if tracing takes more than PCT % of each CPU, trace less, or stop',
		).argParser(parsePercent),
		new Option('-q, --quiet', 'print only the result, errors and what was lost'),
		new Option('-v, --verbose', 'also print what tstrace does and why, and causes of errors'),
	];
}

/** What a converter has. */
export function fileOptions(): Option[] {
	return [
		new Option('-o, --output <file>', 'write the result to FILE instead of standard output'),
		new Option('-q, --quiet', 'print only the result and errors'),
		new Option('-v, --verbose', 'also print causes of errors'),
	];
}

/** Throws UsageError when two options name different formats. */
function formatOf(values: Readonly<Record<string, unknown>>, kind: ToolKind): Format | undefined {
	const format = formatOption<Format>(values);
	const { output } = values;
	if (format !== undefined || typeof output !== 'string') return format;
	const ofFile =
		stackFormatOfFile(output) ?? PLAIN_ENDINGS[/\.\w+$/.exec(output.toLowerCase())?.[0] ?? ''];
	if (ofFile === undefined || FORMATS[kind].includes(ofFile)) return ofFile;
	throw new UsageError(
		`cannot write ${ofFile} to ${output}: this tool writes ${FORMATS[kind].join(' and ')}`,
	);
}

const PLAIN_ENDINGS: Readonly<Record<string, Format>> = { '.json': 'json', '.txt': 'text' };

/** Puts the common options' values together. Throws UsageError when they contradict. */
export function commonSettings(
	values: Readonly<Record<string, unknown>>,
	command: readonly string[],
	kind: ToolKind,
): CommonSettings {
	const list = <T>(name: string): readonly T[] => (values[name] as T[] | undefined) ?? [];
	const filter: Filter = {
		pids: list('pid'),
		tids: list('tid'),
		comms: list('comm'),
		cgroups: list('cgroup'),
		cpus: list('cpu'),
		userThreads: values.userThreads === true,
		kernelThreads: values.kernelThreads === true,
		follow: values.follow === true,
	};
	const chosen = filter.pids.length + filter.tids.length > 0;
	if (command.length > 0 && chosen)
		throw new UsageError(
			'give either -p/-t or a COMMAND: with a COMMAND, tstrace traces only the COMMAND',
		);
	if (filter.follow && command.length === 0 && !chosen)
		throw new UsageError('--follow needs a process to follow: add -p PID, or -- COMMAND');
	return {
		filter,
		format: formatOf(values, kind),
		output: values.output as string | undefined,
		hdr: values.hdr as string | undefined,
		timestamps: values.timestamps === true,
		maxOverhead_pct: values.maxOverhead as number | undefined,
		quiet: values.quiet === true,
		verbose: values.verbose === true,
	};
}

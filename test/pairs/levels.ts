/** What a tool's options can be given as, from what the tool declares; and what of that it refuses. */
import { Command as Cli, CommanderError } from 'commander';
import { addTool, askedOf, isLacking } from '../../src/cli/tool-command.js';
import { UsageError } from '../../src/errors.js';
import { offered } from '../../src/options/typed-option.js';
import { commonOptions, withContainers } from '../../src/run/common-options.js';
import type { AnyTool } from '../../src/tool.js';
import { type Covering, coveringRows } from './covering.js';

/** One option with a value, or COMMAND. */
export interface Level {
	/** As commander names it: "maxDepth". */
	readonly option: string;
	readonly words: readonly string[];
	/** What a refusal may call it by. */
	readonly names: readonly string[];
}

/** Of options whose choices nobody declares. Words in capitals are replaced, once there is something to trace. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
	pid: ['PID'],
	tid: ['TID'],
	comm: ['COMM'],
	cgroup: ['CGROUP'],
	container: ['CONTAINER'],
	cpu: ['0'],
	output: ['FILE'],
	hdr: ['LOG'],
	maxOverhead: ['90'],
	top: ['3'],
	slower: ['1000'],
	maxBuckets: ['4096'],
	maxThreads: ['4096'],
	maxPaths: ['256'],
	maxStacks: ['4096'],
	maxDepth: ['10'],
	hist: ['clock_nanosleep'],
	errno: ['ENOENT'],
	syscall: ['process,clock_nanosleep'],
	period: ['500'],
	min: ['10'],
	max: ['10s'],
	state: ['SD'],
	grep: ['.'],
	exclude: ['^no_such_function$'],
	frequency: ['199'],
	repeat: ['2'],
	count: ['1000000'],
	event: ['cpu-clock'],
	ringKb: ['1024'],
	older: ['0'],
	minSize: ['16'],
	maxSize: ['1M'],
	sampleBytes: ['1K'],
	maxAllocs: ['4096'],
	suspectAfter: ['2'],
	hops: ['1', '4'],
	calls: ['!read'],
	minDuration: ['1us'],
	path: ['/*'],
	fd: ['1'],
	stringLength: ['16'],
	buffer: ['1M'],
	reasons: ['1'],
	object: ['LIBRARY'],
	prefix: ['je_'],
};

/**
 * Options that print something else instead of tracing, whatever is beside them, as --help does; and one that says
 * what the number says that each run here has.
 */
const INSTEAD = new Set(['list', 'interval']);
/** What a tool lacks is refused, and not offered. */
const offeredBy = (tool: AnyTool) =>
	[...offered(tool.options()), ...offered(commonOptions(tool.kind, tool.stackTool?.use))].filter(
		(option) => !INSTEAD.has(option.attributeName()) && !isLacking(tool, option.attributeName()),
	);

const COMMAND: Level = {
	option: 'COMMAND',
	words: ['env', 'LD_PRELOAD=LIBRARY', 'true'],
	names: ['COMMAND'],
};

/** All of them. Throws where an option has a value that is in no table. */
export function levelsOf(tool: AnyTool): Level[] {
	const levels = offeredBy(tool).flatMap((option): Level[] => {
		const { long, short } = option;
		const name = option.attributeName();
		// "not folded and json" names --folded, and --format json.
		const names = [long, short, name].filter((each) => each !== undefined && each !== null);
		if (option.isBoolean() || !(option.required || option.optional))
			return [{ option: name, words: [long ?? ''], names }];
		const values = option.argChoices ?? VALUES[name];
		if (!values) throw new Error(`${tool.name} ${long}: add a value to VALUES`);
		return values.map((value) => ({
			option: name,
			words: [long ?? '', value],
			names: [...names, value],
		}));
	});
	return [...levels, COMMAND];
}

/** Arguments of one run: options, numbers, COMMAND. */
export function argumentsOf(tool: AnyTool, row: readonly Level[]): string[] {
	const options = row.filter((level) => level !== COMMAND).flatMap(({ words }) => words);
	const once = (tool.kind === 'stacks' && !tool.repeats) || tool.kind === 'events';
	const lines = row.some(({ option }) => option === 'slower');
	const command = row.includes(COMMAND) ? ['--', ...COMMAND.words] : [];
	return [tool.name, ...options, '0.02', ...(once || lines ? [] : ['1']), ...command];
}

const refusals = new Map<string, string | undefined>();

/** The line by which a tool refuses these, before it has opened anything; undefined: it does not. */
export function refusal(tool: AnyTool, row: readonly Level[]): string | undefined {
	const key = [tool.name, ...row.map(({ words }) => words)].join(' ');
	if (!refusals.has(key)) refusals.set(key, refusalOf(tool, row));
	return refusals.get(key);
}

interface CommandLine {
	/** Throws what refuses the words. */
	parse(words: readonly string[], command: readonly string[]): void;
}

const commandLines = new Map<AnyTool, CommandLine>();

/** The tool, with options that are made once: to take values out, only their names are asked for. */
function withOptionsMade<T extends { options(): unknown }>(tool: T): T {
	const options = tool.options();
	return { ...tool, options: () => options };
}

/** Made once for each tool: to declare all options takes longer than to parse some. */
function commandLineOf(tool: AnyTool): CommandLine {
	const made = commandLines.get(tool);
	if (made) return made;
	const cli = new Cli('tstrace').exitOverride().configureOutput({ writeErr: () => {} });
	const there = () => [{ id: 'CONTAINER', kind: '', path: '/' }];
	let command: readonly string[] = [];
	let prepared: unknown;
	addTool(cli, tool, (each, interval_s, count, raw) => {
		each.use((some) => {
			const typed = { interval_s, count, raw: withContainers(raw, there), command };
			// The tool that it was made of is the only one.
			prepared ??= withOptionsMade(some);
			return askedOf(prepared as typeof some, typed);
		});
		return Promise.resolve();
	});
	const line: CommandLine = {
		parse(words, given) {
			command = given;
			cli.parse(words, { from: 'user' });
		},
	};
	commandLines.set(tool, line);
	return line;
}

function refusalOf(tool: AnyTool, row: readonly Level[]): string | undefined {
	const args = argumentsOf(tool, row);
	const dashes = args.indexOf('--');
	const [own, command] = dashes < 0 ? [args, []] : [args.slice(0, dashes), args.slice(dashes + 1)];
	const numbers = { PID: '1', TID: '1', COMM: 'x', CGROUP: '/', FILE: '-', LOG: '-' };
	try {
		commandLineOf(tool).parse(
			own.map((word) => numbers[word as keyof typeof numbers] ?? word),
			command,
		);
		return undefined;
	} catch (error) {
		if (error instanceof CommanderError || error instanceof UsageError) return error.message;
		throw error;
	}
}

export const namesIt = (line: string, { names }: Level): boolean =>
	names.some((name) => new RegExp(`(?<![\\w-])${name}(?![\\w-])`, 'i').test(line));

/** What an option can be with that is refused alone. */
export function neededBy(tool: AnyTool, level: Level, levels: readonly Level[]): Level[] {
	if (refusal(tool, [level]) === undefined) return [];
	return levels.filter((each) => each !== level && refusal(tool, [level, each]) === undefined);
}

/** A row with both, and with what each of them needs; undefined: they are refused in any case. */
function together(tool: AnyTool, levels: readonly Level[], a: Level, b: Level) {
	const rows = [a, b].reduce<readonly (readonly Level[])[]>(
		(rows, level) => {
			const needed = neededBy(tool, level, levels);
			if (needed.length === 0) return rows;
			return rows.flatMap((row) => [row, ...needed.map((each) => [...row, each])]);
		},
		[[a, b]],
	);
	const allowed = rows.find((row) => refusal(tool, row) === undefined);
	return allowed && [...new Set(allowed)];
}

/** The rows that have all pairs of a tool's options. */
export function rowsOf(tool: AnyTool): { levels: readonly Level[]; covering: Covering } {
	const levels = levelsOf(tool);
	const at = (i: number) => levels[i] as Level;
	const options = [...new Set(levels.map(({ option }) => option))];
	const covering = coveringRows({
		options: levels.map(({ option }) => options.indexOf(option)),
		together: (a, b) => together(tool, levels, at(a), at(b))?.map((level) => levels.indexOf(level)),
		allowed: (row) => refusal(tool, row.map(at)) === undefined,
	});
	return { levels, covering };
}

/** A tool as a command: its options and numbers, and what they ask for together. */
import type { Command as Cli, Option } from 'commander';
import { largest } from '../aggregate/largest.js';
import type { Findings } from '../aggregate/report.js';
import type { FilteredLayout } from '../bpf/filter.js';
import { UsageError } from '../errors.js';
import { parseCount, parseSeconds } from '../options/parsers.js';
import { type Options, offered, type RawValues, valuesOf } from '../options/typed-option.js';
import { type CommonSettings, commonOptions, commonSettings } from '../run/common-options.js';
import type { AnyTool, ToolDeclaration, ToolWithOptions } from '../tool.js';

export type Action = (
	tool: AnyTool,
	interval_s: number | undefined,
	count: number | undefined,
	raw: RawValues,
) => Promise<void>;

/** What was typed. */
interface Typed {
	readonly interval_s: number | undefined;
	readonly count: number | undefined;
	readonly raw: RawValues;
	readonly command: readonly string[];
}

/** What a run is asked for; nothing is opened or started yet. */
interface Asked<S> {
	readonly common: CommonSettings;
	readonly settings: S;
	readonly interval_s: number | undefined;
	readonly count: number | undefined;
}

/** Throws UsageError. */
export function askedOf<L extends FilteredLayout, S, F extends Findings, O extends Options>(
	tool: ToolWithOptions<L, S, F, O>,
	{ raw, interval_s, count, command }: Typed,
): Asked<S> {
	const common = commonSettings(raw, command, tool.kind, interval_s !== undefined && count !== 1);
	const settings = tool.settings(valuesOf(tool.options(), raw), common);
	const own = tool.interval?.(settings);
	if (own && interval_s !== undefined)
		throw new UsageError(
			`give the time between results once: ${own.option}, or the number ${interval_s}`,
		);
	// COMMAND ends by itself.
	const usual_s = command.length === 0 ? tool.duration_s : undefined;
	return {
		common,
		settings,
		interval_s: own?.s ?? interval_s ?? usual_s,
		count: countOf(count, tool.lines?.(settings)),
	};
}

/** Of lines as they come there is one result, and a number is how long; `because` of that option. */
function countOf(count: number | undefined, because: string | undefined): number | undefined {
	if (because === undefined) return count;
	if (count === undefined) return 1;
	throw new UsageError(
		`${because} prints events as they happen: give only one number, the duration, such as 5 or 500ms`,
	);
}

export function addTool(cli: Cli, tool: AnyTool, action: Action): void {
	const once = (tool.kind === 'stacks' && !tool.repeats) || tool.kind === 'events';
	const command = cli
		.command(tool.name)
		.summary(tool.summary)
		.description(tool.description)
		.usage(
			`[options] ${once ? '[duration]' : '[interval [count]]'} [-- COMMAND]\n${numbers(tool)}`,
		);
	if (once) {
		command
			.argument('[duration]', `how long to trace (default: ${usualEnd(tool)})`, parseSeconds)
			.action((duration: number | undefined, values) => action(tool, duration, 1, values));
	} else {
		command
			.argument('[interval]', 'time between results (default: one result at Ctrl-C)', parseSeconds)
			.argument('[count]', 'how many results (default: until Ctrl-C)', parseCount)
			.action((interval: number | undefined, count: number | undefined, values) =>
				action(tool, interval, count, values),
			);
	}
	const own = offered(tool.options());
	const common = offered(commonOptions(tool.kind, tool.stackTool?.use));
	for (const option of common) dropLetter(option, own);
	for (const option of [...own, ...common]) {
		if (isLacking(tool, option.attributeName())) option.hideHelp();
		command.addOption(option);
	}
	addExamples(command, tool.examples);
}

/** Whether it is a common option that this tool has to refuse. */
export function isLacking({ lacks = [] }: ToolDeclaration, option: string): boolean {
	return lacks.some((each) => each === option);
}

/** A letter that the tool itself has is not the common option's, which keeps its long name. */
function dropLetter(option: Option, own: readonly Option[]): void {
	if (!own.some(({ short }) => short !== undefined && short === option.short)) return;
	option.flags = option.flags.replace(/^-\w, /, '');
	delete option.short;
}

/** When it ends where nobody says it. */
function usualEnd({ duration_s }: ToolDeclaration): string {
	return duration_s === undefined ? 'until Ctrl-C' : `${duration_s} s, or as long as COMMAND`;
}

/** What numbers mean, for right below the usage. */
function numbers({ kind, repeats, linesHelp }: ToolDeclaration): string {
	const lines = kind === 'events' ? 'print events for 5 seconds' : 'one result after 5 seconds';
	const said =
		kind === 'events' || (kind === 'stacks' && !repeats)
			? [`5: ${lines} (or 500ms, 2m)`]
			: ['5: a result every 5 seconds (or 500ms, 2m); 5 1: one result'];
	return [...said, ...(linesHelp ? [linesHelp] : [])].map((line) => `       ${line}`).join('\n');
}

export function addExamples(command: Cli, all: ToolDeclaration['examples']): void {
	const width = largest(
		all.map(([example]) => example.length),
		0,
	);
	const examples = all.map(([example, effect]) =>
		`  ${example.padEnd(width)}  ${effect}`.trimEnd(),
	);
	command.addHelpText('after', `\nExamples:\n${examples.join('\n')}`);
}

/** Which format a result is written in: what options ask for, what a file's name asks for, and else. */
import { Option } from 'commander';
import type { StackTool } from '../aggregate/stack-tool.js';
import { UsageError } from '../errors.js';
import type { StackFormat } from '../render/stack-formats.js';

/**
 * What a result is written as where neither an option nor the name of a file says it: text. But stacks to
 * draw are folded stacks where no terminal shows them. This is the one rule for all tools, and for diff.
 */
export function unnamedFormat(use: StackTool['use'], terminal: boolean): 'text' | 'folded' {
	return use === 'to draw' && !terminal ? 'folded' : 'text';
}

/** The help of --format, to which the formats are added. `otherwise`: the one that nobody named. */
export function formatHelp(otherwise: string): string {
	return `format of the result; default: by the ending of -o FILE, else ${otherwise}`;
}

const UNNAMED = { 'to draw': 'text on a terminal, folded elsewhere', report: 'text' } as const;

/** --format, and what is short for it. */
export function formatOptions(formats: readonly string[], use: StackTool['use']): Option[] {
	return [
		new Option('--format <format>', formatHelp(UNNAMED[use])).choices(formats),
		...SHORT_FOR.filter((format) => formats.includes(format)).map(
			(format) => new Option(`--${format}`, `the same as --format ${format}`),
		),
	];
}

const SHORT_FOR = ['folded', 'json'] as const;

/** What `formatOptions` say. Throws UsageError when they name different formats. */
export function formatOption<Format extends string>(
	values: Readonly<Record<string, unknown>>,
): Format | undefined {
	const named = new Set<string>(SHORT_FOR.filter((format) => values[format] === true));
	if (values.format) named.add(values.format as string);
	if (named.size > 1) throw new UsageError(`give only one format, not ${[...named].join(' and ')}`);
	const [format] = named;
	return format as Format | undefined;
}

/** Throws UsageError for a picture of another kind than are drawn here. */
export function refuseOtherPictures(path = ''): void {
	const [, other] = /\.(png|jpe?g|gif|webp|pdf)$/.exec(path.toLowerCase()) ?? [];
	if (other !== undefined) {
		throw new UsageError(
			`cannot write .${other}; for a picture of stacks, name the file .svg or .html`,
		);
	}
}

/** What a file's name asks for: "svg" of "offcpu.svg". Throws UsageError as above. */
export function stackFormatOfFile(path = ''): StackFormat | undefined {
	const name = path.toLowerCase();
	refuseOtherPictures(path);
	return ENDINGS.find(([end]) => name.endsWith(end))?.[1];
}

const ENDINGS: ReadonlyArray<readonly [string, StackFormat]> = [
	['.folded', 'folded'],
	['.svg', 'svg'],
	['.html', 'html'],
	['.pprof', 'pprof'],
	['.pb.gz', 'pprof'],
	['.speedscope.json', 'speedscope'],
];

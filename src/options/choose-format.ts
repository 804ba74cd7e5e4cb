/** Which format a result is written in: what options ask for, what a file's name asks for, and else. */
import type { StackTool } from '../aggregate/stack-tool.js';
import { UsageError } from '../errors.js';
import type { StackFormat } from '../render/stack-formats.js';
import { flag, type Options, oneOf, type TypedOption } from './typed-option.js';

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
export function formatOptions<F extends string>(
	formats: readonly F[],
	use: StackTool['use'],
): FormatOptions<F> {
	const shortFor = (format: (typeof SHORT_FOR)[number]) =>
		isOneOf(formats, format) ? flag(`--${format}`, `the same as --format ${format}`) : undefined;
	return {
		format: oneOf('--format <format>', formatHelp(UNNAMED[use]), formats),
		folded: shortFor('folded'),
		json: shortFor('json'),
	};
}

const SHORT_FOR = ['folded', 'json'] as const;

interface FormatOptions<F extends string> extends Options {
	readonly format: TypedOption<F | undefined>;
	readonly folded: TypedOption<boolean> | undefined;
	readonly json: TypedOption<boolean> | undefined;
}

/** The values of `formatOptions`. */
interface FormatValues<F extends string> {
	readonly format: F | undefined;
	readonly folded: boolean | undefined;
	readonly json: boolean | undefined;
}

/** What `formatOptions` say. Throws UsageError when they name different formats. */
export function formatOption<F extends string>(
	values: FormatValues<F>,
	formats: readonly F[],
): F | undefined {
	const named = new Set<string>(SHORT_FOR.filter((format) => values[format]));
	if (values.format) named.add(values.format);
	if (named.size > 1) throw new UsageError(`give only one format, not ${[...named].join(' and ')}`);
	return formats.find((format) => named.has(format));
}

function isOneOf(words: readonly string[], word: string): boolean {
	return words.includes(word);
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

/** What is for programs, or a picture, and not for a terminal. */
export function notForTerminal(format: string, instead = ': > FILE, or -o FILE'): UsageError {
	return new UsageError(`${format} is not for a terminal; write it to a file${instead}`);
}

/** What a file's name asks for: "svg" of "offcpu.svg". Throws UsageError as above. */
export function stackFormatOfFile(path = ''): StackFormat | undefined {
	const name = path.toLowerCase();
	refuseOtherPictures(path);
	return ENDINGS.find(([end]) => name.endsWith(end))?.[1];
}

/** The same, for tools that also write text and JSON. */
export function formatOfFile(path: string): StackFormat | 'json' | 'text' | undefined {
	const [, ending] = /\.(json|txt)$/.exec(path.toLowerCase()) ?? [];
	const plain = ending === 'json' ? 'json' : ending === 'txt' ? 'text' : undefined;
	return stackFormatOfFile(path) ?? plain;
}

const ENDINGS: ReadonlyArray<readonly [string, StackFormat]> = [
	['.folded', 'folded'],
	['.svg', 'svg'],
	['.html', 'html'],
	['.pprof', 'pprof'],
	['.pb.gz', 'pprof'],
	['.speedscope.json', 'speedscope'],
];

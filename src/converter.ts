/** What a converter is: it reads recordings of stacks and writes something else. No kernel needed. */
import type { Argument } from 'commander';
import { type Options, type RawValues, type ValuesOf, valuesOf } from './options/typed-option.js';
import type { Pieces } from './render/stack-formats.js';
import type { Style } from './render/terminal.js';

/** Where the result goes. */
export interface ResultDestination {
	/** The result is going to be seen on a terminal, as text. */
	readonly terminal: boolean;
	readonly style: Style;
	/** -o FILE */
	readonly output: string | undefined;
	/** Tells the user on standard error. */
	notify(notice: string): void;
	/** Shows text on standard output, if that is a terminal and the result goes elsewhere. */
	show(text: (style: Style) => string): Promise<void>;
}

/** What a converter says of itself on the command line. */
interface ConverterDeclaration {
	readonly name: string;
	/** One line for `tstrace --help`, without a full stop. */
	readonly summary: string;
	/** The first paragraph of `tstrace NAME --help`. */
	readonly description: string;
	readonly usage: string;
	readonly examples: ReadonlyArray<readonly [command: string, effect: string]>;
	readonly arguments: () => Argument[];
	readonly options: () => Options;
}

interface Converter<O extends Options> extends ConverterDeclaration {
	readonly options: () => O;
	/** Reads the files and returns the result. Throws UsageError and TstraceError. */
	convert(files: readonly string[], values: ValuesOf<O>, here: ResultDestination): Promise<Pieces>;
}

/** Some converter, whose options are its own affair. */
export interface AnyConverter extends ConverterDeclaration {
	/** `raw`: the values of all options. Throws as `convert` does. */
	run(files: readonly string[], raw: RawValues, here: ResultDestination): Promise<Pieces>;
}

/** Declares a converter. */
export function defineConverter<O extends Options>(
	converter: Converter<O>,
): Converter<O> & AnyConverter {
	return {
		...converter,
		run: (files, raw, here) => converter.convert(files, valuesOf(converter.options(), raw), here),
	};
}

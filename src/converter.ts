/** What a converter is: it reads recordings of stacks and writes something else. No kernel needed. */
import { isatty } from 'node:tty';
import { type Argument, InvalidArgumentError } from 'commander';
import type { Origin, StackProfile } from './aggregate/stack-profile.js';
import { UsageError } from './errors.js';
import type { ReadOptions } from './input/format-reader.js';
import { STANDARD_INPUT } from './input/read-files.js';
import { inUnit } from './input/units.js';
import {
	flag,
	type Options,
	oneOf,
	parsed,
	type RawValues,
	textOption,
	type ValuesOf,
	valuesOf,
} from './options/typed-option.js';
import { PALETTES } from './render/palettes.js';
import { type Look, suitableLook } from './render/picture-look.js';
import type { Pieces } from './render/stack-formats.js';
import type { Style } from './render/terminal.js';

const STDIN = 0;

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
export interface ConverterDeclaration {
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

export interface Converter<O extends Options> extends ConverterDeclaration {
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

function pixels(low: number, high: number): (text: string) => number {
	return (text) => {
		const value = Number(text);
		if (text.trim() === '' || !(value >= low && value <= high)) {
			throw new InvalidArgumentError(`give pixels from ${low} to ${high}`);
		}
		return value;
	};
}

/** How a picture is to look. */
export function lookOptions() {
	return {
		title: textOption('--title <text>', 'title above the picture'),
		subtitle: textOption('--subtitle <text>', 'line below the title'),
		countname: textOption('--countname <unit>', 'unit of the counts, such as samples or us'),
		colors: oneOf(
			'--colors <palette>',
			'colors: hot, io, mem; kind: user, kernel and JIT code in different colors',
			PALETTES,
		),
		inverted: flag('--inverted', 'draw the root at the top (icicle graph)'),
		reverse: flag(
			'--reverse',
			'begin with the functions that ran or waited, and show their callers',
		),
		minwidth: parsed(
			'--minwidth <px>',
			'leave out boxes narrower than PX (default 0.1)',
			pixels(0, 100),
		),
		width: parsed(
			'--width <px>',
			'width of the picture in pixels (default 1200)',
			pixels(100, 100_000),
		),
	};
}

/** What `lookOptions` say; where they say nothing, what suits the profile. */
export function lookSettings(
	values: Partial<ValuesOf<ReturnType<typeof lookOptions>>>,
	profile: StackProfile,
): Look {
	const suitable = suitableLook(profile);
	checkCountName(values.countname, profile.origin);
	return {
		title: values.title ?? suitable.title,
		subtitle: values.subtitle ?? suitable.subtitle,
		countName: values.countname ?? suitable.countName,
		palette: values.colors ?? suitable.palette,
		inverted: values.inverted || suitable.inverted,
		reverse: values.reverse || suitable.reverse,
		minWidth_px: values.minwidth ?? suitable.minWidth_px,
		width_px: values.width ?? suitable.width_px,
	};
}

/** Throws UsageError where amounts would be said to be another amount: 1.5 ms to be 1,500,000 us. */
function checkCountName(countName: string | undefined, { unit }: Origin): void {
	if (countName === undefined || unit === undefined || countName === unit) return;
	if (inUnit(unit) === undefined && inUnit(countName) === undefined) return;
	throw new UsageError(
		`counts are in ${unit}, not ${countName}: leave out --countname, which is for inputs without a unit`,
	);
}

/** How stacks are read, where the options say nothing. */
export const PLAIN_READING: ReadOptions = {
	identify: 'none',
	addresses: false,
	inline: false,
	event: undefined,
};

/** Which event is shown of several. */
export function eventOptions() {
	return {
		event: textOption('-e, --event <event>', 'use only this event, if the input has several'),
		eventFilter: textOption(
			'--event-filter <event>',
			'the same as --event (as in stackcollapse-perf.pl)',
		).conflicts('event'),
	};
}

/** What `eventOptions` say. */
export function chosenEventName({
	event,
	eventFilter,
}: ValuesOf<ReturnType<typeof eventOptions>>): string | undefined {
	return event ?? eventFilter;
}

/** The files to read; standard input if none are named. Throws UsageError where nothing is piped in. */
export function inputsOf(files: readonly string[]): readonly string[] {
	const paths = files.length === 0 ? [STANDARD_INPUT] : files;
	if (paths.includes(STANDARD_INPUT) && isatty(STDIN)) {
		throw new UsageError('standard input is a terminal; name a FILE, or pipe a recording into it');
	}
	return paths;
}

/** What a converter is: it reads recordings of stacks and writes something else. No kernel needed. */
import { isatty } from 'node:tty';
import { type Argument, InvalidArgumentError, Option } from 'commander';
import type { Origin, StackProfile } from './aggregate/stack-profile.js';
import { UsageError } from './errors.js';
import type { ReadOptions } from './input/format-reader.js';
import { STANDARD_INPUT } from './input/read-files.js';
import { inUnit } from './input/units.js';
import type { OptionValues } from './options/option-values.js';
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

export interface Converter {
	readonly name: string;
	/** One line for `tstrace --help`, without a full stop. */
	readonly summary: string;
	/** The first paragraph of `tstrace NAME --help`. */
	readonly description: string;
	readonly usage: string;
	readonly examples: ReadonlyArray<readonly [command: string, effect: string]>;
	readonly arguments: () => Argument[];
	readonly options: () => Option[];
	/** Reads the files and returns the result. Throws UsageError and TstraceError. */
	convert(files: readonly string[], values: OptionValues, here: ResultDestination): Promise<Pieces>;
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
export function lookOptions(): Option[] {
	return [
		new Option('--title <text>', 'title above the picture'),
		new Option('--subtitle <text>', 'line below the title'),
		new Option('--countname <unit>', 'unit of the counts, such as samples or us'),
		new Option(
			'--colors <palette>',
			'colors: hot, io, mem; kind: user, kernel and JIT code in different colors',
		).choices(PALETTES),
		new Option('--inverted', 'draw the root at the top (icicle graph)'),
		new Option('--reverse', 'begin with the functions that ran or waited, and show their callers'),
		new Option('--minwidth <px>', 'leave out boxes narrower than PX (default 0.1)').argParser(
			pixels(0, 100),
		),
		new Option('--width <px>', 'width of the picture in pixels (default 1200)').argParser(
			pixels(100, 100_000),
		),
	];
}

/** What `lookOptions` say; where they say nothing, what suits the profile. */
export function lookSettings(values: OptionValues, profile: StackProfile): Look {
	const suitable = suitableLook(profile);
	checkCountName(values.countname as string | undefined, profile.origin);
	const given = <T>(name: string, otherwise: T): T => (values[name] as T | undefined) ?? otherwise;
	return {
		title: given('title', suitable.title),
		subtitle: given('subtitle', suitable.subtitle),
		countName: given('countname', suitable.countName),
		palette: given('colors', suitable.palette),
		inverted: given('inverted', suitable.inverted),
		reverse: given('reverse', suitable.reverse),
		minWidth_px: given('minwidth', suitable.minWidth_px),
		width_px: given('width', suitable.width_px),
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
export function eventOptions(): Option[] {
	return [
		new Option('-e, --event <event>', 'use only this event, if the input has several'),
		new Option(
			'--event-filter <event>',
			'the same as --event (as in stackcollapse-perf.pl)',
		).conflicts('event'),
	];
}

/** What `eventOptions` say. */
export function chosenEventName({ event, eventFilter }: OptionValues): string | undefined {
	return (event ?? eventFilter) as string | undefined;
}

/** The files to read; standard input if none are named. Throws UsageError where nothing is piped in. */
export function inputsOf(files: readonly string[]): readonly string[] {
	const paths = files.length === 0 ? [STANDARD_INPUT] : files;
	if (paths.includes(STANDARD_INPUT) && isatty(STDIN)) {
		throw new UsageError('standard input is a terminal; name a FILE, or pipe a recording into it');
	}
	return paths;
}

/** How a picture of stacks is to look. */
import { InvalidArgumentError } from 'commander';
import type { Origin, StackProfile } from '../aggregate/stack-profile.js';
import { UsageError } from '../errors.js';
import { inUnit } from '../input/units.js';
import { PALETTES } from '../render/palettes.js';
import { type Look, suitableLook } from '../render/picture-look.js';
import { flag, oneOf, parsed, textOption, type ValuesOf } from './typed-option.js';

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
			'colors: hot, io, mem; kind: kernel, JavaScript, Python, … in different colors',
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

/** diff: what changed between two recordings of stacks. */
import { Argument } from 'commander';
import { defineConverter, type ResultDestination } from '../../converter.js';
import { UsageError } from '../../errors.js';
import {
	formatOption,
	formatOptions,
	notForTerminal,
	refuseOtherPictures,
	unnamedFormat,
} from '../../options/choose-format.js';
import { lookOptions, lookSettings } from '../../options/look.js';
import { topOption } from '../../options/parsers.js';
import { chosenEventName, eventOptions } from '../../options/recordings.js';
import { stackFilterOptions } from '../../options/stack-filter.js';
import { oneOfOr, type ValuesOf } from '../../options/typed-option.js';
import type { Look } from '../../render/picture-look.js';
import type { Style } from '../../render/terminal.js';
import { compareFiles } from './comparison.js';
import { type Difference, NORMALIZATIONS } from './difference.js';
import { renderDifferenceFolded } from './folded.js';
import { renderDifferenceJson } from './json.js';
import { differenceTitles, renderDifferenceSvg } from './svg.js';
import { renderDifferenceText } from './text.js';

const FORMATS = ['text', 'svg', 'json', 'folded'] as const;
type Format = (typeof FORMATS)[number];
const USE = 'report';

export const diff = defineConverter({
	name: 'diff',
	summary: 'what changed between two recordings of stacks',
	description:
		'Compares two recordings: results of tstrace --json, folded stacks, perf script text, pprof or speedscope. ' +
		'Shows the functions that changed most. With -o FILE.svg it draws a differential flame graph, ' +
		'which also shows what is gone.',
	usage: '[options] BEFORE AFTER',
	examples: [
		['tstrace diff before.json after.json', 'the largest changes'],
		['tstrace diff before.json after.json -o diff.svg', 'the same as a picture'],
		['tstrace diff --normalize none a.folded b.folded', 'without scaling'],
	],
	arguments: () => [
		new Argument('<before>', 'the first recording; - is standard input'),
		new Argument('<after>', 'the second recording; - is standard input'),
	],
	options: () => ({
		...formatOptions(FORMATS, USE),
		normalize: oneOfOr(
			'--normalize <to>',
			'scale BEFORE to the total, or to the duration, of AFTER; none: do not scale',
			NORMALIZATIONS,
			'total',
		),
		top: topOption(10, 'largest changes'),
		...lookOfDifference(),
		...stackFilterOptions(),
		...eventOptions(),
	}),

	async convert([before = '', after = ''], values, here) {
		const format = formatFor(values, here);
		const notices: string[] = [];
		const difference = await compareFiles(
			{ before, after },
			{
				normalization: values.normalize,
				event: chosenEventName(values),
				grep: values.grep,
				exclude: values.exclude,
			},
			(notice) => {
				notices.push(notice);
				here.notify(notice);
			},
		);
		const { top } = values;
		if (format !== 'text') {
			await here.show((style) => renderDifferenceText(difference, { style, top }));
		}
		switch (format) {
			case 'text':
				return [renderDifferenceText(difference, { style: textStyle(here), top })];
			case 'json':
				return renderDifferenceJson(difference, notices);
			case 'folded':
				return renderDifferenceFolded(difference);
			case 'svg':
				return renderDifferenceSvg(difference, lookOf(difference, values));
		}
	},
});

const ENDINGS: ReadonlyArray<readonly [string, Format]> = [
	['.txt', 'text'],
	['.svg', 'svg'],
	['.json', 'json'],
	['.folded', 'folded'],
];

/** Throws UsageError for a place that the format is not for. */
function formatFor(
	values: Parameters<typeof formatOption<Format>>[0],
	{ output, terminal }: ResultDestination,
): Format {
	const format = formatOption(values, FORMATS);
	if (format === undefined && output?.endsWith('.html')) {
		throw new UsageError('diff cannot write HTML; browsers show SVG too: -o FILE.svg');
	}
	if (format === undefined) refuseOtherPictures(output);
	const ending = ENDINGS.find(([end]) => output?.endsWith(end));
	const named = format ?? ending?.[1];
	if (terminal && named === 'svg') throw notForTerminal(named);
	return named ?? unnamedFormat(USE, terminal);
}

/** What does not go to a terminal needs no names cut. */
function textStyle({ terminal, style }: ResultDestination): Style {
	return terminal ? style : { ...style, width: Number.POSITIVE_INFINITY };
}

/** The colors tell what changed, and the unit is the recordings'. */
function lookOfDifference() {
	const { colors, countname, ...others } = lookOptions();
	return others;
}

function lookOf(
	difference: Difference,
	values: ValuesOf<ReturnType<typeof lookOfDifference>>,
): Look {
	const titles = differenceTitles(difference);
	const { title = titles.title, subtitle = titles.subtitle } = values;
	return lookSettings(
		{ ...values, title, subtitle },
		{ ...difference, ...difference.sides.after, stacks: difference.stacks },
	);
}

/** flamegraph: stacks as a picture. */
import { Argument } from 'commander';
import { keepStacks } from '../../aggregate/keep-stacks.js';
import { profileTotal, type StackProfile } from '../../aggregate/stack-profile.js';
import { defineConverter } from '../../converter.js';
import { TstraceError, UsageError } from '../../errors.js';
import type { Notify, ReadOptions } from '../../input/format-reader.js';
import { readProfiles } from '../../input/read-files.js';
import { formatHelp, notForTerminal, stackFormatOfFile } from '../../options/choose-format.js';
import { lookOptions, lookSettings } from '../../options/look.js';
import {
	chosenEventName,
	eventOptions,
	inputsOf,
	PLAIN_READING,
} from '../../options/recordings.js';
import { filterText, stackFilterOptions } from '../../options/stack-filter.js';
import { oneOf } from '../../options/typed-option.js';
import { ALL_MARKS, NO_MARKS } from '../../render/folded.js';
import { grouped } from '../../render/numbers.js';
import { type Look, shareText } from '../../render/picture-look.js';
import { renderStackFormat, STACK_FORMATS } from '../../render/stack-formats.js';
import { isUnsaid, withGuessedOrigin } from './guess.js';
import { PipeWriter } from './pipe-writer.js';
import { stackToolNamed, withStackTool } from './stack-tools.js';

export const flamegraph = defineConverter({
	name: 'flamegraph',
	summary: 'draw a flame graph from folded stacks, perf script or JSON',
	description:
		'Reads folded stacks, perf script text, results of tstrace --json, pprof or speedscope, from ' +
		'FILEs or standard input, and writes an interactive SVG: click to zoom, Ctrl-F to search. ' +
		'With --format it writes a file for another viewer: pprof, speedscope.',
	usage: '[options] [FILE…]',
	examples: [
		['tstrace offcputime -p 1234 5 | tstrace flamegraph > offcpu.svg', ''],
		['perf script | tstrace flamegraph -o cpu.svg', ''],
	],
	arguments: () => [new Argument('[files...]', 'recordings; none, or -: standard input')],
	options: () => ({
		format: oneOf('--format <format>', formatHelp('svg'), STACK_FORMATS),
		...lookOptions(),
		...stackFilterOptions(),
		...eventOptions(),
	}),

	async convert(files, values, here) {
		const named = values.format ?? stackFormatOfFile(here.output);
		if (named === undefined && here.output?.endsWith('.json')) {
			throw new UsageError(
				'flamegraph cannot write plain JSON; for speedscope: -o FILE.speedscope.json',
			);
		}
		const format = named ?? 'svg';
		if (here.terminal && format !== 'folded') throw notForTerminal(format);
		const reading: ReadOptions = { ...PLAIN_READING, event: chosenEventName(values) };
		const { profiles, writer } = await readFromWriter(inputsOf(files), reading, here.notify);
		const event = await withOriginOf(writer, chosenEvent(profiles, here.notify));
		const said = values.countname !== undefined;
		const whole = await withStackTool(said ? event : withGuessedOrigin(event, here.notify));
		const profile = keepStacks(whole, values);
		if (profileTotal(profile) === 0) {
			throw new TstraceError('nothing to draw: no stack matches the options, or all counts are 0');
		}
		return renderStackFormat(format, profile, {
			look: lookOf(values, profile, [filterText(values), ofTotal(profile, whole)]),
			marks: profile.marked ? ALL_MARKS : NO_MARKS,
			divisor: 1,
			sorted: false,
		});
	},
});

/** Arguments of the tstrace that wrote what was read; undefined: it was another program, or a file. */
type Writer = readonly string[] | undefined;

/** What was read, and which program wrote it. Throws TstraceError. */
async function readFromWriter(
	inputs: readonly string[],
	reading: ReadOptions,
	notify: Notify,
): Promise<{ profiles: StackProfile[]; writer: Writer }> {
	// Before anything is read: a program that has written everything may be gone.
	const pipe = inputs.length === 1 ? PipeWriter.of(inputs[0] as string) : undefined;
	try {
		const profiles = await readProfiles(inputs, reading, notify);
		return { profiles, writer: pipe?.arguments };
	} catch (error) {
		const [tool = '', ...options] = pipe?.arguments ?? [];
		const isReport = (await stackToolNamed(tool))?.use === 'report' && !options.some(namesFormat);
		if (!isReport || !(error instanceof TstraceError)) throw error;
		throw new TstraceError(
			`standard input is a text report, not stacks; to draw them: tstrace ${tool} --folded … | flamegraph`,
			error.message,
		);
	} finally {
		pipe?.close();
	}
}

const namesFormat = (word: string): boolean => /^--(folded|json|format\b)/.test(word);

/** Folded stacks do not say what they are; the program that writes them knows. */
async function withOriginOf(writer: Writer, profile: StackProfile): Promise<StackProfile> {
	const [name] = writer ?? [];
	const tool = await stackToolNamed(name);
	if (!writer || !name || !tool || !isUnsaid(profile.origin)) return profile;
	const command = ['tstrace', ...writer];
	return { ...profile, origin: { tool: name, unit: tool.folded.unit, command } };
}

/** How much of the recording is shown; '': all of it. */
function ofTotal(profile: StackProfile, whole: StackProfile): string {
	const share = profileTotal(profile) / profileTotal(whole);
	return share === 1 ? '' : `${shareText(share)} of all`;
}

/** What suits it, with what was done to it said below the title. */
function lookOf(
	values: Parameters<typeof lookSettings>[0],
	profile: StackProfile,
	remarks: readonly string[],
): Look {
	const look = lookSettings(values, profile);
	const said = [look.subtitle, ...remarks, look.reverse ? 'merged from the leaf' : ''];
	return { ...look, subtitle: said.filter((part) => part !== '').join(' · ') };
}

/**
 * A picture has one unit, so one event: what its file prefers, else the one with most samples, or
 * where they are not known, stacks.
 */
function chosenEvent(
	profiles: readonly StackProfile[],
	notify: (notice: string) => void,
): StackProfile {
	const [first, ...others] = [...profiles].sort(
		(a, b) => Number(b.preferred ?? false) - Number(a.preferred ?? false) || sizeOf(b) - sizeOf(a),
	);
	if (!first)
		throw new TstraceError('the input is empty: it has no stacks; was anything recorded?');
	if (others.length > 0) {
		const rest = others.map(
			(profile) => `${eventOf(profile)} (${grouped(sizeOf(profile))} ${nounOf(profile)})`,
		);
		notify(`shown: ${eventOf(first)}; not shown: ${rest.join(', ')}; choose one with --event NAME`);
	}
	return first;
}

const eventOf = ({ origin }: StackProfile): string =>
	origin.event ?? origin.tool ?? 'without a name';
const sizeOf = ({ samples, stacks }: StackProfile): number => samples ?? stacks.size;
const nounOf = ({ samples }: StackProfile): string =>
	samples === undefined ? 'stacks' : 'samples';

/** Two recordings that can be compared: read, told whether they can, and put together. */

import { keepStacks } from '../../aggregate/keep-stacks.js';
import { profileTotal, type StackProfile } from '../../aggregate/stack-profile.js';
import { TstraceError, UsageError } from '../../errors.js';
import type { Notify } from '../../input/format-reader.js';
import { readProfiles, STANDARD_INPUT } from '../../input/read-files.js';
import { PLAIN_READING } from '../../options/recordings.js';
import { refusalOf, remarksOf } from './comparable.js';
import {
	type Difference,
	differenceOf,
	factorOf,
	type Normalization,
	type Side,
	type Sides,
	sideOf,
} from './difference.js';

interface ComparisonSettings {
	readonly normalization: Normalization;
	/** Only this event; undefined: the one that both have. */
	readonly event: string | undefined;
	/** Which stacks are shown. */
	readonly grep: RegExp | undefined;
	readonly exclude: RegExp | undefined;
}

/** Throws UsageError and TstraceError, also for what cannot be compared. */
export async function compareFiles(
	files: Sides<string>,
	settings: ComparisonSettings,
	notify: Notify,
): Promise<Difference> {
	if (files.before === STANDARD_INPUT && files.after === STANDARD_INPUT) {
		throw new UsageError(
			'only one of BEFORE and AFTER can be standard input; give a file for the other',
		);
	}
	const reading = { ...PLAIN_READING, event: settings.event };
	const profiles = pairOf(
		{
			before: await readProfiles([files.before], reading, notify),
			after: await readProfiles([files.after], reading, notify),
		},
		notify,
	);
	const sides = {
		before: sideOf(files.before, profiles.before),
		after: sideOf(files.after, profiles.after),
	};
	const origins = { before: profiles.before.origin, after: profiles.after.origin };
	const refusal = refusalOf(origins, settings.normalization);
	if (refusal !== undefined) throw new TstraceError(refusal);
	const factor = factorFor(sides, settings.normalization);
	for (const remark of remarksOf(origins)) notify(remark);
	const shown = {
		before: keepStacks(profiles.before, settings),
		after: keepStacks(profiles.after, settings),
	};
	if (profileTotal(shown.before) === 0 && profileTotal(shown.after) === 0) {
		throw new TstraceError('nothing to compare: no stack matches the options, or all counts are 0');
	}
	return differenceOf(shown, { sides, normalization: settings.normalization, factor });
}

function factorFor(sides: Sides<Side>, normalization: Normalization): number {
	const factor = factorOf(sides, normalization);
	if (factor !== undefined) return factor;
	const lacks = ({ total, origin }: Side) =>
		normalization === 'total' ? total === 0 : !origin.duration_s;
	const { name } = lacks(sides.before) ? sides.before : sides.after;
	if (normalization === 'total') {
		throw new TstraceError(
			`nothing was counted in ${name}, so there are no shares; use --normalize none`,
		);
	}
	throw new UsageError(
		`${name} does not say how long it was recorded; use --normalize total, or results of tstrace --json`,
	);
}

/** Of all pairs that count the same event the one with most stacks. */
function pairOf(
	{ before, after }: Sides<readonly StackProfile[]>,
	notify: Notify,
): Sides<StackProfile> {
	const pairs = before
		.flatMap((was) => after.map((is) => ({ before: was, after: is })))
		.sort((a, b) => stacksOf(b) - stacksOf(a));
	const comparable = pairs.filter(
		(pair) =>
			refusalOf({ before: pair.before.origin, after: pair.after.origin }, 'total') === undefined,
	);
	// Where there is no choice, whoever asks next says what is wrong with it.
	const [chosen] = pairs.length === 1 ? pairs : comparable;
	if (!chosen) {
		throw new TstraceError(
			`no event is in both: before has ${eventNames(before)}, after has ${eventNames(after)}; record the same event (-e)`,
		);
	}
	const others = [...before, ...after].filter(
		(profile) => profile !== chosen.before && profile !== chosen.after,
	);
	if (others.length > 0) {
		notify(
			`compared: ${eventNames([chosen.after])}; not compared: ${eventNames(others)}; ` +
				'choose one with --event NAME',
		);
	}
	return chosen;
}

const stacksOf = ({ before, after }: Sides<StackProfile>): number =>
	before.stacks.size + after.stacks.size;

function eventNames(profiles: readonly StackProfile[]): string {
	const names = profiles.map(({ origin }) => origin.event ?? 'one without a name');
	return [...new Set(names)].join(', ') || 'none';
}

/** How a picture looks: what is asked for, and what suits it else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from 'commander';
import type { StackProfile } from '../../../src/aggregate/stack-profile.js';
import { UsageError } from '../../../src/errors.js';
import { lookOptions, lookSettings } from '../../../src/options/look.js';
import { offered, valuesOf } from '../../../src/options/typed-option.js';
import { type Look, suitableLook } from '../../../src/render/picture-look.js';
import { fromFolded } from '../profiles.js';

const { profile } = await fromFolded('main;f 1\n');

function look(words: readonly string[], of: StackProfile = profile): Look {
	const cli = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
	for (const option of offered(lookOptions())) cli.addOption(option);
	return lookSettings(valuesOf(lookOptions(), cli.parse([...words], { from: 'user' }).opts()), of);
}

test('each option changes what it is named after, and nothing else', () => {
	const suitable = suitableLook(profile);
	assert.deepEqual(look([]), suitable);
	assert.deepEqual(lookSettings({}, profile), suitable);
	const changes: readonly (readonly [words: readonly string[], change: Partial<Look>])[] = [
		[['--title', 'T'], { title: 'T' }],
		[['--subtitle', 'S'], { subtitle: 'S' }],
		[['--countname', 'cows'], { countName: 'cows' }],
		[['--colors', 'io'], { palette: 'io' }],
		[['--inverted'], { inverted: true }],
		[['--reverse'], { reverse: true }],
		[['--minwidth', '0'], { minWidth_px: 0 }],
		[['--minwidth', '100'], { minWidth_px: 100 }],
		[['--width', '100'], { width_px: 100 }],
		[['--width', '100000'], { width_px: 100_000 }],
	];
	for (const [words, change] of changes)
		assert.deepEqual(look(words), { ...suitable, ...change }, words.join(' '));
});

test('pixels are numbers, within what can be drawn', () => {
	for (const words of [
		['--width', '99'],
		['--width', '100001'],
		['--width', ''],
		['--width', 'wide'],
		['--minwidth', '-1'],
		['--minwidth', '101'],
		['--minwidth', ' '],
	])
		assert.throws(
			() => look(words),
			/give pixels from (100 to 100000|0 to 100)\.?$/,
			words.join(' '),
		);
});

test('a unit that is known is not given another name: the numbers would not be true', () => {
	const of = (unit: string) => ({ ...profile, origin: { ...profile.origin, unit } });
	assert.equal(look(['--countname', 'ns'], of('ns')).countName, 'ns');
	assert.equal(look(['--countname', 'cows'], of('samples')).countName, 'cows');
	for (const [unit, name] of [
		['ns', 'us'],
		['ns', 'cows'],
		['samples', 'us'],
		['bytes', 'ns'],
	] as const) {
		const refused = (error: Error) =>
			error instanceof UsageError &&
			error.message.startsWith(`counts are in ${unit}, not ${name}: `);
		assert.throws(() => look(['--countname', name], of(unit)), refused);
	}
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FrameTable } from '../../../src/aggregate/frame-table.js';
import type { Origin } from '../../../src/aggregate/stack-profile.js';
import { StackTable } from '../../../src/aggregate/stack-table.js';
import { renderSpeedscope } from '../../../src/render/speedscope.js';
import { profileOfText } from '../input/formats.js';
import { profileOfStacks } from '../profiles.js';
import { HOSTILE } from '../support.js';
import { type JsonSchema, violations } from './json-schema.js';

const schema: JsonSchema = JSON.parse(
	readFileSync('node_modules/speedscope/dist/release/file-format-schema.json', 'utf8'),
);

test('the schema of speedscope holds, and the check finds what does not', async () => {
	const profile = await profileOfText('sh;main;read_[k] 5\nsh;x_[i] 0.5\nsh;js_[j] 1\nsh 0\n');
	const file = JSON.parse([...renderSpeedscope(profile)].join(''));
	assert.deepEqual(violations(file, schema), []);
	const { name: _, ...nameless } = file.profiles[0];
	for (const wrong of [
		{ ...file, profiles: [nameless] },
		{ ...file, $schema: 'https://example.org' },
		{ ...file, profiles: [{ ...file.profiles[0], unit: 'ns' }] },
		{ ...file, shared: { frames: [{ name: 7 }] } },
		{ ...file, profiles: [{ ...file.profiles[0], samples: [['0']] }] },
	]) {
		assert.notDeepEqual(violations(wrong, schema), []);
	}
});

test('frames with their kinds, stacks root first, a weight for each', async () => {
	const profile = await profileOfText('sh;main;read_[k] 5\nsh;x_[i] 0.5\nsh;js_[j] 1\nsh 0\n');
	const file = JSON.parse([...renderSpeedscope(profile)].join(''));
	assert.deepEqual(file.shared.frames, [
		{ name: 'sh' },
		{ name: 'main' },
		{ name: 'read', file: '[kernel]' },
		{ name: 'x', file: '[inlined]' },
		{ name: 'js', file: '[jit]' },
	]);
	assert.equal(file.profiles.length, 1);
	const { samples, weights, startValue, endValue, unit } = file.profiles[0];
	assert.deepEqual(samples, [
		[0, 1, 2],
		[0, 3],
		[0, 4],
	]);
	assert.deepEqual(weights, [5, 0.5, 1]);
	assert.deepEqual([startValue, endValue, unit], [0, 6.5, 'none']);
});

test('units of speedscope where it has them', async () => {
	const profile = await profileOfText('a 1\n');
	const units = { ns: 'nanoseconds', bytes: 'bytes', samples: 'none', us: 'microseconds' };
	for (const [unit, expected] of Object.entries(units)) {
		const file = JSON.parse([...renderSpeedscope({ ...profile, origin: { unit } })].join(''));
		assert.equal(file.profiles[0].unit, expected);
		assert.equal(file.tstrace.unit, unit);
	}
});

test('names come through as they are, on one line that no terminal obeys', () => {
	const frames = new FrameTable();
	const stacks = new StackTable();
	const names = [...HOSTILE, '\u2028\u2029', '"\\', '</script>'];
	for (const name of names) stacks.add([frames.intern(name)], 1, 1);
	// UTF-8 has no half characters.
	stacks.add([frames.intern('half \ud800')], 1, 1);
	const text = [...renderSpeedscope({ frames, stacks, origin: {}, marked: false })].join('');
	assert.doesNotMatch(text.slice(0, -1), /[\p{Cc}\u2028\u202e]/u);
	const read = JSON.parse(text).shared.frames.map(({ name }: { name: string }) => name);
	assert.deepEqual(read, [...names, 'half \ufffd']);
});

test('large files come in pieces', () => {
	const frames = new FrameTable();
	const stacks = new StackTable();
	for (let i = 0; i < 50_000; i++) {
		stacks.add([frames.intern(`function_${i}`), frames.intern('leaf')], 2, i + 1);
	}
	const pieces = [...renderSpeedscope({ frames, stacks, origin: {}, marked: false })];
	assert.ok(pieces.length > 20);
	assert.ok(pieces.every((piece) => piece.length < 100_000));
	assert.equal(JSON.parse(pieces.join('')).profiles[0].weights.length, 50_000);
});

test('a file is called after what was recorded, and by what', async () => {
	const nameOf = async (origin: Origin) =>
		JSON.parse([...renderSpeedscope(profileOfStacks({ a: 1 }, origin))].join('')).name;
	assert.equal(await nameOf({}), 'Flame Graph');
	assert.equal(await nameOf({ command: ['tstrace', 'profile'] }), 'Flame Graph: tstrace profile');
});

test('the profile is named after its event; all that is known of the recording is beside it', () => {
	const about = (origin: Origin) => {
		const file = JSON.parse([...renderSpeedscope(profileOfStacks({ a: 1 }, origin))].join(''));
		return [file.profiles[0].name, file.profiles[0].unit, file.tstrace];
	};
	const cycles = { event: 'cycles', host: 'web1', unit: 'ms' };
	assert.deepEqual(about(cycles), ['cycles', 'milliseconds', cycles]);
	assert.deepEqual(about({ unit: 's' }), ['Flame Graph', 'seconds', { unit: 's' }]);
});

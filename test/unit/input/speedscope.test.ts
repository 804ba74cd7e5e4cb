import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldedOf, profilesOf } from './formats.js';

const frames = ['main', 'a', 'b'].map((name) => ({ name }));
const sampled = (name: string, unit: string, samples: number[][], weights: number[]) => ({
	type: 'sampled',
	name,
	unit,
	startValue: 0,
	endValue: 1,
	samples,
	weights,
});
const fileOf = (...profiles: object[]) => ({
	exporter: 'another',
	profiles,
	shared: { frames },
	$schema: 'https://www.speedscope.app/file-format-schema.json',
});

test('frames that are opened and closed have the time in between', async () => {
	const events = [
		{ type: 'O', frame: 0, at: 10 },
		{ type: 'O', frame: 1, at: 12 },
		{ type: 'C', frame: 1, at: 15 },
		{ type: 'C', frame: 0, at: 16 },
		{ type: 'O', frame: 0, at: 20 },
		{ type: 'O', frame: 2, at: 20 },
	];
	const profile = { type: 'evented', name: 't', unit: 'microseconds', startValue: 5, endValue: 25 };
	const [read] = await profilesOf(JSON.stringify(fileOf({ ...profile, events })));
	assert.equal(foldedOf(read), 'main 3000\nmain;a 3000\nmain;b 5000\n');
	assert.equal(read?.origin.unit, 'ns');
	// An end in front of the last event is none.
	const [early] = await profilesOf(JSON.stringify(fileOf({ ...profile, events, endValue: 18 })));
	assert.equal(foldedOf(early), 'main 3000\nmain;a 3000\n');
});

test('threads are added up, in nanoseconds, whatever the units of their times', async () => {
	const notices: string[] = [];
	const file = fileOf(
		sampled('T1', 'seconds', [[0], [0, 1]], [0.07, 1]),
		sampled('T2', 'milliseconds', [[0], [0, 2]], [5, 2.5]),
	);
	const profiles = await profilesOf(JSON.stringify(file), { notices });
	assert.deepEqual(profiles.map(foldedOf), ['main 75000000\nmain;a 1000000000\nmain;b 2500000\n']);
	assert.deepEqual(notices, ['the result adds up 2 profiles: T1, T2']);
});

test('what has another unit is another event', async () => {
	const file = fileOf(
		sampled('cpu', 'seconds', [[0]], [1]),
		sampled('memory', 'bytes', [[0, 1]], [4096]),
		sampled('objects', 'none', [[0, 2]], [3]),
	);
	const profiles = await profilesOf(JSON.stringify(file));
	assert.deepEqual(
		profiles.map(({ origin }) => [origin.event, origin.unit]),
		[
			['ns', 'ns'],
			['bytes', 'bytes'],
			['none', undefined],
		],
	);
});

test('pretty-printed, and on one line with or without its end', async () => {
	const file = fileOf(sampled('a', 'none', [[0, 1]], [2]));
	for (const text of [
		JSON.stringify(file, undefined, 2),
		`\n\n  ${JSON.stringify(file, undefined, '\t')}\r\n`,
		JSON.stringify(file),
		`${JSON.stringify(file)}\r\n`,
	]) {
		for (const chunkBytes of [64, 1 << 20]) {
			const [read] = await profilesOf(text, { chunkBytes });
			assert.equal(foldedOf(read), 'main;a 2\n');
		}
	}
});

test('results of tstrace: many lines, or one that somebody made readable', async () => {
	const result = {
		tool: 'profile',
		unit: 'samples',
		stacks: [{ frames: ['f'], value: 2, key: {} }],
	};
	const line = `${JSON.stringify(result)}\n`;
	assert.equal((await profilesOf(line + line)).length, 2);
	const [read] = await profilesOf(JSON.stringify(result, undefined, 2));
	assert.equal(read?.origin.tool, 'profile');
});

test('damage is named', async () => {
	const good = sampled('a', 'none', [[0]], [1]);
	const damages: Array<[object, RegExp]> = [
		[{ ...good, samples: [[7]] }, /a frame that the file does not list/],
		[{ ...good, samples: [[0.5]] }, /a frame that the file does not list/],
		[{ ...good, weights: [] }, /a weight for each sample/],
		[{ ...good, weights: [-1] }, /is negative, or not a number/],
		[{ ...good, type: 'other' }, /neither sampled nor evented/],
		[{ ...good, type: 'evented', events: [{ type: 'C', frame: 0, at: 0 }] }, /not open/],
		[
			{
				...good,
				type: 'evented',
				events: [
					{ type: 'O', frame: 0, at: 9 },
					{ type: 'C', frame: 0, at: 1 },
				],
			},
			/sorted by time/,
		],
	];
	for (const [profile, message] of damages) {
		await assert.rejects(profilesOf(JSON.stringify(fileOf(profile))), {
			name: 'TstraceError',
			message,
		});
	}
});

test('of many profiles three are named, and that there are more', async () => {
	const said = async (...names: string[]) => {
		const notices: string[] = [];
		const profiles = names.map((name) => sampled(name, 'none', [[0]], [1]));
		await profilesOf(JSON.stringify(fileOf(...profiles)), { notices });
		return notices;
	};
	assert.deepEqual(await said('T1'), []);
	assert.deepEqual(await said('T1', 'T2', 'T3'), ['the result adds up 3 profiles: T1, T2, T3']);
	assert.deepEqual(await said('T1', 'T2', 'T3', 'T4'), [
		'the result adds up 4 profiles: T1, T2, T3, …',
	]);
});

test('without an end and a beginning, frames have the time between the events', async () => {
	const events = [
		{ type: 'O', frame: 0, at: 10 },
		{ type: 'C', frame: 0, at: 13 },
	];
	const [read] = await profilesOf(
		JSON.stringify(fileOf({ type: 'evented', name: 't', unit: 'none', events })),
	);
	assert.equal(foldedOf(read), 'main 3\n');
	assert.equal(read?.origin.unit, undefined);
	const late = { type: 'evented', name: 't', unit: 'none', startValue: 11, events };
	await assert.rejects(profilesOf(JSON.stringify(fileOf(late))), /not sorted by time/);
});

test('weights keep their decimals where they have no unit; a frame has the kind of its file', async () => {
	const file = {
		...fileOf(sampled('a', 'none', [[0, 1]], [1.25])),
		shared: { frames: [{ name: 'main' }, { name: 'read', file: '[kernel.kallsyms]' }] },
	};
	const [read] = await profilesOf(JSON.stringify(file));
	assert.equal(foldedOf(read), 'main;read_[k] 1.25\n');
});

test('a file with several units: what tstrace said of one is not said of all', async () => {
	const file = {
		...fileOf(sampled('cpu', 'none', [[0]], [1]), sampled('memory', 'bytes', [[0, 1]], [4096])),
		tstrace: { tool: 'profile', unit: 'samples' },
	};
	const profiles = await profilesOf(JSON.stringify(file));
	assert.deepEqual(
		profiles.map(({ origin }) => origin.unit),
		[undefined, 'bytes'],
	);
});

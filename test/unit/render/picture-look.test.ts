/** What suits a recording, where nobody says how it is to look. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Origin } from '../../../src/aggregate/stack-profile.js';
import { suitableLook, utcText } from '../../../src/render/picture-look.js';
import { profileOfStacks } from '../profiles.js';

const lookOf = (origin: Origin, counts = { a: 1 }) => suitableLook(profileOfStacks(counts, origin));

test('below the title: which command, what, where, when, and how long', () => {
	const origin = {
		...{ command: ['tstrace', 'profile', '2.5'], event: 'cycles', host: 'web1', unit: 'samples' },
		...{ start: '2025-07-01T12:00:00.123Z', duration_s: 2.5004 },
	};
	assert.equal(
		lookOf(origin).subtitle,
		'tstrace profile 2.5 · cycles · web1 · 2025-07-01 12:00:00 UTC · 2.5 s',
	);
	assert.equal(lookOf({ duration_s: 0.0421 }).subtitle, '0.042 s');
	assert.equal(lookOf({}).subtitle, '');
	assert.equal(utcText('yesterday'), 'yesterday');
	assert.deepEqual([lookOf(origin).countName, lookOf({}).countName], ['samples', '']);
});

test('an event that counts while a CPU runs gives a picture its title', () => {
	for (const event of ['cycles', 'cycles:ppp', 'cpu-clock', 'task-clock:u', 'cpu-cycles'])
		assert.equal(lookOf({ event }).title, 'CPU Flame Graph', event);
	for (const event of ['cycles2', 'cpu-clock-x', 'page-faults', 'my-cycles', 'sched:sched_switch'])
		assert.equal(lookOf({ event }).title, 'Flame Graph', event);
	assert.equal(lookOf({}).title, 'Flame Graph');
});

test('colours tell kinds of frames, if any of them is known', () => {
	assert.equal(lookOf({}).palette, 'hot');
	const counts = { 'main;f': 1, 'main;read_[k]': 1 };
	assert.equal(suitableLook(profileOfStacks(counts)).palette, 'kind', 'the last one, too');
});

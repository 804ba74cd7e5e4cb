import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LostSoFar } from '../../../src/run/lost-so-far.js';

const SECOND_MS = 1000;

test('514 losses, one a second: once a minute what it is until then, all at the end', () => {
	const lost = new LostSoFar(0);
	const lines: string[] = [];
	for (let second = 0; second < 514; second++) {
		lines.push(...lost.add({ events_ring_full: 10 }, second * SECOND_MS, false));
	}
	assert.match(lines[0] ?? '', /^lost so far: 160 events: .*\(events_ring_full\)$/);
	assert.match(lines[1] ?? '', /^lost so far: 760 events: /);
	assert.equal(lines.length, 1 + Math.floor((513 - 15) / 60));
	const end = lost.add({ events_ring_full: 5, programs_missed: 1 }, 514 * SECOND_MS, true);
	assert.equal(end.length, 2);
	assert.match(end[0] ?? '', /^lost: 5,145 events: /);
	assert.match(end[1] ?? '', /^lost: 1 program run: /);
});

test('where nothing more is lost nothing more is said, until the end', () => {
	const lost = new LostSoFar(0);
	assert.deepEqual(lost.add({}, 0, false), []);
	assert.deepEqual(lost.add({ waits_unseen: 1 }, SECOND_MS, false), []);
	assert.equal(lost.add({}, 20 * SECOND_MS, false).length, 1);
	for (let minute = 1; minute < 10; minute++) {
		assert.deepEqual(lost.add({}, minute * 100 * SECOND_MS, false), []);
	}
	assert.match(lost.add({}, 2000 * SECOND_MS, true)[0] ?? '', /^lost: 1 wait: /);
	assert.deepEqual(new LostSoFar(0).add({}, 0, true), []);
});

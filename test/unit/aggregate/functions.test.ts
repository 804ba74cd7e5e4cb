import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { functionTotals } from '../../../src/aggregate/functions.js';
import { profileTotal } from '../../../src/aggregate/stack-profile.js';
import { anyCounts, type Counts, profileFrom } from '../profiles.js';

function totalsOf(counts: Counts): Record<string, [self: number, total: number]> {
	const { frames, stacks } = profileFrom(counts);
	const { self, total } = functionTotals(frames, stacks, stacks.values());
	return Object.fromEntries(
		Array.from(self, (value, frame) => [frames.name(frame), [value, total[frame] as number]]),
	);
}

test('self is where stacks end, total where a function is in them', () => {
	assert.deepEqual(totalsOf({ 'main;f': 3, 'main;f;g': 4, main: 1 }), {
		main: [1, 8],
		f: [3, 7],
		g: [4, 4],
	});
});

test('recursion counts once', () => {
	assert.deepEqual(totalsOf({ 'main;f;g;f;f': 5, 'f;f': 2 }), {
		main: [0, 5],
		f: [7, 7],
		g: [0, 5],
	});
});

test('selfs add up to all there is, and no function has more in total than that', () => {
	fc.assert(
		fc.property(anyCounts, (counts) => {
			const profile = profileFrom(counts);
			const { frames, stacks } = profile;
			const { self, total } = functionTotals(frames, stacks, stacks.values());
			const all = profileTotal(profile);
			assert.equal(
				self.reduce((sum, value) => sum + value, 0),
				all,
			);
			for (const [frame, value] of total.entries()) {
				assert.ok(value <= all && value >= (self[frame] as number));
			}
		}),
	);
});

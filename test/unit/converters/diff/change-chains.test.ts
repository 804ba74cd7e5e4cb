import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { changeChains } from '../../../../src/converters/diff/change-chains.js';
import {
	changeOf,
	type Difference,
	differenceOf,
	functionChanges,
	sideOf,
} from '../../../../src/converters/diff/difference.js';
import { anyCounts, type Counts, profileOfStacks } from '../../profiles.js';

function between(before: Counts, after: Counts): Difference {
	const profiles = { before: profileOfStacks(before), after: profileOfStacks(after) };
	const sides = { before: sideOf('a', profiles.before), after: sideOf('b', profiles.after) };
	return differenceOf(profiles, { sides, normalization: 'none', factor: 1 });
}

/** Chains as text, sorted. */
function chainsOf(before: Counts, after: Counts): string[] {
	const difference = between(before, after);
	return changeChains(difference, functionChanges(difference))
		.map(({ change, callers }) => [change, ...callers].map(({ name }) => name).join(' < '))
		.sort();
}

test('callers whose whole change is that of what they call are one chain with it', () => {
	const chain = 'main;run;write;sys;vfs';
	assert.deepEqual(chainsOf({ [chain]: 1, 'main;idle': 9 }, { [chain]: 7, 'main;idle': 9 }), [
		'vfs < sys < write < run < main',
	]);
	// Of the change of main a third is in read; of that of write one half is its own.
	const branches = { 'main;run;write;sys': 10, 'main;run;write': 10, 'main;read;sys': 10 };
	assert.deepEqual(chainsOf({}, branches), ['main', 'read', 'sys', 'write < run']);
});

test('what differs a little from one to the next ends a chain where it differs from its deepest', () => {
	// Each has nine per cent more than what it calls.
	const after = { 'a;b;c;d': 100, 'a;b;c': 9, 'a;b': 10, a: 11 };
	assert.deepEqual(chainsOf({}, after), ['b < a', 'd < c']);
});

test('functions that call themselves, or each other in a circle, are met once', () => {
	assert.deepEqual(chainsOf({}, { 'f;f;f': 3 }), ['f']);
	assert.deepEqual(chainsOf({}, { 'f;g;f;g': 3 }).join(' ').split(/ < | /).sort(), ['f', 'g']);
});

test('two that call each other in one stack changed once there, so that they are one chain with their caller', () => {
	assert.deepEqual(chainsOf({}, { 'main;f;g;f;g': 3 }), ['g < f < main']);
});

test('each function that changed is in one chain, and all in a chain changed by as much, within a tenth', () => {
	fc.assert(
		fc.property(anyCounts, anyCounts, (before, after) => {
			const difference = between(before, after);
			const changes = functionChanges(difference);
			const chains = changeChains(difference, changes);
			const met = chains.flatMap(({ change, callers }) => [change, ...callers]);
			const changed = changes.filter(({ total }) => changeOf(total) !== 0);
			assert.deepEqual(new Set(met), new Set(changed));
			assert.equal(met.length, changed.length);
			for (const { change, callers } of chains) {
				for (const { total } of callers) {
					const ratio = changeOf(total) / changeOf(change.total);
					assert.ok(ratio >= 0.9 - 1e-9 && ratio <= 1 / 0.9 + 1e-9, `${ratio}`);
				}
			}
		}),
	);
});

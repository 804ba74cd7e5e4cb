/** Rows of a difference: in which order they come, what stands beside them, and in which unit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StackProfile } from '../../../../src/aggregate/stack-profile.js';
import {
	changeOf,
	type Difference,
	differenceOf,
	functionChanges,
	largestChanges,
	sideOf,
} from '../../../../src/converters/diff/difference.js';
import { renderDifferenceFolded } from '../../../../src/converters/diff/folded.js';
import { renderDifferenceJson } from '../../../../src/converters/diff/json.js';
import { differenceTitles } from '../../../../src/converters/diff/svg.js';
import { renderDifferenceText } from '../../../../src/converters/diff/text.js';
import { type Counts, profileOfStacks } from '../../profiles.js';

function between(
	before: StackProfile | Counts,
	after: StackProfile | Counts,
	{ factor = 1, names = ['before', 'after'] } = {},
): Difference {
	const profile = (of: StackProfile | Counts) =>
		'stacks' in of ? (of as StackProfile) : profileOfStacks(of as Counts);
	const profiles = { before: profile(before), after: profile(after) };
	const [was = '', is = ''] = names;
	const sides = { before: sideOf(was, profiles.before), after: sideOf(is, profiles.after) };
	return differenceOf(profiles, { sides, normalization: 'none', factor });
}

const text = (difference: Difference, width = 80) =>
	renderDifferenceText(difference, { style: { colour: false, width }, top: 10 });

test('changes that are as large come by name', () => {
	const changes = functionChanges(between({ c: 1, a: 5, b: 1 }, { c: 3, a: 3, b: 3 }));
	const names = largestChanges(changes, 'self').map(({ name }) => name);
	assert.deepEqual(names, ['a', 'b', 'c']);
});

test('a tiny change is one, and what is a rounding error of large numbers is none', () => {
	assert.equal(changeOf({ before: 0, after: 2e-12 }), 2e-12);
	assert.equal(changeOf({ before: 1e12, after: 1e12 + 1 }), 0);
});

test('new or gone is a function, not what of it is its own', () => {
	const lines = text(between({ 'f;g': 10, h: 1 }, { 'f;g': 8, f: 5, i: 3 })).split('\n');
	const row = (name: string) => lines.find((line) => line.endsWith(` ${name}`)) ?? '';
	assert.match(row('f'), / \+5 +\S+ {2,}f$/);
	assert.match(row('h'), / -1 +\S+ +gone h$/);
	assert.match(row('i'), / \+3 +\S+ +new +i$/);
});

test('what may be chance is marked in each table for the change that it shows', () => {
	const samples = (counts: Counts) => profileOfStacks(counts, { unit: 'samples' });
	// Of f itself 9 of 100 more, with what it called 209 of 300: the one may be chance, the other not.
	const both = between(
		samples({ f: 100, 'f;g': 100, 'f;h': 100 }),
		samples({ f: 109, 'f;g': 200, 'f;h': 200 }),
	);
	const [, self = '', total = ''] = text(both).split(/^.*largest changes.*$/m);
	assert.match(self, / \+9 +\S+ +~ f$/m);
	assert.match(total, / \+209 +\S+ +f$/m);
});

test('each side has its own total, unit and number of stacks, and is cut to the width', () => {
	const both = between(
		profileOfStacks({ f: 1500 }, {}),
		profileOfStacks({ f: 2e9, g: 1e9 }, { unit: 'ns' }),
		{ names: [`/srv/${'x'.repeat(100)}/before.folded`, 'after.json'] },
	);
	const [before = '', after = ''] = text(both, 60).split('\n');
	assert.match(before, /^before {2}\/srv\/x+…x*\/before\.folded: 1,500 in 1 stack$/);
	assert.equal(before.length, 60);
	assert.equal(after, 'after   after.json: 3.00 s in 2 stacks');
});

test('numbers too long for a table are shorter; whole ones from a thousand on have no digits behind the point', () => {
	const cells = (before: number, after: number, factor: number) =>
		/^ *(\S+) +(\S+) +(\S+) +\S+ {2}f$/m
			.exec(text(between({ f: before, g: 3 }, { f: after, g: 3 }, { factor })))
			?.slice(1);
	assert.deepEqual(cells(5e10, 2e10, 1), ['5.000e+10', '2.000e+10', '-3.000e+10']);
	assert.deepEqual(cells(700, 950, 1.234), ['863.8', '950.0', '+86.2']);
	assert.deepEqual(cells(700, 1450, 1.234), ['864', '1,450', '+586']);
	assert.match(text(between({ f: 7 }, { f: 9 }, { factor: 1.23456 })), / before × 1\.235$/m);
});

test('json: first what changed most itself, then what only its callees changed, then the rest', () => {
	const both = between(
		{ 'main;a': 1, 'main;b': 1, 'main;mid;c_[k]': 1, same: 5 },
		{ 'main;a': 3, 'main;b': 9, 'main;mid;c_[k]': 5, same: 5 },
	);
	const { functions } = JSON.parse([...renderDifferenceJson(both, [])].join(''));
	assert.deepEqual(
		functions.map(({ name, kind }: { name: string; kind: string }) => `${name} ${kind}`),
		['b u', 'c k', 'a u', 'main u', 'mid u', 'same u'],
	);
	const [, , , main] = functions;
	assert.deepEqual(main.self, { before: 0, after: 0, change: 0 });
	assert.deepEqual(main.total, { before: 3, after: 17, change: 14 });
});

test('json: of a unit that nobody knows it says so', () => {
	const said = JSON.parse([...renderDifferenceJson(between({ a: 1 }, { a: 2 }), [])].join(''));
	assert.equal(said.unit, null);
});

test('folded: kinds are marked if either recording had marks; what is on neither side is left out', () => {
	const plain = profileOfStacks({ 'main;read_[k]': 1, idle: 0 });
	const marked = { ...plain, marked: true };
	const lines = (before: StackProfile, after: StackProfile) =>
		[...renderDifferenceFolded(between(before, after))].join('');
	assert.equal(lines(plain, plain), 'main;read 1 1\n');
	assert.equal(lines(plain, marked), 'main;read_[k] 1 1\n');
	assert.equal(lines(marked, plain), 'main;read_[k] 1 1\n');
});

test('folded: three digits, and never 0 of what is there', () => {
	const lines = [
		...renderDifferenceFolded(between({ a: 1, b: 1e-9 }, { a: 2 }, { factor: 1.23456 })),
	];
	assert.deepEqual(lines, ['a 1.235 2\n', 'b 0.001 0\n']);
});

test('a picture is called after both files, the earlier one first, without their folders', () => {
	const { title } = differenceTitles(
		between({ a: 1 }, { a: 1 }, { names: ['/srv/a/old.json', '../new/'] }),
	);
	assert.equal(title, 'Differential Flame Graph: old.json → new/');
});

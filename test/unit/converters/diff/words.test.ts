import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Origin } from '../../../../src/aggregate/stack-profile.js';
import {
	type Difference,
	differenceOf,
	factorOf,
	type Normalization,
	sideOf,
} from '../../../../src/converters/diff/difference.js';
import { renderDifferenceFolded } from '../../../../src/converters/diff/folded.js';
import { renderDifferenceJson } from '../../../../src/converters/diff/json.js';
import { differenceColour, renderDifferenceSvg } from '../../../../src/converters/diff/svg.js';
import { renderDifferenceText } from '../../../../src/converters/diff/text.js';
import { suitableLook } from '../../../../src/render/picture-look.js';
import { anyCounts, type Counts, profileOfStacks } from '../../profiles.js';
import { HOSTILE } from '../../support.js';

function between(
	before: Counts,
	after: Counts,
	origin: Origin = {},
	normalization: Normalization = 'total',
): Difference {
	const profiles = {
		before: profileOfStacks(before, origin),
		after: profileOfStacks(after, origin),
	};
	const sides = {
		before: sideOf('/srv/before.json', profiles.before),
		after: sideOf('/srv/after.json', profiles.after),
	};
	return differenceOf(profiles, {
		sides,
		normalization,
		factor: factorOf(sides, normalization) ?? 1,
	});
}

const text = (difference: Difference, top = 10) =>
	renderDifferenceText(difference, { style: { colour: false, width: 80 }, top });

function svg(difference: Difference): string {
	return [...renderDifferenceSvg(difference, suitableLook(profileOfStacks({ f: 1 })))].join('');
}

const SAMPLES: Origin = { unit: 'samples' };

test('text: what changed most, what is new, what is gone, and the factor', () => {
	const both = between(
		{ 'main;f': 300, 'main;old;deep': 100, 'main;same': 100 },
		{ 'main;f': 500, 'main;new': 300, 'main;same': 200 },
		SAMPLES,
	);
	assert.equal(
		text(both, 3),
		`before  /srv/before.json: 500 samples in 3 stacks
after   /srv/after.json: 1,000 samples in 3 stacks
before × 2, to the same total

Self: largest changes, in samples
before  after  change  points       function ← its callers
     0    300    +300   +30.0  new  new
   200      0    -200   -20.0  gone deep ← old
   600    500    -100   -10.0       f
`,
	);
	assert.match(text(both, 0), / main\n| f\n$/);
});

test('text: a chain of callers is one row, and no change is in both tables', () => {
	const chain = 'app;main;run;loop;log;write;vfs_write;ext4_write';
	const both = between(
		{ [chain]: 100, 'app;main;run;parse': 50, 'app;main;run;parse;lex': 300 },
		{ [chain]: 900, 'app;main;run;parse': 120, 'app;main;run;parse;lex': 360 },
		{},
		'none',
	);
	const tables = text(both).split('\n\n').slice(1);
	assert.deepEqual(tables, [
		`Self: largest changes
before  after  change  points  function ← its callers
   100    900    +800   +43.0  ext4_write ← vfs_write ← write ← log ← loop
    50    120     +70    -2.4  parse
   300    360     +60   -40.6  lex`,
		`Total, with what was called: largest changes
before  after  change  points  function ← its callers
   450  1,380    +930     0.0  run ← main ← app
   350    480    +130   -43.0  parse
`,
	]);
	const narrow = renderDifferenceText(both, { style: { colour: false, width: 60 }, top: 1 });
	assert.match(narrow, /^ +100 +900 +\+800 +\+43\.0 {2}ext4_write ← 4 more$/m);
	assert.match(narrow, /^… 2 more/m);
});

test('text: as many functions as there are are shown, if all are asked for', () => {
	const many = 130_000; // More than a call can have arguments.
	const after = Object.fromEntries(Array.from({ length: many }, (_, i) => [`main;f${i}`, i + 2]));
	const lines = text(between({ 'main;f0': 1 }, after, {}, 'none'), 0).split('\n');
	assert.equal(lines.filter((line) => / f\d+$/.test(line)).length, many);
});

test('text: a chain whose row is not among those of the first table is in the second', () => {
	const changes = [
		{ 'main;f': 10, 'main;g;h': 10, 'main;rest': 100 },
		{ 'main;f': 60, 'main;g;h': 40, 'main;rest': 20 },
	] as const;
	const tables = (top: number) =>
		text(between(...changes, {}, 'none'), top)
			.split('\n\n')
			.slice(1)
			.map((table) => [...table.matchAll(/^ .* {2}(\w.*)$/gm)].map(([, name]) => name));
	// rest has the largest change of its own, f the next, and then h with its caller.
	assert.deepEqual(tables(0), [['rest', 'f', 'h ← g']]);
	assert.deepEqual(tables(2), [['rest', 'f'], ['h ← g']]);
	assert.deepEqual(tables(1), [['rest'], ['f']]);
});

test('text: whole counts are shown as such, and those that are not all whole with as many digits each', () => {
	const short = (before: Counts, after: Counts) =>
		[...text(between(before, after, {}, 'none')).matchAll(/^ +(\S+) +(\S+) .*(\w)$/gm)].map(
			([, was, is, name]) => [name, was, is],
		);
	assert.deepEqual(short({ f: 1, g: 2 }, { f: 5, g: 3 }), [
		['f', '1', '5'],
		['g', '2', '3'],
	]);
	assert.deepEqual(short({ f: 1, g: 0.25 }, { f: 5, g: 3 }), [
		['f', '1.00', '5.00'],
		['g', '0.25', '3.00'],
	]);
});

test('text: times have their units, and what was multiplied as many digits as the rest', () => {
	const times = between({ f: 2e9, g: 5e6 }, { f: 1e9, g: 5e8 }, { unit: 'ns' }, 'none');
	assert.match(text(times), /^not normalized: before × 1$/m);
	assert.match(text(times), /^ *2\.00 s +1\.00 s +-1\.00 s +-33\.1 {2}f$/m);
	assert.match(text(times), /^ *5\.00 ms +500 ms +\+495 ms +\+33\.1 {2}g$/m);
	const odd = between({ f: 7, g: 6 }, { f: 70, g: 100 });
	assert.match(text(odd), /^ +91\.5 +70\.0 +-21\.5 +-12\.7 {2}f$/m);
});

test('text: what may be chance is marked, where samples were counted', () => {
	const counts = [
		{ f: 100, g: 100, h: 9 },
		{ f: 190, g: 110, h: 4 },
	] as const;
	const marked = text(between(...counts, SAMPLES, 'none'));
	assert.match(marked, /^ +100 +190 +\+90 +\S+ {4}f$/m);
	assert.match(marked, /^ +100 +110 +\+10 +\S+ {2}~ g$/m);
	assert.match(marked, /\n\n~ may be chance: [^\n]*\n$/);
	assert.doesNotMatch(text(between(...counts, {}, 'none')), /~/);
	assert.doesNotMatch(text(between({ f: 100 }, { f: 190 }, SAMPLES, 'none')), /~/);
});

test('text: when nothing differs it says so; also when only callers do', () => {
	assert.match(text(between({ 'f;g': 3 }, { 'f;g': 9 })), /total\n\nno difference\n$/);
	const callers = between({ 'f;g;h': 3, 'g;f;h': 1 }, { 'g;f;h': 3, 'f;g;h': 1 });
	assert.match(text(callers), /\n\nno function differs; 2 stacks do\n$/);
});

test('text fits 80 columns and is harmless, whatever the names', () => {
	const names = fc.oneof(fc.string({ minLength: 50, maxLength: 200 }), fc.constantFrom(...HOSTILE));
	const counts = fc.dictionary(names, fc.integer({ min: 1, max: 9e14 }), {
		minKeys: 1,
		maxKeys: 9,
		noNullPrototype: true,
	});
	fc.assert(
		fc.property(counts, counts, fc.constantFrom('ns', 'samples', undefined), (a, b, unit) => {
			const printed = text(between(a, b, unit === undefined ? {} : { unit }));
			assert.doesNotMatch(printed, /[^\P{Cc}\n]|\u202e/u);
			for (const line of printed.split('\n')) assert.ok([...line].length <= 80, line);
		}),
	);
});

test('colours: full blue for gone, grey for the same, full red for new, and the way between', () => {
	const colours = [
		{ before: 5, after: 0 },
		{ before: 2, after: 1 },
		{ before: 1, after: 1 },
		{ before: 1, after: 2 },
		{ before: 0, after: 5 },
	].map(differenceColour);
	assert.deepEqual(colours, ['#5fa5e1', '#a2c5e3', '#e4e4e4', '#ecae9f', '#f4785a']);
});

test('colours: black can be read on all of them (WCAG 2, AA: 4.5)', () => {
	const linear = (channel: number) =>
		channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
	for (let after = 0; after <= 100; after++) {
		const colour = differenceColour({ before: 100 - after, after });
		const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) =>
			linear(Number.parseInt(colour.slice(at, at + 2), 16) / 255),
		);
		const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
		assert.ok((luminance + 0.05) / (linear(0x11 / 255) + 0.05) > 4.5, colour);
	}
});

test('svg: a box for what is gone, with what became of it', () => {
	const both = between({ 'main;f': 3, 'main;old': 1 }, { 'main;f': 8 }, SAMPLES);
	const drawn = svg(both);
	const [, old = ''] =
		/<svg class="f"[^>]*><title>(old [^<]*)<\/title><rect[^>]*#5fa5e1/.exec(drawn) ?? [];
	assert.equal(
		old,
		'old (before 2 samples, 25.0 %; after 0 samples, 0.0 %; -2, -25.0 points, gone)',
	);
	assert.match(drawn, /<title>all \([^()]*before × 2, to the same total\)</);
});

test('svg: of what is on both sides nothing is said to have become of it', () => {
	const drawn = svg(between({ 'main;f': 3 }, { 'main;f': 8, 'main;g': 1 }, SAMPLES, 'none'));
	const titles = [...drawn.matchAll(/<title>([^<]*)<\/title>/g)].map(([, title]) => title);
	assert.deepEqual(titles.filter((title) => /^[fg] /.test(title ?? '')).sort(), [
		'f (before 3 samples, 100.0 %; after 8 samples, 88.9 %; +5, -11.1 points)',
		'g (before 0 samples, 0.0 %; after 1 samples, 11.1 %; +1, +11.1 points, new)',
	]);
});

test('svg: names do no harm, and parentheses are only around details', () => {
	for (const name of HOSTILE) {
		const drawn = svg(between({ [name.replaceAll(';', '')]: 1 }, { f: 1 }, { unit: name }));
		assert.doesNotMatch(drawn, /<script>alert/);
		assert.doesNotMatch(drawn, /[^\P{Cc}\t\n]|\u202e/u);
	}
});

test('json: the factor, both origins, and every function', () => {
	const both = between({ f: 1, g: 1 }, { f: 1, g: 3 }, { ...SAMPLES, host: 'a', duration_s: 5 });
	const said = JSON.parse([...renderDifferenceJson(both, ['a notice'])].join(''));
	assert.deepEqual(said, {
		tool: 'diff',
		schema: 1,
		normalization: 'total',
		factor: 2,
		unit: 'samples',
		before: {
			file: '/srv/before.json',
			unit: 'samples',
			host: 'a',
			duration_s: 5,
			total: 2,
			stacks: 2,
		},
		after: {
			file: '/srv/after.json',
			unit: 'samples',
			host: 'a',
			duration_s: 5,
			total: 4,
			stacks: 2,
		},
		notices: ['a notice'],
		functions: ['f', 'g'].map((name) => {
			const values =
				name === 'f' ? { before: 2, after: 1, change: -1 } : { before: 2, after: 3, change: 1 };
			return { name, kind: 'u', self: values, total: values };
		}),
	});
});

test('json: one line however many functions there are', () => {
	const many = Object.fromEntries(Array.from({ length: 2500 }, (_, i) => [`f${i}`, i + 1]));
	const printed = [...renderDifferenceJson(between(many, { f0: 1 }), [])].join('');
	assert.equal(printed.indexOf('\n'), printed.length - 1);
	assert.equal(JSON.parse(printed).functions.length, 2500);
});

test('folded: both counts, as flamegraph.pl reads them', () => {
	const both = between({ 'main;f': 3, 'main;old': 1e-3 }, { 'main;f': 1e-3, 'main;new_[k]': 1 });
	for (const line of [...renderDifferenceFolded(both)]) {
		// flamegraph.pl's own expression, twice.
		assert.match(line, /^(.*)\s+?(\d+(?:\.\d*)?)\s+?(\d+(?:\.\d*)?)$/m);
	}
	fc.assert(
		fc.property(anyCounts, anyCounts, (before, after) => {
			const lines = [...renderDifferenceFolded(between(before, after, {}, 'none'))];
			const counts = new Map(
				lines.map((line) => line.trimEnd().split(/ (.*)/, 2) as [string, string]),
			);
			const bare = (stack: string) => stack.replaceAll('_[k]', '');
			for (const [stack, value] of Object.entries(before)) {
				assert.equal(counts.get(bare(stack)), `${value} ${after[stack] ?? 0}`);
			}
		}),
	);
});

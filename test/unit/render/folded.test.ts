/** Folded stacks as text. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FrameTable } from '../../../src/aggregate/frame-table.js';
import { FRAME_KINDS, type FrameKind } from '../../../src/aggregate/stack.js';
import type { StackProfile } from '../../../src/aggregate/stack-profile.js';
import { StackTable } from '../../../src/aggregate/stack-table.js';
import {
	ALL_MARKS,
	annotation,
	FRAME_LETTERS,
	foldedName,
	NO_MARKS,
	renderFolded,
} from '../../../src/render/folded.js';
import { anyCounts, profileOfStacks } from '../profiles.js';

const PLAIN = { divisor: 1, marks: NO_MARKS, sorted: false };
const folded = (profile: StackProfile, options = {}) =>
	[...renderFolded(profile, { ...PLAIN, ...options })].join('');

/** "name kind" for each frame, root first. */
function profileOfKinds(stacks: readonly (readonly [frames: string, value: number])[]) {
	const profile = { frames: new FrameTable(), stacks: new StackTable(), origin: {}, marked: true };
	for (const [text, value] of stacks) {
		const path = text.split(';').map((frame) => {
			const [name = '', kind = 'user'] = frame.split(' ');
			return profile.frames.intern(name, kind as FrameKind);
		});
		profile.stacks.add(path, path.length, value);
	}
	return profile;
}

test('a line for each stack, in the order that they came, or of their text', () => {
	const profile = profileOfStacks({ 'b;a': 3, b: 2, 'a;c': 5 });
	assert.equal(folded(profile), 'b;a 3\nb 2\na;c 5\n');
	assert.equal(folded(profile, { sorted: true }), 'a;c 5\nb 2\nb;a 3\n');
});

test('any stacks: the lines are what was counted', () => {
	fc.assert(
		fc.property(anyCounts, fc.boolean(), (counts, sorted) => {
			const lines = folded(profileOfStacks(counts), { marks: ALL_MARKS, sorted })
				.trimEnd()
				.split('\n');
			const expected = Object.entries(counts).map(([stack, value]) => `${stack} ${value}`);
			assert.deepEqual(lines.toSorted(), expected.toSorted());
			if (sorted) {
				const stacks = lines.map((line) => line.replace(/ \d+$/, ''));
				assert.deepEqual(stacks, stacks.toSorted());
			}
		}),
	);
});

test('stacks of which nothing was counted are left out', () => {
	assert.equal(folded(profileOfStacks({ a: 0, b: 1, c: 0 })), 'b 1\n');
	assert.equal(folded(profileOfStacks({ a: 0 }), { sorted: true }), '');
});

test('kinds are marked where it is asked for; what reads the same is one line when sorted', () => {
	const profile = profileOfKinds([
		['main;read kernel', 1],
		['main;read', 2],
		['main;read jit', 4],
		['main;read inlined', 8],
		['main;load javascript', 1],
		['main;load python', 2],
	]);
	assert.equal(
		folded(profile, { marks: ALL_MARKS }),
		'main;read_[k] 1\nmain;read 2\nmain;read_[j] 4\nmain;read_[i] 8\n' +
			'main;load_[j] 1\nmain;load_[j] 2\n',
	);
	const kernel = new Set<FrameKind>(['kernel']);
	assert.equal(
		folded(profile, { marks: kernel, sorted: true }),
		'main;load 3\nmain;read 14\nmain;read_[k] 1\n',
	);
	assert.equal(folded(profile, { sorted: true }), 'main;load 3\nmain;read 15\n');
	const letters = { user: 'u', kernel: 'k', jit: 'j', inlined: 'i', javascript: 's', python: 'p' };
	assert.deepEqual(FRAME_LETTERS, letters);
	assert.deepEqual(
		FRAME_KINDS.map((kind) => annotation({ kind })),
		['', '_[k]', '_[j]', '_[i]', '_[j]', '_[j]'],
	);
});

test('names: no semicolon, no second mark, nothing that a terminal obeys', () => {
	const name = (text: string, kind: FrameKind = 'user') =>
		foldedName({ name: text, kind }, ALL_MARKS);
	assert.equal(name('Lshop/Cart;::add', 'jit'), 'Lshop/Cart:::add_[j]');
	assert.equal(name('Lshop/Cart;::add_[j]', 'jit'), 'Lshop/Cart:::add_[j]');
	assert.equal(name('a_[k]', 'jit'), 'a_[k]_[j]');
	assert.equal(name('a;b;\u001b[m'), 'a:b:\\x1b[m');
	assert.equal(foldedName({ name: 'read', kind: 'kernel' }, NO_MARKS), 'read');
});

test('numbers: divided and rounded, never to nothing; without an exponent', () => {
	const count = (value: number, divisor = 1) =>
		folded(profileOfStacks({ a: value }), { divisor }).slice(2, -1);
	assert.equal(count(1499, 1000), '1');
	assert.equal(count(1500, 1000), '2');
	assert.equal(count(3, 1000), '1');
	assert.equal(count(2.5), '2.5');
	assert.equal(count(1234567), '1234567');
	assert.equal(count(1.25e-7), '0.000000125');
	assert.equal(count(5e-10), '0.0000000005');
	fc.assert(
		fc.property(fc.double({ min: 1e-20, max: 1e20, noNaN: true }), (value) => {
			assert.match(count(value), /^\d+(\.\d+)?$/);
			assert.equal(Number(count(value)), value);
		}),
	);
});

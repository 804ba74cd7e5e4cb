/** How many names are kept, of functions and of addresses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeptNames } from '../../../src/symbolize/kept-names.js';

const FUNCTIONS = 300_000;
const ADDRESSES = 200_000;
const word = (place: number) => ({ place, print: 7, isCallers: false });
const named = (name: string) =>
	({ language: 'python', name, file: undefined, line: undefined }) as const;

test('addresses leave the room of functions alone, and functions that of addresses', () => {
	const names = new KeptNames();
	for (let i = 0; i < FUNCTIONS + 50; i++) names.keep('life', 16 * i, 'none');
	for (let i = 0; i < FUNCTIONS; i++) {
		assert.ok(names.hasRoomFor(word(i)));
		names.keep('life', word(i), 'unread');
	}
	assert.ok(!names.hasRoomFor(word(FUNCTIONS)));
	names.keep('life', word(FUNCTIONS), 'none');
	assert.equal(names.get('life', word(FUNCTIONS)), undefined);
	// What is kept may become known.
	names.keep('life', word(3), named('late'));
	assert.deepEqual(names.get('life', word(3)), named('late'));
	assert.ok(names.hasRoomFor(4));
	assert.equal(names.get('life', 16 * (FUNCTIONS + 49)), 'none');
});

test('the half that was used last is kept; of what was not used lately, nothing is left', () => {
	const names = new KeptNames();
	for (let i = 0; i < ADDRESSES; i++) names.keep('life', i, named(`${i}`));
	const isKept = (i: number) => names.get('life', i) !== undefined;
	const half = ADDRESSES / 2;
	assert.ok(!isKept(0) && !isKept(half - 1) && isKept(half) && isKept(ADDRESSES - 1));
	// One is used; of one, more is known.
	assert.deepEqual(names.get('life', half + 1), named(`${half + 1}`));
	names.keep('life', half + 2, named('two'));
	for (let i = 0; i < half - 2; i++) names.keep('other', i, 'none');
	assert.deepEqual(names.get('life', half + 1), named(`${half + 1}`));
	assert.deepEqual(names.get('life', half + 2), named('two'));
	assert.ok(!isKept(half + 3) && !isKept(ADDRESSES - 2));
	assert.equal(names.get('other', 1), 'none');
});

test('names and files have 64 Mi characters in all; a file that many functions are in counts once', () => {
	const names = new KeptNames();
	const file = 'f'.repeat(4096);
	const keepIn = (i: number, path: string) =>
		names.keep('life', word(i), { language: 'python', name: 'n', file: path, line: 1 });
	for (let i = 0; i < 20_000; i++) keepIn(i, `${file}`);
	assert.ok(names.hasRoomFor(word(20_000)));
	const others = 2 ** 14;
	for (let i = 0; i < others; i++) keepIn(20_000 + i, `${i}${file}`.slice(0, 4096));
	assert.ok(!names.hasRoomFor(word(100_000)));
	keepIn(100_000, 'short');
	assert.equal(names.get('life', word(100_000)), undefined);
	const kept = Array.from({ length: others }, (_, i) => names.get('life', word(20_000 + i)));
	const least = (64 << 20) / 4097 - 20;
	assert.ok(kept.filter(Boolean).length >= least && kept.at(-1) === undefined);
});

test('a function that has come to the place of another one is not called by its name', () => {
	const names = new KeptNames();
	const [before, after] = [word(16), { ...word(16), print: 8 }];
	names.keep('life', before, named('before'));
	assert.equal(names.get('life', after), undefined);
	assert.equal(names.get('next life', before), undefined);
	names.keep('life', after, named('after'));
	assert.deepEqual(names.get('life', before), named('before'));
	// The same one, also where it has called what has no frame of its own.
	assert.deepEqual(names.get('life', { ...before, isCallers: true }), named('before'));
});

test('a function at two of its instructions has two lines', () => {
	const names = new KeptNames();
	const at = (instruction: number) => ({ ...word(3), instruction });
	for (const line of [7, 8]) names.keep('life', at(line), { ...named('f'), executingLine: line });
	names.keep('life', word(3), named('f'));
	const lines = [at(7), at(8), word(3)].map((each) => {
		const name = names.get('life', each);
		return typeof name === 'object' ? name.executingLine : name;
	});
	assert.deepEqual(lines, [7, 8, undefined]);
	assert.equal(names.get('life', at(9)), undefined);
});

/** How many names are kept, of functions and of addresses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeptNames } from '../../../src/symbolize/kept-names.js';

const FUNCTIONS = 300_000;
const ADDRESSES = 200_000;
const word = (place: number) => ({ place, print: 7, isCallers: false });
const named = (name: string) => ({ name, file: undefined, line: undefined });

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

test('addresses that were not used for longest are forgotten, and others stay', () => {
	const names = new KeptNames();
	for (let i = 0; i < ADDRESSES; i++) names.keep('life', i, named(`${i}`));
	// One is used; of one, more is known.
	assert.deepEqual(names.get('life', 0), named('0'));
	names.keep('life', 1, named('one'));
	for (let i = 0; i < 3; i++) names.keep('other', i, 'none');
	const forgotten = [0, 1, 2, 3, 4, 5, 6].filter((i) => names.get('life', i) === undefined);
	assert.deepEqual(forgotten, [2, 3, 4]);
	assert.deepEqual(names.get('life', 1), named('one'));
	assert.deepEqual(names.get('life', ADDRESSES - 1), named(`${ADDRESSES - 1}`));
	assert.equal(names.get('other', 1), 'none');
});

test('names and files have 64 Mi characters in all; a file that many functions are in counts once', () => {
	const names = new KeptNames();
	const file = 'f'.repeat(4096);
	const keepIn = (i: number, path: string) =>
		names.keep('life', word(i), { name: 'n', file: path, line: 1 });
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

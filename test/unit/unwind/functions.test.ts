/** Which function an address lies in, of files that the test writes itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MemoryBytes } from '../../../src/elf/bytes.js';
import { Elf } from '../../../src/elf/elf.js';
import { type EnclosingFunction, enclosingFunctions } from '../../../src/unwind/functions.js';
import { elfOf } from '../hostile/elf-builder.js';
import { type Writing, type WrittenFunction, writeFrames } from './frame-writer.js';

const TEXT_AT = 0x10000;
const FRAMES_AT = 0x20000;

/** Those of signals are in .eh_frame, the others in .debug_frame behind it. */
const SIGNALS: Writing = {
	isArm64: false,
	isDebug: false,
	version: 1,
	encoding: 0x1b,
	hasLongLengths: false,
	augmentation: 'zRS',
	codeFactor: 1,
	sectionAddress: FRAMES_AT,
	dataAddress: 0,
};
const OTHERS: Writing = { ...SIGNALS, isDebug: true, encoding: 0, augmentation: '' };

interface Given {
	readonly start: number;
	readonly bytes: number;
}

const written = (given: readonly Given[]) =>
	given.map(({ start, bytes }): WrittenFunction => {
		const cfa = { of: 'sp', offset: 8 } as const;
		const places = { fp: { at: 'same' }, ra: { at: 'cfa', offset: -8 } } as const;
		return {
			start: TEXT_AT + start,
			stretches: [{ bytes, cfa, ...places, movesSp: false, how: 0 }],
		};
	});

function found(signals: readonly Given[], others: readonly Given[], wanted: readonly number[]) {
	const file = elfOf({
		sections: [
			{ name: '.text', flags: 4, address: TEXT_AT, data: Buffer.alloc(256) },
			{ name: '.eh_frame', address: FRAMES_AT, data: writeFrames(written(signals), SIGNALS) },
			{ name: '.debug_frame', data: writeFrames(written(others), OTHERS) },
		],
		segments: [{ type: 1, flags: 5, address: TEXT_AT, dataOf: 0 }],
	});
	const addresses = Float64Array.from(wanted, (place) => TEXT_AT + place);
	return enclosingFunctions(new Elf(new MemoryBytes(file)), addresses);
}

/** By looking at all of them for each address. */
function expected(signals: readonly Given[], others: readonly Given[], wanted: readonly number[]) {
	const all = [
		...signals.map((each) => ({ ...each, isSignal: true })),
		...others.map((each) => ({ ...each, isSignal: false })),
	];
	const result = new Map<number, EnclosingFunction>();
	for (const place of wanted) {
		let best: (typeof all)[number] | undefined;
		for (const each of all) {
			const isInside = place >= each.start && place < each.start + each.bytes;
			if (isInside && (!best || each.start > best.start)) best = each;
		}
		if (best) result.set(TEXT_AT + place, { start: TEXT_AT + best.start, isSignal: best.isSignal });
	}
	return result;
}

test('the function that begins last, and of those that begin at the same place the first', () => {
	const given = fc.array(fc.record({ start: fc.nat(40), bytes: fc.integer({ min: 1, max: 40 }) }), {
		maxLength: 12,
	});
	const wanted = fc
		.uniqueArray(fc.nat(90), { minLength: 1 })
		.map((all) => all.toSorted((a, b) => a - b));
	fc.assert(
		fc.property(given, given, wanted, (signals, others, places) => {
			assert.deepEqual(found(signals, others, places), expected(signals, others, places));
		}),
		{ numRuns: 1000 },
	);
});

test('of two that begin at the same place the first, whichever is the longer one', () => {
	const [short, long] = [
		{ start: 3, bytes: 2 },
		{ start: 3, bytes: 30 },
	];
	const places = [3, 4, 5, 6, 7, 8, 9];
	const signalsOf = (...all: Given[][]) =>
		[...found(all[0] ?? [], all[1] ?? [], places).values()].map(({ isSignal }) => isSignal);
	assert.deepEqual(signalsOf([long], [short]), [true, true, true, true, true, true, true]);
	assert.deepEqual(signalsOf([short], [long]), [true, true, false, false, false, false, false]);
	assert.deepEqual(signalsOf([], [long]), Array(7).fill(false));
});

test('of no addresses, or of another processor\u2019s code, none', () => {
	assert.equal(found([{ start: 0, bytes: 9 }], [], []).size, 0);
	const elf = new Elf(new MemoryBytes(elfOf({ machine: 8 })));
	assert.equal(enclosingFunctions(elf, Float64Array.of(1, 2)).size, 0);
});

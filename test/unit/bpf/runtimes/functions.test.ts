import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	FunctionMaps,
	isFunctionWord,
	metFrames,
	readFunctionWord,
} from '../../../../src/bpf/runtimes/functions.js';
import { walked as WALKED } from '../../../../src/generated/common.js';
import type { RuntimeFile } from '../../../../src/runtimes/recognise.js';
import { LAYOUT } from '../../runtimes/v8/memory.js';

/** As function_word() of bpf/lib/runtimes/functions.h makes it. */
function viewOf(place: bigint, print: bigint, isCallers: boolean): DataView {
	const view = new DataView(new ArrayBuffer(8));
	const word = (1n << 63n) | (isCallers ? 1n << 62n : 0n) | (print << 45n) | (place >> 3n);
	view.setBigUint64(0, word, true);
	return view;
}

test('a word of a stack tells where a function is, what it is, and whose frame', () => {
	const place = 0xffff_89ab_cdef_0120n & ((1n << 48n) - 1n);
	for (const isCallers of [false, true])
		for (const print of [0n, 1n, 0x1_5a5an, 0x1_ffffn]) {
			const view = viewOf(place, print, isCallers);
			assert.ok(isFunctionWord(view, 0));
			assert.deepEqual(readFunctionWord(view, 0), {
				place: Number(place),
				print: Number(print),
				isCallers,
			});
		}
});

test('functions of a stack, each with the last byte of its call; none of the leaf and of callers', () => {
	const { count, frames } = WALKED.fields;
	const word = (place: number, isCallers = false) =>
		viewOf(BigInt(place), 7n, isCallers).getBigUint64(0, true);
	// The last one is not of this stack.
	const words = [
		0x1000n,
		word(8, true),
		word(16),
		0x2000n,
		word(24),
		0x3000n,
		0x4000n,
		word(32),
		word(40),
	];
	const view = new DataView(new ArrayBuffer(frames.offset + words.length * 8));
	view.setUint32(count.offset, words.length - 1, true);
	for (const [i, each] of words.entries()) view.setBigUint64(frames.offset + i * 8, each, true);
	const { frames: met, others } = metFrames(view);
	const shown = met.map(({ word: { place }, call }) => [place, call]);
	assert.deepEqual(shown, [
		[8, undefined],
		[16, undefined],
		[24, 0x1fff],
		[32, 0x3fff],
	]);
	assert.deepEqual(others, [0x2fff]);
});

test('an address of user space is no function', () => {
	const view = new DataView(new ArrayBuffer(8));
	view.setBigUint64(0, 0x7fff_ffff_ffffn, true);
	assert.equal(isFunctionWord(view, 0), false);
});

/** A file that V8 is in, whose code is where no other has it. */
function fileOf(number: number): RuntimeFile {
	const code = { start: number, end: number + 1 };
	const layout = {
		heap: LAYOUT,
		builtins: code,
		interpreter: code,
		resumes: [],
		wasm: undefined,
		loaded: [],
	};
	return { runtime: 'v8', version: '11.3.244', layout, problem: undefined };
}
const identityOf = (number: number) => ({ inode: BigInt(number), device: 8, changed_ns: 0n });

/** What programs are told of how many runtimes there are. */
function mapsOf(areWanted?: boolean) {
	const told: unknown[] = [];
	const object = {
		map: () => ({ update: () => {} }),
		setVariable: (_name: string, value: unknown) => told.push(value),
	} as unknown as ConstructorParameters<typeof FunctionMaps>[0];
	return { maps: new FunctionMaps(object, areWanted), told };
}

test('walks take functions of 16 files; of one more it is known why not', () => {
	const { maps, told } = mapsOf();
	const add = (number: number) => maps.add(identityOf(number) as never, fileOf(number));
	for (let i = 1; i <= 16; i++) assert.equal(add(i), i);
	assert.equal(add(17), 0);
	assert.equal(maps.runtimeIn(identityOf(17))?.problem, 'count');
	assert.equal(maps.runtimeIn(identityOf(17))?.layout, undefined);
	// One whose table is read once more is not one more.
	assert.equal(add(5), 5);
	assert.equal(maps.runtimeIn(identityOf(5))?.problem, undefined);
	assert.deepEqual(
		told,
		Array.from({ length: 16 }, (_, i) => i + 1),
	);
});

test('where nobody wants functions, walks take none, and there is no other reason', () => {
	const { maps, told } = mapsOf(false);
	assert.equal(maps.add(identityOf(1) as never, fileOf(1)), 0);
	assert.equal(maps.runtimeIn(identityOf(1))?.problem, 'unwanted');
	const unknown = { ...fileOf(2), layout: undefined, problem: 'version' } as const;
	assert.equal(maps.add(identityOf(2) as never, unknown), 0);
	assert.equal(maps.runtimeIn(identityOf(2))?.problem, 'version');
	assert.deepEqual(told, []);
});

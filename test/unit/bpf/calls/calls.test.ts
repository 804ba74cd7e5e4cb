/** Numbers of system calls as programs have them, of both architectures. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ABIS, allCalls, isNamed } from '../../../../src/abi/syscalls.js';
import {
	CALL_NUMBERS,
	callAt,
	callConstants,
	indexesOf,
	unpackKind,
} from '../../../../src/bpf/calls/calls.js';

/** The constants as the programs get them, as u32. */
function constants(arch: string): Map<string, Uint32Array> {
	const memories = new Map<string, Uint32Array>();
	const object = {
		constantBytes: (name: string) => {
			const words = new Uint32Array(32);
			memories.set(name, words);
			return new DataView(words.buffer);
		},
		setConstants: () => {},
	};
	callConstants(object, undefined, arch);
	return memories;
}

const NONE = 0xffff_ffff;

test('which calls begin and end threads: of 64-bit programs, then of 32-bit programs', () => {
	const expected = {
		x64: {
			child_nr: [56, 57, 58, 435, 120, 2, 190, 435],
			exit_nr: [60, 1],
			exit_group_nr: [231, 252],
			sigreturn_nr: [15, 173],
		},
		arm64: {
			child_nr: [220, NONE, NONE, 435, 120, 2, 190, 435],
			exit_nr: [93, 1],
			exit_group_nr: [94, 248],
			sigreturn_nr: [139, 173],
		},
	};
	for (const [arch, each] of Object.entries(expected)) {
		// Where it is not the own one, its headers may not have been there at the build.
		if (arch === 'x64' && process.arch !== arch) continue;
		const memories = constants(arch);
		for (const [name, numbers] of Object.entries(each))
			assert.deepEqual([...(memories.get(name) ?? [])].slice(0, numbers.length), numbers, name);
	}
});

test('what the programs count apart is taken apart again', () => {
	// bpf/lib/calls/calls.h: kind_of(). The error is above, as an unsigned number.
	const number = fc.tuple(fc.nat(2 ** 18 - 1), fc.nat(2), fc.nat(4095));
	fc.assert(
		fc.property(number, ([nr, abi, errno]) => {
			const kind = nr + abi * 2 ** 18 + errno * 2 ** 20;
			assert.deepEqual(unpackKind(kind), { nr, abi: ABIS[abi], errno });
		}),
	);
	assert.equal(unpackKind(3 << 18).abi, 'native', 'there is no fourth');
});

test('each call is at its index, and at no other', () => {
	for (const call of allCalls().filter(({ nr }) => nr < CALL_NUMBERS)) {
		const found = indexesOf(call.name).map(callAt);
		assert.ok(
			found.some(({ nr, abi }) => nr === call.nr && abi === call.abi),
			call.name,
		);
		for (const each of found) assert.ok(isNamed(each, call.name), call.name);
	}
	assert.deepEqual(indexesOf('no_such_call'), []);
});

test('indexes into the tables: 512 numbers of each ABI', () => {
	assert.deepEqual(callAt(0), { nr: 0, abi: 'native' });
	assert.deepEqual(callAt(511), { nr: 511, abi: 'native' });
	assert.deepEqual(callAt(512), { nr: 0, abi: '32-bit' });
	if (process.arch === 'x64') assert.deepEqual(indexesOf('read'), [0, 512 + 3]);
});

/** Which indexes the programs are told to count; undefined: all. */
function wantedBy(wanted: readonly number[] | undefined): number[] | undefined {
	const mask = new DataView(new ArrayBuffer((2 * CALL_NUMBERS) / 8));
	let filters: boolean | undefined;
	const object = {
		constantBytes: (name: string) =>
			name === 'wanted_calls' ? mask : new DataView(new ArrayBuffer(64)),
		setConstants: (constants: { filter_calls: boolean }) => {
			filters = constants.filter_calls;
		},
	};
	callConstants(object, wanted);
	if (!filters) return undefined;
	// As bpf/lib/calls/calls.h looks: a bit for each index, the lowest first.
	return Array.from({ length: 2 * CALL_NUMBERS }, (_, i) => i).filter(
		(i) => (mask.getUint8(i >> 3) >> (i & 7)) & 1,
	);
}

test('of wanted calls exactly these are counted; of none, none', () => {
	const some = [0, 1, 7, 8, 9, 511, 512, 515, 1023];
	assert.deepEqual(wantedBy(some), some);
	assert.deepEqual(wantedBy([]), []);
	assert.equal(wantedBy(undefined), undefined);
});

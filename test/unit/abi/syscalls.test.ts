/** Names and special numbers of system calls, of both architectures. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
	ABIS,
	allCalls,
	CALL_NUMBERS,
	callAt,
	callConstants,
	callName,
	callTables,
	indexesOf,
	isNamed,
	unpackKind,
} from '../../../src/abi/syscalls.js';

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

test('names: native, 32-bit, x32, and numbers without one', () => {
	const name = (nr: number, abi: 'native' | '32-bit' | 'x32', arch = 'x64') =>
		callName({ nr, abi }, arch);
	assert.equal(name(0, 'native', 'arm64'), 'io_setup');
	if (process.arch === 'x64') {
		assert.equal(name(0, 'native'), 'read');
		assert.equal(name(3, '32-bit'), 'read (32-bit)');
	}
	assert.equal(name(3, '32-bit', 'arm64'), 'syscall_3 (32-bit)');
	assert.equal(name(515, 'x32'), 'syscall_515 (x32)');
	assert.equal(name(2 ** 18 - 1, 'native'), '(no such call)');
});

test('what the programs count apart is taken apart again', () => {
	// bpf/lib/syscount/calls.h: kind_of(). The error is above, as an unsigned number.
	const number = fc.tuple(fc.nat(2 ** 18 - 1), fc.nat(2), fc.nat(4095));
	fc.assert(
		fc.property(number, ([nr, abi, errno]) => {
			const kind = nr + abi * 2 ** 18 + errno * 2 ** 20;
			assert.deepEqual(unpackKind(kind), { nr, abi: ABIS[abi], errno });
		}),
	);
	assert.equal(unpackKind(3 << 18).abi, 'native', 'there is no fourth');
});

test('all calls: those of 64-bit programs, then those of 32-bit programs, by number', () => {
	const calls = allCalls();
	const [native, compat] = callTables();
	assert.equal(calls.length, Object.keys(native).length + Object.keys(compat).length);
	const order = calls.map(({ nr, abi }) => ABIS.indexOf(abi) * CALL_NUMBERS + nr);
	assert.deepEqual(
		order,
		order.toSorted((a, b) => a - b),
	);
	for (const call of calls.filter(({ nr }) => nr < CALL_NUMBERS)) {
		const indexes = indexesOf(call.name);
		const found = indexes.map(callAt);
		assert.ok(
			found.some(({ nr, abi }) => nr === call.nr && abi === call.abi),
			call.name,
		);
		for (const each of found) assert.ok(isNamed(each, call.name), call.name);
		assert.ok(!isNamed(call, 'read') || call.name === 'read');
	}
	assert.deepEqual(indexesOf('no_such_call'), []);
});

test('indexes into the tables: 512 numbers of each ABI', () => {
	assert.deepEqual(callAt(0), { nr: 0, abi: 'native' });
	assert.deepEqual(callAt(511), { nr: 511, abi: 'native' });
	assert.deepEqual(callAt(512), { nr: 0, abi: '32-bit' });
	if (process.arch !== 'x64') return;
	assert.deepEqual(indexesOf('read'), [0, 512 + 3]);
	assert.ok(isNamed({ nr: 0, abi: 'x32' }, 'read') && !isNamed({ nr: 0, abi: '32-bit' }, 'read'));
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
	// As bpf/lib/syscount/calls.h looks: a bit for each index, the lowest first.
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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
	placeProbe,
	type Register,
} from '../../../../../src/tools/memleak/machine-code/placement.js';
import { decode } from '../../../../../src/tools/memleak/machine-code/x86-decode.js';
import { REGISTERS } from '../../../../../src/tools/memleak/machine-code/x86-opcodes.js';

const RET = 'c3';

function bytes(...hex: string[]): Uint8Array {
	return Uint8Array.from(Buffer.from(hex.join('').replaceAll(' ', ''), 'hex'));
}

/** Where the probe of a function of one argument goes, with its file around it. */
function placeOf(...hex: string[]) {
	const code = bytes(...hex);
	return placeProbe(code, ['rdi'], { text: code, start: 0 });
}

test('the first instruction that the kernel emulates is taken, and named', () => {
	// glibc's free: test %rdi,%rdi; je to the ret; push %rbx; ret
	const free = placeOf('48 85 ff', '74 01', '53', RET);
	assert.deepEqual(free, {
		offset: 3,
		stackBytes: 0,
		emulated: true,
		why: 'at +3 (je): the kernel emulates it; test at +0 would be single-stepped',
	});
	const malloc = placeOf('53', '48 89 fb', '5b', RET);
	assert.deepEqual(malloc, {
		offset: 0,
		stackBytes: 0,
		emulated: true,
		why: 'at the entry: the kernel emulates push',
	});
});

/** What the kernel emulates whatever its version: a probe stays there if it is the entry. */
const EMULATED = [
	...['50', '54', '57', '41 50', '41 57', '90', 'eb 00', 'e9 00 00 00 00'],
	...['70 00', '7f 00', '0f 80 00 00 00 00', '0f 8f 00 00 00 00'],
];
/** Beside what is single-stepped for good: what some kernels refuse, step, or get wrong. */
const NOT_EMULATED = [
	...['f3 0f 1e fa', '66 90', 'f3 90', '41 90', '0f 1f 00', '66 0f 1f 44 00 00', '0f 1f 44 00 00'],
	...['40 50', '48 50', '49 50', '66 50', '6a 01', 'ff 30', 'f2 e9 00 00 00 00', '2e 74 00'],
	...['e8 00 00 00 00', '48 89 f8', '31 c0', 'c3', 'e3 00', '66 48 e8 00 00 00 00'],
];

test('emulated is what every kernel since 5.10 emulates', () => {
	for (const hex of EMULATED) assert.equal(decode(bytes(hex), 0)?.emulated, true, hex);
	for (const hex of NOT_EMULATED) assert.equal(decode(bytes(hex), 0)?.emulated, false, hex);
});

test('endbr64 is passed over, and what pushes without being emulated is counted', () => {
	const after = placeOf('f3 0f 1e fa', '53', '5b', RET);
	assert.deepEqual([after.offset, after.stackBytes], [4, 0]);
	assert.match(after.why, /endbr64 at \+0 would be single-stepped/);
	const code = bytes('f3 0f 1e fa', '74 00', RET);
	assert.equal(placeProbe(code, [...REGISTERS], { text: code, start: 0 }).offset, 4);
	const moves: [string, number][] = [
		['48 83 ec 18', 24],
		['48 81 ec 00 01 00 00', 256],
		['48 83 c4 80', 128],
		['48 8d 64 24 80', 128],
		['48 8d a4 24 00 ff ff ff', 256],
		['6a 01', 8],
		['ff 37', 8],
		['9c', 8],
		['6a 01 58', 0],
	];
	for (const [hex, stackBytes] of moves) {
		const placed = placeOf(hex, '74 00', RET);
		assert.deepEqual([placed.offset, placed.stackBytes], [hex.split(' ').length, stackBytes], hex);
	}
});

test('the entry it is when the stack pointer is not known, or above where it was', () => {
	const moves = [
		...['48 83 e4 f0', '83 ec 18', '48 29 c4', '48 89 ec', '48 94', 'c9', '5c', '66 6a 01'],
		...['58', '48 83 c4 08', '48 8d 24 04', '8d 64 24 80', '4c 87 e4'],
	];
	for (const hex of moves) {
		const placed = placeOf(hex, '74 00', RET);
		assert.deepEqual([placed.offset, placed.stackBytes, placed.emulated], [0, 0, false], hex);
		assert.match(placed.why, /moves the stack|not known/, hex);
	}
	// But with %r12 for %rsp, it does not.
	assert.equal(placeOf('49 83 e4 f0', '74 00', RET).offset, 4);
	assert.equal(placeOf('49 83 ec 18', '74 00', RET).stackBytes, 0);
});

test('the entry it is when a needed argument is overwritten, in whatever way', () => {
	const cases: [string, Register][] = [
		['bf 01 00 00 00', 'rdi'],
		['31 ff', 'rdi'],
		['40 88 c7', 'rdi'],
		['40 b7 01', 'rdi'],
		['66 bf 01 00', 'rdi'],
		['48 63 ff', 'rdi'],
		['0f b6 ff', 'rdi'],
		['48 0f 44 f8', 'rdi'],
		['48 8d 7f 08', 'rdi'],
		['48 ff c7', 'rdi'],
		['48 c1 ef 03', 'rdi'],
		['48 f7 df', 'rdi'],
		['48 87 f8', 'rdi'],
		['48 87 c7', 'rdi'],
		['48 97', 'rdi'],
		['48 0f b1 f7', 'rdi'],
		['48 0f c1 fe', 'rdi'],
		['48 0f c1 fe', 'rsi'],
		['48 0f cf', 'rdi'],
		['0f 94 c2', 'rdx'],
		['b6 01', 'rdx'],
		['b5 01', 'rcx'],
		['88 c6', 'rdx'],
		['40 0f 94 c6', 'rsi'],
		['41 0f 94 c0', 'r8'],
		['41 b9 01 00 00 00', 'r9'],
		['4d 89 c1', 'r9'],
		['48 f7 e6', 'rdx'],
		['48 99', 'rdx'],
		['0f a2', 'rdx'],
		['0f a2', 'rcx'],
		['0f 31', 'rdx'],
		['0f 01 f9', 'rcx'],
		['f3 48 a5', 'rdi'],
		['f3 48 a5', 'rsi'],
		['f3 48 a5', 'rcx'],
		['f3 aa', 'rdi'],
		['f2 ae', 'rcx'],
		['ac', 'rsi'],
		['6a 01 5f', 'rdi'],
		['6a 01 41 58', 'r8'],
		['48 0f c7 0f', 'rdx'],
		['0f c7 f7', 'rdi'],
		['f3 0f ae c7', 'rdi'],
		['f3 48 0f 1e cf', 'rdi'],
		['66 48 0f 7e c7', 'rdi'],
		['f2 48 0f 2c f8', 'rdi'],
		['66 0f d7 f8', 'rdi'],
		['0f 50 f8', 'rdi'],
		['66 0f c5 f8 01', 'rdi'],
		['66 0f 3a 16 c7 01', 'rdi'],
		['66 0f 3a 63 c1 00', 'rcx'],
		['c5 fd d7 f8', 'rdi'],
		['c4 e2 c0 f3 cf', 'rdi'],
		['c4 e2 c3 f6 f1', 'rsi'],
		['c4 e2 c3 f6 f1', 'rdi'],
		['62 f1 7c 48 10 c7', 'rdi'],
	];
	for (const [hex, register] of cases) {
		const code = bytes(hex, '74 00', RET);
		const placed = placeProbe(code, [register], { text: code, start: 0 });
		assert.deepEqual([placed.offset, placed.emulated], [0, false], `${hex} ${register}`);
		assert.match(placed.why, /overwrites an argument/, `${hex} ${register}`);
	}
});

test('reading an argument, or writing to where it points, leaves it as it is', () => {
	const cases = [
		...['48 85 ff', '48 83 ff 10', '48 39 f7', '48 3b 3e', '40 f6 c7 01', '48 89 fb', '48 89 37'],
		...[
			'48 8b 07',
			'c6 07 00',
			'48 ff 07',
			'0f b6 07',
			'48 8d 47 08',
			'66 48 0f 6e c7',
			'0f 29 07',
		],
		...['c5 fd 7f 07', '48 83 3d 00 00 00 00 00', 'f0 48 0f b1 17', '48 0f ba e7 01', '0f 28 f8'],
		...['64 48 8b 04 25 28 00 00 00', 'b7 01', 'fe c7'],
	];
	for (const hex of cases) {
		assert.equal(placeOf(hex, '74 00', RET).offset, hex.split(' ').length, hex);
	}
});

test('nothing behind the first branch is taken', () => {
	for (const hex of ['e3 00', 'e2 00', '0f 05', 'e8 00 00 00 00', 'ff d0', 'c3', 'cc', '0f 0b']) {
		const placed = placeOf(hex, '53', '5b', RET);
		assert.deepEqual([placed.offset, placed.emulated], [0, false], hex);
	}
	assert.match(
		placeOf('31 c0', '0f 05', '74 00', RET).why,
		/the kernel single-steps all instructions before syscall at \+2/,
	);
});

test('the entry it is when a branch goes back behind it', () => {
	// test; 1: dec; jne 1b; ret
	const loop = placeOf('48 85 ff', '48 ff ce', '75 fb', RET);
	assert.deepEqual([loop.offset, loop.emulated], [0, false]);
	assert.equal(loop.why, 'at the entry: test is single-stepped, and a branch goes back to +3');
	// To the probed branch itself, from further on, by a long jump, and into an instruction.
	assert.equal(placeOf('48 85 ff', '74 05', 'e9 f9 ff ff ff', RET).why, loop.why);
	assert.match(placeOf('48 85 ff', '74 02', 'eb fa', RET).why, /goes back to \+1/);
	// A call that goes there would count too.
	assert.match(placeOf('48 85 ff', '74 05', 'e8 f9 ff ff ff', RET).why, /goes back to \+3/);
	// To the entry as a whole, or behind the probe: every pass is a call, or none is.
	assert.equal(placeOf('48 85 ff', '74 02', 'eb f9', RET).offset, 3);
	assert.equal(placeOf('48 85 ff', '74 02', 'eb fe', RET).offset, 3);
});

test('the entry it is with a jump table, or code that is not known', () => {
	const table = placeOf('48 85 ff', '74 02', 'ff e0', RET);
	assert.match(table.why, /^at the entry: .* jumps to an address in a register/);
	assert.match(placeOf('48 85 ff', '74 03', '3e ff e0', RET).why, /an address in a register/);
	assert.match(
		placeOf('48 85 ff', '74 04', 'ff 24 c5 00 00 00 00').why,
		/an address in a register/,
	);
	// A variable's value is no table.
	assert.equal(placeOf('48 85 ff', '74 06', 'ff 25 00 00 00 00', RET).offset, 3);
	for (const unknown of ['06', '0f 0f c0 00', '62 f4 7c 08 10 c0', 'd5 10 50', 'c4 e8 78 10 c0']) {
		assert.match(placeOf('48 85 ff', '74 00', unknown).why, /does not know the instruction at \+5/);
		assert.match(placeOf('48 85 ff', unknown, '53').why, /does not know the instruction at \+3/);
		const first = placeOf(unknown, '53', RET);
		assert.deepEqual([first.offset, first.emulated], [0, false]);
	}
});

test('the entry it is when the code ends early', () => {
	const whole = ['48 85 ff', '0f 84 01 00 00 00', '53', '48 89 fb'];
	const code = bytes(...whole);
	for (let length = 0; length < code.length; length++) {
		const part = code.subarray(0, length);
		const { offset } = placeProbe(part, ['rdi'], { text: part, start: 0 });
		assert.equal(offset === 0 || length === 9 || length === 10, true, `${length}`);
	}
});

test('code elsewhere that jumps behind the entry is seen, and taken for possible when not shown', () => {
	const code = bytes('48 85 ff', '0f 84 0a 00 00 00', RET);
	const alone = placeProbe(code, ['rdi']);
	assert.match(alone.why, /jumps out of its known code/);
	const harmless = bytes('90 90', Buffer.from(code).toString('hex'), '90 90 90 90');
	assert.equal(placeProbe(code, ['rdi'], { text: harmless, start: 2 }).offset, 3);
	const jumps = ['e9 ee ff ff ff', '0f 85 ed ff ff ff', 'eb f1', '74 f1', 'e8 ee ff ff ff'];
	for (const back of jumps) {
		// Behind two bytes and the function there are four of padding: the jump's end is +2+10+4+length.
		const text = bytes('90 90', Buffer.from(code).toString('hex'), '90 90', back, '90 90');
		const end = 2 + code.length + 2 + back.split(' ').length;
		const distance = 2 + 3 - end;
		const short = back.split(' ').length === 2;
		const view = new DataView(text.buffer);
		if (short) view.setInt8(end - 1, distance);
		else view.setInt32(end - 4, distance, true);
		const placed = placeProbe(code, ['rdi'], { text, start: 2 });
		assert.match(placed.why, /code outside may jump behind the entry/, back);
	}
});

test('random bytes end in a place within the code, where its instructions begin', () => {
	const likely = fc.constantFrom(...bytes('48 85 ff 74 0f 53 83 ec 31 c0 41 90 eb e9 66 f3 c5 62'));
	const byte = fc.oneof(fc.nat(255), likely);
	const codes = fc
		.uint8Array({ maxLength: 64 })
		.chain((tail) =>
			fc.array(byte, { maxLength: 64 }).map((head) => Uint8Array.from([...head, ...tail])),
		);
	const needed = fc.subarray([...REGISTERS]);
	fc.assert(
		fc.property(codes, needed, fc.nat(16), fc.boolean(), (code, registers, start, shown) => {
			const text = Uint8Array.from([...new Uint8Array(start), ...code]);
			const around = shown ? { text, start } : undefined;
			const placed = placeProbe(code, registers, around);
			assert.ok(placed.offset === 0 || placed.offset < code.length);
			assert.ok(placed.stackBytes >= 0);
			let at = 0;
			while (at < placed.offset) at += decode(code, at)?.length_bytes ?? Number.NaN;
			assert.equal(at, placed.offset);
			if (placed.offset > 0) assert.equal(decode(code, at)?.emulated, true);
		}),
		{ numRuns: 20_000 },
	);
});

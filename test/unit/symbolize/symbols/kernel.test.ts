import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { kernelNames } from '../../../../src/symbolize/symbols/kernel.js';

const KALLSYMS = `0000000000000000 A fixed_percpu_data
ffffffff81000000 T _text
ffffffff81000000 T startup_64
ffffffff81000100 t do_one
ffffffff81000200 T __x64_sys_read
ffffffff81000200 t __do_sys_read
ffffffff81000200 T sys_read
ffffffff81000300 D some_data
ffffffffc0001000 t ext4_read	[ext4]
ffffffffc0000000 t xfs_read	[xfs]
ffffffffc0002000 t bpf_prog_0123456789abcdef_runqlat_switch	[bpf]
`;
const kernel = (low: number) => low - 2 ** 32;

/** Looks addresses up one by one, in text that comes in pieces of `piece` bytes. */
function namesIn(text: string, addresses: readonly number[], piece = 64) {
	const bytes = Buffer.from(text, 'latin1');
	const pieces: Buffer[] = [];
	for (let at = 0; at < bytes.length; at += piece) pieces.push(bytes.subarray(at, at + piece));
	const sorted = Float64Array.from(addresses).sort();
	const found = kernelNames(sorted, pieces);
	const names = addresses.map((address) => found.names[sorted.indexOf(address)]);
	return { names, hidden: found.hidden };
}

test('names of the kernel, its modules and BPF programs; of aliases the best known', () => {
	const expected: ReadonlyArray<readonly [number, string | undefined]> = [
		[kernel(0x81000000), 'startup_64'],
		[kernel(0x810000ff), 'startup_64'],
		[kernel(0x81000100), 'do_one'],
		[kernel(0x81000234), 'sys_read'],
		[kernel(0x81000238), 'sys_read'],
		[kernel(0xc0000123), 'xfs_read'],
		[kernel(0xc0001000), 'ext4_read'],
		[kernel(0xc0002010), 'bpf_prog_0123456789abcdef_runqlat_switch'],
		[kernel(0x80ffffff), undefined],
		[kernel(0xbf000000), undefined], // far from everything
		[0x1000, undefined],
	];
	for (const piece of [1, 7, 64, 4096]) {
		const addresses = expected.map(([address]) => address);
		const { names, hidden } = namesIn(KALLSYMS, addresses, piece);
		assert.equal(hidden, false);
		assert.deepEqual(
			names,
			expected.map(([, name]) => name),
		);
		for (const [address, name] of expected) {
			assert.deepEqual(namesIn(KALLSYMS, [address], piece).names, [name]);
		}
	}
});

test('a last line counts though no line end follows it, however the text is cut', () => {
	const text = KALLSYMS.trimEnd();
	for (const piece of [1, 64, 4096]) {
		assert.deepEqual(namesIn(text, [kernel(0xc0002010)], piece).names, [
			'bpf_prog_0123456789abcdef_runqlat_switch',
		]);
	}
});

test('a line that lacks its type or its name names nothing', () => {
	for (const line of [
		'ffffffff81000210',
		'ffffffff81000210 ',
		'ffffffff81000210 \n x',
		'ffffffff81000210 T',
		'ffffffff81000210 T ',
		'ffffffff8100021 T short',
		'ffffffff8100021g T no_number',
		'ffffffff8100021G T no_number',
		'ffffffff8100021/ T no_number',
		'ffffffff81000210  T wide',
	]) {
		const { names } = namesIn(`${line}\n${KALLSYMS}`, [kernel(0x81000234)]);
		assert.deepEqual(names, ['sys_read'], line);
	}
});

test('zeros for all addresses: hidden', () => {
	const zeros = '0000000000000000 T _text\n0000000000000000 T startup_64\n';
	const { names, hidden } = namesIn(zeros, [kernel(0x81000000)]);
	assert.equal(hidden, true);
	assert.deepEqual(names, [undefined]);
	assert.equal(namesIn('', [kernel(0x81000000)]).hidden, false);
});

test('the running kernel: each function is found at its start and behind it', () => {
	const text = readFileSync('/proc/kallsyms', 'utf8');
	for (const name of ['schedule', 'do_exit', 'ksys_read']) {
		const hex = new RegExp(`^ffffffff([0-9a-f]{8}) [tT] ${name}$`, 'm').exec(text)?.[1];
		if (!hex) assert.fail(`${name} is not there`);
		const start = kernel(Number.parseInt(hex, 16));
		assert.deepEqual(kernelNames(Float64Array.of(start, start + 4)).names, [name, name]);
	}
});

test('any text: names or nothing', () => {
	fc.assert(
		fc.property(fc.uint8Array({ maxLength: 400 }), fc.integer(), (bytes, address) => {
			const text = Buffer.from(bytes).toString('latin1');
			namesIn(KALLSYMS + text, [address]);
			namesIn(text, [address, kernel(0x81000000)]);
		}),
	);
	for (let length = 0; length < KALLSYMS.length; length++) {
		const [name] = namesIn(KALLSYMS.slice(0, length), [kernel(0x81000000)]).names;
		assert.ok(name === undefined || KALLSYMS.includes(name));
	}
	assert.equal(
		namesIn(`${'x'.repeat(100_000)}\n${KALLSYMS}`, [kernel(0x81000234)]).names[0],
		'sys_read',
	);
});

test('of aliases a function before data, a global one before a local one, the name of 64 bits before that of 32', () => {
	const nameOf = (...symbols: readonly string[]) => {
		const lines = symbols.map((symbol) => `ffffffff81000500 ${symbol}\n`).join('');
		return namesIn(KALLSYMS + lines, [kernel(0x81000501)]).names[0];
	};
	for (const [best, other] of [
		['t function', 'D data'],
		['T exported', 't local'],
		['T exported', 'W weak'],
		['W weak', 't local'],
		['t plain', 'T __underscored'],
		['T __x64_sys_read', 'T __ia32_sys_read'],
	] as const) {
		assert.equal(nameOf(best, other), best.slice(2), `${best}, ${other}`);
		assert.equal(nameOf(other, best), best.slice(2), `${other}, ${best}`);
	}
});

test('space in front of a function is the function; behind the last one there is none for ever', () => {
	const text = `${KALLSYMS}ffffffff81000600 t __pfx_do_two\nffffffff81000610 t do_two\n`;
	const { names } = namesIn(text, [kernel(0x81000600), kernel(0x81000610)]);
	assert.deepEqual(names, ['do_two', 'do_two']);
	const end = 0x81000300 + 2 ** 24;
	assert.deepEqual(namesIn(KALLSYMS, [kernel(end - 1), kernel(end)]).names, [
		'some_data',
		undefined,
	]);
});

test('a longer line than any is passed over, whole, however it is cut; a long one is read', () => {
	const long = 'n'.repeat(500);
	const text = `ffffffff81000700 t ${long}\nffffffff81000710 t ${'x'.repeat(5000)}\n${KALLSYMS}`;
	for (const piece of [1, 64, 4096])
		assert.deepEqual(namesIn(text, [kernel(0x81000700), kernel(0x81000711)], piece).names, [
			...[long, long],
		]);
});

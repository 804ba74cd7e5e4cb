/** Kernel stacks in a line: the scheduler's own functions are no part of what is shown, nor of how much. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { LineBuffer } from '../../../../src/render/line-buffer.js';
import { KernelStacks } from '../../../../src/tools/timehist/kernel-stacks.js';

const FRAMES = ['__schedule', 'schedule', 'futex_wait', 'do_futex', '__x64_sys_futex'];
const ROOM = 8;

/** Just behind where a function of the kernel begins; 0: this user may not see it. */
function addressIn(name: string): bigint {
	const symbols = readFileSync('/proc/kallsyms', 'latin1');
	const [, address = '0'] = new RegExp(`^([0-9a-f]+) [tT] ${name}$`, 'm').exec(symbols) ?? [];
	const begin = BigInt(`0x${address}`);
	return begin === 0n ? 0n : begin + 2n;
}

test('so many functions are shown as were asked for, none of them the scheduler’s', (t) => {
	const addresses = FRAMES.map(addressIn);
	if (addresses.includes(0n)) return t.skip('needs /proc/kallsyms with addresses');
	const words = new Uint32Array(1 + 2 * ROOM);
	for (const [i, address] of addresses.entries())
		new DataView(words.buffer).setBigUint64(4 + 8 * i, address, true);
	const shown = (most: number) => {
		const stacks = new KernelStacks(1, ROOM, most);
		stacks.name(words, Uint32Array.of(0), 1);
		const lines = new LineBuffer(64);
		stacks.add(words, 0, lines);
		const text = new TextDecoder().decode(lines.bytes());
		// Rows of JSON have the same.
		assert.equal(stacks.text(new DataView(words.buffer)), text);
		return text;
	};
	assert.equal(shown(1), 'futex_wait');
	assert.equal(shown(2), 'futex_wait <- do_futex');
	assert.equal(shown(ROOM), 'futex_wait <- do_futex <- __x64_sys_futex');
});

/** Rules of single addresses are those of the whole table. */
import assert from 'node:assert/strict';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FileBytes, MemoryBytes } from '../../../src/elf/bytes.js';
import { ruleLookup } from '../../../src/unwind/lookup.js';
import { CFA } from '../../../src/unwind/rule.js';
import { ruleAt, unwindTable } from '../../../src/unwind/table.js';

const LIBC = /\S+\/libc\.so\.6$/m.exec(readFileSync('/proc/self/maps', 'utf8'))?.[0] ?? '';

for (const path of [LIBC, process.execPath]) {
	test(`${path}: at each row, before it and behind it`, () => {
		const fd = openSync(path, 'r');
		try {
			const bytes = new FileBytes(fd, fstatSync(fd).size);
			const table = unwindTable(bytes);
			const lookup = ruleLookup(bytes);
			const { addresses } = table.rows;
			assert.ok(addresses.length > 10_000);
			const step = Math.ceil(addresses.length / 20_000);
			for (let i = 0; i < addresses.length; i += step) {
				const row = addresses[i] as number;
				for (const place of [row - 1, row, row + 1]) {
					assert.deepEqual(lookup.ruleAt(place), ruleAt(table, place), place.toString(16));
				}
			}
		} finally {
			closeSync(fd);
		}
	});
}

test('of what is no ELF file, or is cut off anywhere, nothing is known', () => {
	const whole = readFileSync(LIBC);
	for (const length of [0, 3, 64, 5000, whole.length >> 1, whole.length - 1]) {
		const lookup = ruleLookup(new MemoryBytes(whole.subarray(0, length)));
		for (const place of [0, 0x30000, whole.length, 2 ** 40]) lookup.ruleAt(place);
	}
	assert.equal(ruleLookup(new MemoryBytes(Buffer.alloc(0))).ruleAt(0).cfa, CFA.gap);
});

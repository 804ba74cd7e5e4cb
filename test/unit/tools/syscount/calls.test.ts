import assert from 'node:assert/strict';
import { test } from 'node:test';
import { syscount as layout } from '../../../../src/generated/syscount.js';
import { usedSlots } from '../../../../src/tools/syscount/calls.js';

const { size } = layout.structs.hist;

test('histograms of calls take no more than 24 MB, as long as the CPUs are at most 170', () => {
	assert.equal(usedSlots(size, 1), 32);
	assert.equal(usedSlots(size, 2), 32);
	for (const cpus of [32, 64, 128]) {
		const bytes = 2 * usedSlots(size, cpus) * size * cpus;
		assert.ok(bytes <= 24 << 20 && bytes > 16 << 20, `${cpus} CPUs: ${bytes}`);
	}
	assert.equal(usedSlots(size, 1024), 4);
});

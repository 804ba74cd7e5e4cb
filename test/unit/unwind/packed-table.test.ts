import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packed } from '../../../src/unwind/packed-table.js';
import { CFA, RULE_BYTES, RuleSet, UNKNOWN_RULE } from '../../../src/unwind/rule.js';

/** A table of rows, each an address and the CFA's offset of its rule. */
function tableOf(rows: readonly (readonly [number, number])[]) {
	const rules = new RuleSet(16);
	const numbers = rows.map(([, offset]) => rules.add(offset, 0, CFA.sp));
	return {
		rows: {
			addresses: Uint32Array.from(rows, ([address]) => address),
			rules: Uint16Array.from(numbers),
		},
		rules,
		problems: [],
	};
}

test('of several files: rules are numbered once, and each file brings those that are new', () => {
	const all = new RuleSet(16);
	const first = packed(tableOf([[0x10010, 8]]), all, 0);
	const sent = all.count;
	const second = packed(
		tableOf([
			[0x20, 8],
			[0x30, 24],
		]),
		all,
		sent,
	);
	// With those that every set begins with: the kernel must know an unknown rule from a gap.
	assert.deepEqual([first.firstRule, first.rules.length / RULE_BYTES], [0, 3]);
	assert.equal(
		new DataView(first.rules.buffer).getInt32(UNKNOWN_RULE * RULE_BYTES + 8, true),
		CFA.unknown,
	);
	assert.deepEqual([second.firstRule, second.rules.length / RULE_BYTES], [3, 1]);
	// A page begins with a row: here a gap.
	assert.deepEqual([...first.pages], [1]);
	assert.deepEqual([...first.counts], [2]);
	assert.deepEqual([...first.rows], [0, (2 << 16) | 0x10]);
	assert.deepEqual([...second.rows], [0, (2 << 16) | 0x20, (3 << 16) | 0x30]);
	assert.equal(new DataView(second.rules.buffer).getInt32(0, true), 24);
});

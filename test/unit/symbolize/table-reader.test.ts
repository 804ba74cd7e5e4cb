import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TableReader } from '../../../src/symbolize/table-reader.js';

/** Files of one name, as a file and its next version have it, and on btrfs files of different subvolumes. */
const changedAt = (changed_ns: bigint) => ({ inode: 7n, device: 1, changed_ns });

test('of two versions of a file the second one waits until the first is read', () => {
	const reader = new TableReader(() => {});
	const order = (changed_ns: bigint) => reader.order(changedAt(changed_ns), '/none');
	// Nobody knew when it was changed; who meets it does.
	assert.equal(order(0n), true);
	assert.equal(order(5n), true);
	assert.equal(order(5n), true);
	assert.equal(order(6n), false);
	assert.equal(reader.order({ ...changedAt(6n), inode: 8n }, '/none'), true);
	reader.close();
});

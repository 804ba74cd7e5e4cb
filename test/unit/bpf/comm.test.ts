/** Thread names as they lie in the kernel's structures. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readComm } from '../../../src/bpf/comm.js';

test('a name ends at its zero, or is as long as it can be, wherever it lies', () => {
	const bytes = Buffer.alloc(100, '#');
	bytes.write('name\0left over', 40, 'latin1');
	bytes.write('exactly-15-byte\0', 60, 'latin1');
	bytes.write('without its zero', 80, 'latin1');
	// A record begins anywhere in its buffer.
	for (const begin of [0, 8, 33]) {
		const view = new DataView(bytes.buffer, bytes.byteOffset + begin, bytes.length - begin);
		assert.equal(readComm(view, 40 - begin), 'name');
		assert.equal(readComm(view, 60 - begin), 'exactly-15-byte');
		assert.equal(readComm(view, 80 - begin), 'without its zero');
		assert.equal(readComm(view, 44 - begin), '');
	}
});

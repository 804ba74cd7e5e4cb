import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { readProgram } from '../../../../src/symbolize/mappings/program-file.js';

test('a part of the file of the program that a process runs', () => {
	const { size } = statSync(process.execPath);
	const [offset, length_bytes] = [size - 5000, 4096];
	const expected = readFileSync(process.execPath).subarray(offset, offset + length_bytes);
	assert.deepEqual(readProgram(process.pid, offset, length_bytes), expected);
	assert.equal(readProgram(process.pid, size - 5000, 5001), undefined);
	// Above the kernel's limit of 2^22.
	assert.equal(readProgram(5_000_000, 0, 1), undefined);
});

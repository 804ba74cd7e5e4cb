/** On which kernels a probe of a return ends whoever has its system calls filtered. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { returnProbesEndFiltered } from '../../../../../src/tools/memleak/heap/probe-ways.js';

test('6.11 brought it, 6.12.14, 6.13.3 and 6.14 mended it, x86-64 alone has it', () => {
	for (const kernel of ['6.11.0-26-generic', '6.12.9', '6.12.13-amd64', '6.13', '6.13.2-arch1-1'])
		assert.ok(returnProbesEndFiltered(kernel, 'x64'), kernel);
	for (const kernel of [
		...['5.10.0-46-amd64', '6.1.0', '6.10.14', '6.12.14', '6.12.95+deb12-amd64', '6.13.3'],
		...['6.14.0', '6.18.44', '7.2.13', '16.11', ''],
	])
		assert.ok(!returnProbesEndFiltered(kernel, 'x64'), kernel);
	assert.ok(!returnProbesEndFiltered('6.12.9', 'arm64'));
});

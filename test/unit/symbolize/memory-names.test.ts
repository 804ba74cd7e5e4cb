/** What lies at an address of a file's mapping that has no names: how far in the file it is. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ProcessHistory } from '../../../src/symbolize/mappings/processes.js';
import { memoryNames } from '../../../src/symbolize/symbols/memory-names.js';

test('an address in a mapped file is told by where it is in the file, not in the mapping', () => {
	const maps = readFileSync('/proc/self/maps', 'utf8');
	const line = /^([0-9a-f]+)-\S+ r\S+ 0*([1-9a-f][0-9a-f]*) \S+ [1-9]\d* +\/.*\/(.*)$/m;
	const [, start = '', offset = '', name] = line.exec(maps) ?? assert.fail(maps);
	const place = {
		pid: process.pid,
		tid: process.pid,
		address: Number.parseInt(start, 16) + 0x123,
		sp: 0,
		at_ns: 0,
		inHeap: false,
	};
	const at = Number.parseInt(offset, 16) + 0x123;
	// Of no process it knows what files are mapped.
	const names = memoryNames([place], new ProcessHistory());
	assert.equal(names.get(place), `${name}+0x${at.toString(16)}`);
});

import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { FileBytes, MemoryBytes } from '../../../../src/elf/bytes.js';
import { Elf } from '../../../../src/elf/elf.js';
import { ExportedSymbols } from '../../../../src/elf/exported-symbols.js';
import { runtimeIn } from '../../../../src/runtimes/recognise.js';
import { LAYOUT } from './memory.js';

test('this node: its version, and where its functions are', () => {
	const fd = openSync(process.execPath, 'r');
	try {
		const bytes = new FileBytes(fd, statSync(process.execPath).size);
		const file = runtimeIn(new Elf(bytes));
		if (file?.runtime !== 'v8') assert.fail();
		assert.ok(process.versions.v8.startsWith(`${file.version}.`), file.version);
		const isKnown = process.versions.v8.startsWith('11.3.');
		assert.equal(file.problem, isKnown ? undefined : 'version');
		if (!isKnown) return;
		const { heap, builtins, interpreter } = file.layout ?? assert.fail();
		assert.deepEqual(heap, LAYOUT);
		assert.ok(builtins.start < interpreter.start && interpreter.end < builtins.end);
		assert.ok(interpreter.end - interpreter.start > 100);
		assert.equal(new ExportedSymbols(new Elf(bytes)).find('v8dbg_no_such_thing'), undefined);
	} finally {
		closeSync(fd);
	}
});

test('a file without V8 has no runtime', () => {
	const bytes = readFileSync('build/workloads/leaks');
	assert.equal(runtimeIn(new Elf(new MemoryBytes(bytes))), undefined);
});

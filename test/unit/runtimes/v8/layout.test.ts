import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { FileBytes, MemoryBytes } from '../../../../src/elf/bytes.js';
import { Elf } from '../../../../src/elf/elf.js';
import { ExportedSymbols } from '../../../../src/elf/exported-symbols.js';
import { runtimeIn } from '../../../../src/runtimes/recognise.js';
import { LAYOUTS } from './memory.js';

/** Of an ELF file: man 5 elf. */
const ET_EXEC = 2;
const ET_DYN = 3;

/** As scripts/setup.sh has fetched them, for one architecture. */
const FETCHED = process.arch === 'x64' ? ['22.23.3', '24.21.0', '25.9.0', '26.12.1'] : [];
const NODES = new Map(FETCHED.map((version) => [version, resolve(`build/nodes/${version}/node`)]));
NODES.set('that runs this', process.execPath);

for (const [which, node] of NODES) {
	test(`Node.js ${which}: its version of V8, and where its functions are`, () => {
		const versions = JSON.parse(
			execFileSync(node, ['-p', 'JSON.stringify(process.versions)'], { encoding: 'utf8' }),
		);
		const fd = openSync(node, 'r');
		try {
			const bytes = new FileBytes(fd, statSync(node).size);
			const file = runtimeIn(new Elf(bytes));
			if (file?.runtime !== 'v8') assert.fail();
			assert.ok(versions.v8.startsWith(`${file.version}.`), file.version);
			const expected = LAYOUTS[Number.parseInt(versions.node, 10)];
			assert.equal(file.problem, expected ? undefined : 'version');
			if (!expected) return;
			const { heap, builtins, interpreter, resumes } = file.layout ?? assert.fail();
			assert.deepEqual(heap, expected);
			assert.ok(builtins.start < interpreter.start && interpreter.end < builtins.end);
			assert.ok(interpreter.end - interpreter.start > 100);
			assert.ok(resumes.length > 0);
			for (const at of resumes) assert.ok(at > builtins.start && at < builtins.end);
			assert.equal(new ExportedSymbols(new Elf(bytes)).find('v8dbg_no_such_thing'), undefined);
		} finally {
			closeSync(fd);
		}
	});
}

test('a file without V8 has no runtime', () => {
	const bytes = readFileSync('build/workloads/leaks');
	assert.equal(runtimeIn(new Elf(new MemoryBytes(bytes))), undefined);
});

test('a node that may be anywhere in memory: no part of its file is known to be in one place', () => {
	const fd = openSync(process.execPath, 'r');
	try {
		const bytes = new FileBytes(fd, statSync(process.execPath).size);
		const layoutOf = (type: number) => {
			const read = (offset: number, length_bytes: number) => {
				const part = bytes.read(offset, length_bytes);
				// The header's e_type.
				if (offset === 0) part.writeUInt16LE(type, 16);
				return part;
			};
			const file = runtimeIn(new Elf({ size_bytes: bytes.size_bytes, read }));
			return file?.runtime === 'v8' ? file.layout : undefined;
		};
		const [fixed, anywhere] = [layoutOf(ET_EXEC), layoutOf(ET_DYN)];
		if (!fixed || !anywhere) return;
		assert.ok(fixed.loaded.length > 1);
		assert.deepEqual(anywhere.loaded, []);
		assert.equal(anywhere.wasm, undefined);
	} finally {
		closeSync(fd);
	}
});

import assert from 'node:assert/strict';
import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { FileBytes } from '../../../../src/elf/bytes.js';
import { Elf } from '../../../../src/elf/elf.js';
import { pythonIn } from '../../../../src/runtimes/python/layout.js';
import { codeOffsetOf, runtimeIn } from '../../../../src/runtimes/recognise.js';
import { LAYOUT } from './memory.js';

const PYTHON = '/usr/bin/python3.11';
const HAS_PYTHON = existsSync(PYTHON) ? {} : { skip: `there is no ${PYTHON}` };

function fileOf<T>(path: string, work: (elf: Elf) => T): T {
	const fd = openSync(path, 'r');
	try {
		return work(new Elf(new FileBytes(fd, statSync(path).size)));
	} finally {
		closeSync(fd);
	}
}

test("Debian's Python 3.11: its version, and where its functions are", HAS_PYTHON, () => {
	const file = fileOf(PYTHON, runtimeIn);
	if (file?.runtime !== 'python') assert.fail();
	assert.match(file.version, /^3\.11\.\d+$/);
	assert.equal(file.problem, undefined);
	const { runtime, codeType, stringType, evalStart, evalEnd, ...structs } =
		file.layout ?? assert.fail();
	const {
		runtime: _1,
		codeType: _2,
		stringType: _3,
		evalStart: _4,
		evalEnd: _5,
		...expected
	} = LAYOUT;
	assert.deepEqual(structs, expected);
	assert.ok(evalEnd - evalStart > 10_000);
	assert.ok(runtime > evalEnd && codeType > evalEnd && stringType > evalEnd);
	assert.equal(codeOffsetOf(file), evalStart);
});

test('a file without CPython', () => {
	assert.equal(fileOf('build/workloads/leaks', pythonIn), undefined);
});

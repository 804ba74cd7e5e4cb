import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isForPrograms, STACK_FORMATS, stackFormatOfFile } from '../../../src/render/formats.js';

test('a file is of the format that its name ends with', () => {
	const names = {
		'cpu.folded': 'folded',
		'cpu.svg': 'svg',
		'CPU.SVG': 'svg',
		'cpu.pprof': 'pprof',
		'/tmp/cpu.pb.gz': 'pprof',
		'cpu.speedscope.json': 'speedscope',
		'cpu.json': undefined,
		'cpu.gz': undefined,
		pprof: undefined,
		'-': undefined,
	};
	for (const [name, format] of Object.entries(names)) {
		assert.equal(stackFormatOfFile(name), format, name);
	}
	assert.equal(stackFormatOfFile(undefined), undefined);
});

test('of all formats a terminal gets folded stacks alone', () => {
	assert.deepEqual(
		STACK_FORMATS.filter((format) => !isForPrograms(format)),
		['folded'],
	);
});

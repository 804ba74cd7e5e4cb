import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../../../src/errors.js';
import { stackFormatOfFile } from '../../../src/options/choose-format.js';

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

test('nothing here draws png and the like; folded stacks in such a file would be no picture', () => {
	for (const name of ['cpu.png', 'CPU.JPEG', '/tmp/x.pdf'])
		assert.throws(() => stackFormatOfFile(name), UsageError, name);
	assert.equal(stackFormatOfFile('png'), undefined);
});

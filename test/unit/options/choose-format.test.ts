import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../../../src/errors.js';
import {
	formatOfFile,
	notForTerminal,
	refuseOtherPictures,
	stackFormatOfFile,
	unnamedFormat,
} from '../../../src/options/choose-format.js';

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

test('tools that write text and JSON know their endings too', () => {
	const names = {
		'a.json': 'json',
		'A.JSON': 'json',
		'a.txt': 'text',
		'a.svg': 'svg',
		a: undefined,
	};
	for (const [name, format] of Object.entries(names))
		assert.equal(formatOfFile(name), format, name);
	assert.equal(formatOfFile('a.speedscope.json'), 'speedscope');
	for (const name of ['jsontxt', 'a.json.gz', 'ajson']) assert.equal(formatOfFile(name), undefined);
	assert.throws(() => formatOfFile('a.gif'), UsageError);
});

test('where nothing is named: text, but folded where stacks are to draw and no terminal is there', () => {
	assert.equal(unnamedFormat('to draw', false), 'folded');
	assert.equal(unnamedFormat('to draw', true), 'text');
	assert.equal(unnamedFormat('report', false), 'text');
	assert.equal(unnamedFormat('report', true), 'text');
});

test('of other pictures is said which there are; of what is no text, where it can go', () => {
	for (const end of ['png', 'jpg', 'jpeg', 'gif', 'webp', 'pdf']) {
		const message = `cannot write .${end}; for a picture of stacks, name the file .svg or .html`;
		assert.throws(() => refuseOtherPictures(`a.${end}`), { message });
	}
	for (const name of [undefined, 'a.svg', 'a.png.svg', 'apng']) refuseOtherPictures(name);
	assert.ok(notForTerminal('svg') instanceof UsageError);
	assert.equal(
		notForTerminal('svg').message,
		'svg is not for a terminal; write it to a file: > FILE, or -o FILE',
	);
	assert.match(notForTerminal('svg', ' with -o').message, /write it to a file with -o$/);
});

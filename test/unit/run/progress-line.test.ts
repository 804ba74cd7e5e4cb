/** How far something is: in place on a terminal, and once elsewhere. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { type TestContext, test } from 'node:test';
import tty from 'node:tty';
import { ProgressLine } from '../../../src/run/progress-line.js';

/** What is written on standard error. */
function written(t: TestContext, isTerminal: boolean, work: (line: ProgressLine) => void): string {
	let text = '';
	const mocks = [
		t.mock.method(tty, 'isatty', () => isTerminal),
		t.mock.method(fs, 'writeSync', (_fd: number, bytes: Uint8Array, from: number) => {
			text += Buffer.from(bytes.subarray(from)).toString();
			return bytes.length - from;
		}),
	];
	syncBuiltinESMExports();
	try {
		work(new ProgressLine());
		return text;
	} finally {
		for (const { mock } of mocks) mock.restore();
		syncBuiltinESMExports();
	}
}

const work = (line: ProgressLine) => {
	line.show('reads symbols', '5 %');
	line.show('reads symbols', '9 %');
	line.show('x'.repeat(200), '10 %');
	line.clear();
	line.clear();
};

test('on a terminal each takes the place of the one before, and none is left or wraps', (t) => {
	const lines = written(t, true, work).split('\r').slice(1);
	assert.deepEqual(lines, [
		'5 % reads symbols\x1b[K',
		'9 % reads symbols\x1b[K',
		`10 % ${'x'.repeat(74)}\x1b[K`,
		'\x1b[K',
	]);
});

test('elsewhere what is done is said once, without how far it is', (t) => {
	assert.equal(written(t, false, work), `reads symbols\n${'x'.repeat(200)}\n`);
});

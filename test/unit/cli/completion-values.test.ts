/** Values that the shell completes, of options that take several with commas between. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { hasValues, wordsFor } from '../../../src/cli/completion-values.js';

test('in a list only the last value is completed, and those before it stay', () => {
	const names = (option: string, word: string) =>
		wordsFor(option, word).map((line) => line.replace(/\t.*$/, ''));
	const alone = names('--syscall', 'rea');
	assert.ok(alone.includes('read') && alone.includes('readv'), `${alone}`);
	for (const before of ['write,', 'write,openat,', 'write,openat,close,'])
		assert.deepEqual(
			names('--syscall', `${before}rea`),
			alone.map((name) => before + name),
		);
	// What takes one value only has no list.
	assert.ok(names('--errno', 'ENOEN').includes('ENOENT'));
	assert.deepEqual(names('--errno', 'EINTR,ENOEN'), []);
});

test('options that take lists complete in lists; others have one value', () => {
	const [, second = ''] = wordsFor('--syscall', 'a,rea');
	assert.match(second, /^a,/);
	for (const option of ['--pid', '--tid', '--comm']) {
		const [first = ''] = wordsFor(option, '1,');
		assert.match(first, /^1,./, option);
	}
	assert.deepEqual(wordsFor('--calls', 'write,openat'), wordsFor('--syscall', 'write,openat'));
	assert.ok(wordsFor('--calls', 'write,openat').length > 0);
	assert.deepEqual(wordsFor('--hist', 'write,rea'), []);
});

test('sets of calls are said to be some, states and events are named, and others are not known', () => {
	for (const option of ['--syscall', '--calls'])
		assert.ok(wordsFor(option, 'fil').includes('file\ta set of calls'), option);
	assert.ok(!wordsFor('--hist', 'file').some((line) => /^file\b/.test(line)));
	assert.match(wordsFor('--state', 'D').join('\n'), /^D\t.{4}/);
	assert.ok(wordsFor('--event', 'page-f').some((line) => line.startsWith('page-faults')));
	for (const option of ['constructor', '--color', '']) {
		assert.equal(hasValues(option), false);
		assert.deepEqual(wordsFor(option, ''), []);
	}
});

/** Whatever this process is called meanwhile. */
function called<T>(name: string, look: () => T): T {
	const before = readFileSync('/proc/self/comm', 'utf8').trimEnd();
	writeFileSync('/proc/self/comm', name);
	try {
		return look();
	} finally {
		writeFileSync('/proc/self/comm', before);
	}
}

test('processes are found by their name’s beginning, too; threads by their own numbers', async () => {
	const own = (line: string) => line.startsWith(`${process.pid}\t`);
	called('zq-values', () => {
		assert.deepEqual(wordsFor('--pid', 'zq-val'), [`${process.pid}\tzq-values`]);
		assert.deepEqual(wordsFor('--pid', '1,zq-val'), [`1,${process.pid}\tzq-values`]);
		assert.deepEqual(wordsFor('--pid', 'values'), []);
		assert.deepEqual(wordsFor('--comm', 'zq-'), ['zq-values']);
		assert.ok(wordsFor('--pid', '').some(own));
	});
	const worker = new Worker('setInterval(() => {}, 1000)', { eval: true });
	try {
		await once(worker, 'online');
		const tids = readdirSync('/proc/self/task').filter((tid) => Number(tid) !== process.pid);
		const offered = (option: string) =>
			tids.filter((tid) => wordsFor(option, tid).some((line) => line.startsWith(`${tid}\t`)));
		assert.deepEqual(offered('--tid'), tids);
		assert.deepEqual(offered('--pid'), []);
	} finally {
		await worker.terminate();
	}
});

test('names that a shell’s line is no place for are left out; beside a number they are made plain', () => {
	called('zq,comma', () => {
		assert.deepEqual(wordsFor('--comm', 'zq'), ['zq,comma']);
		// In a list it would be two.
		assert.deepEqual(wordsFor('--comm', 'x,zq'), []);
	});
	called('zq\\n', () => assert.deepEqual(wordsFor('--comm', 'zq'), []));
	called('zq\u001b[31m', () => {
		assert.deepEqual(wordsFor('--comm', 'zq'), []);
		assert.deepEqual(wordsFor('--pid', 'zq'), [`${process.pid}\tzq\\x1b[31m`]);
	});
});

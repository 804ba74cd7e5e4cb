import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Asker } from '../../../src/proc/asker.js';
import { processIds } from '../../../src/proc/threads.js';
import { textOf } from '../../../src/text-of.js';

const folder = mkdtempSync(join('build', 'asker-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** Who reads from it waits until somebody writes. */
function pipe(name: string): string {
	const path = join(process.cwd(), folder, name);
	execFileSync('mkfifo', [path]);
	return path;
}

/** And counts how often it is asked. */
function asking(): { asker: Asker<string>; asked: () => number } {
	let count = 0;
	const asker = new Asker<string>((path) => {
		count++;
		return ['head', '-c', '1', '--', path];
	}, 60_000);
	return { asker, asked: () => count };
}

test('who answers does so, and is not asked again for a while', () => {
	const { asker, asked } = asking();
	assert.equal(asker.isAnswering('a', 'a', '/proc/version'), true);
	assert.equal(asker.isAnswering('a', 'a', '/proc/version'), true);
	assert.equal(asked(), 1);
	assert.deepEqual(asker.silent, []);
});

test('an answer is believed for a while only', () => {
	let count = 0;
	const asker = new Asker<string>(() => {
		count++;
		return ['true'];
	}, 0);
	for (let time = 0; time < 2; time++) assert.equal(asker.isAnswering('a', 'a', ''), false);
	assert.equal(count, 2);
});

test('an error is an answer', () => {
	const { asker } = asking();
	assert.equal(asker.isAnswering('a', 'a', join(folder, 'missing')), true);
});

test('who does not answer is silent, is not asked twice, and answers as soon as it does', async () => {
	const { asker, asked } = asking();
	const path = pipe('late');
	for (let time = 0; time < 3; time++) assert.equal(asker.isAnswering('a', 'subject', path), false);
	assert.equal(asked(), 1);
	assert.deepEqual(asker.silent, ['subject']);
	writeFileSync(path, 'x');
	while (!asker.isAnswering('a', 'subject', path)) await sleep(1);
	assert.equal(asked(), 1);
});

test('who is killed while it asks has no answer', () => {
	const asker = new Asker<string>(() => ['/bin/sh', '-c', 'kill -9 $$'], 60_000);
	assert.equal(asker.isAnswering('a', 'a', ''), false);
	assert.deepEqual(asker.silent, ['a']);
});

test('an error that comes late is no answer', async () => {
	const path = pipe('error');
	let count = 0;
	const asker = new Asker<string>(() => {
		count++;
		return ['/bin/sh', '-c', `head -c 1 ${path}; exit 1`];
	}, 60_000);
	assert.equal(asker.isAnswering('a', 'a', ''), false);
	writeFileSync(path, 'x');
	while (count === 1) {
		assert.equal(asker.isAnswering('a', 'a', ''), false);
		await sleep(1);
	}
});

test('of five that are silent, the last is not asked: all of them cost 2 s at most', (t) => {
	const { asker, asked } = asking();
	assert.equal(asker.isAnswering('known', 'known', '/proc/version'), true);
	for (let i = 1; i <= 5; i++)
		assert.equal(asker.isAnswering(`${i}`, `${i}`, pipe(`of-${i}`)), false);
	assert.equal(asked(), 1 + 4);
	// Nobody knows of the last one.
	assert.deepEqual(asker.silent, ['1', '2', '3', '4']);
	// Who has answered before is asked again.
	const now = performance.now.bind(performance);
	t.mock.method(performance, 'now', () => now() + 100_000);
	assert.equal(asker.isAnswering('known', 'known', '/proc/version'), true);
});

test('nobody goes on asking for a process that has ended, nor who was started to ask', async () => {
	const path = pipe('for-ever');
	const module = new URL('../../../src/proc/asker.js', import.meta.url);
	const script = `import { Asker } from '${module}';
		const words = ['/bin/sh', '-c', 'head -c 1 -- ${path}; exit 1'];
		if (new Asker(() => words, 1).isAnswering('a', 'a', '')) process.exitCode = 1;`;
	execFileSync(process.execPath, ['--input-type=module', '-e', script]);
	const isAsking = () => processIds().some((pid) => textOf(`/proc/${pid}/cmdline`)?.includes(path));
	for (let looks = 0; isAsking(); looks++) {
		assert.ok(looks < 1000, 'somebody asks still');
		await sleep(10);
	}
});

test('where nobody can ask, all are taken to answer', () => {
	const asker = new Asker<string>(() => ['no-such-program-anywhere'], 60_000);
	assert.equal(asker.isAnswering('a', 'a', ''), true);
	assert.deepEqual(asker.silent, []);
});

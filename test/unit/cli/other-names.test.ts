/** Options that other tools have under another name: what it is here. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inProcess } from '../in-process.js';

async function said(...words: string[]): Promise<string> {
	const { status, stdout, stderr } = await inProcess(words);
	assert.deepEqual([status, stdout], [2, '']);
	return stderr;
}

test('a letter with its value or without it, and a word', async () => {
	for (const [words, name] of [
		[['offcputime', '-m', '5'], '--min'],
		[['offcputime', '-m5'], '--min'],
		[['offcputime', '-M100'], '--max'],
		[['offcputime', '-M', '100'], '--max'],
	] as const)
		assert.match(
			await said(...words),
			new RegExp(`unknown option .*; its name here is ${name}; see tstrace offcputime --help`),
		);
	// Nobody's letter.
	assert.doesNotMatch(await said('offcputime', '-j5'), /its name here/);
	// Of a word what is close, with a value behind it or not.
	for (const word of ['--stat', '--stat=D', '--sate'])
		assert.match(await said('offcputime', word), /: did you mean --state\? See tstrace /);
	assert.doesNotMatch(await said('offcputime', '--nothing-like-it'), /did you mean|its name/);
});

/** fold as it is called: what its options make of recordings, and what it refuses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inProcess } from '../in-process.js';

const sample = (event: string, ...frames: string[]) =>
	`app 12/34 [000] 1.000001:  1 ${event}: \n${frames.map((frame) => `\t${frame}\n`).join('')}\n`;
const [KERNEL, JIT, MAIN] = [
	'ffffffff81000010 vfs_read+0x10 ([kernel.kallsyms])',
	'7f0000001234 load+0x4 (/tmp/perf-12.map)',
	'555500001234 main+0x10 (/usr/bin/a)',
];
const PERF = sample('cycles', KERNEL, JIT, MAIN);
const TWO = PERF + sample('faults', MAIN);
const RESULT = JSON.stringify({
	tool: 'profile',
	unit: 'samples',
	stacks: [{ frames: ['main', 'load', 'read'], kinds: 'ujk', value: 5, key: { comm: 'app' } }],
});

async function folded(input: string, ...options: string[]): Promise<string> {
	const { status, stdout, stderr } = await inProcess(['fold', ...options], input);
	assert.deepEqual([status, stderr], [0, '']);
	return stdout;
}

async function refused(status: number, said: RegExp, input: string, ...options: string[]) {
	const result = await inProcess(['fold', ...options], input);
	assert.match(result.stderr, said);
	assert.match(result.stderr, /^tstrace fold: [^\n]+\n$/);
	assert.deepEqual([result.status, result.stdout], [status, '']);
}

test('perf script: thread names, and numbers where they are asked for', async () => {
	assert.equal(await folded(PERF), 'app;main;load;vfs_read 1\n');
	assert.equal(await folded(PERF, '--pid'), 'app-12;main;load;vfs_read 1\n');
	assert.equal(await folded(PERF, '--tid'), 'app-12/34;main;load;vfs_read 1\n');
	await refused(2, /give either --pid or --tid; --tid writes both numbers/, PERF, '--pid', '--tid');
});

test('kinds of frames are marked as it is asked for', async () => {
	assert.equal(await folded(PERF, '--kernel'), 'app;main;load;vfs_read_[k] 1\n');
	assert.equal(await folded(PERF, '--jit'), 'app;main;load_[j];vfs_read 1\n');
	const both = 'app;main;load_[j];vfs_read_[k] 1\n';
	assert.equal(await folded(PERF, '--jit', '--kernel'), both);
	assert.equal(await folded(PERF, '--all'), both);
	// As stackcollapse-perf.pl: what perf calls inlined bears no mark, whatever is asked for.
	const inlined = sample('cycles', KERNEL, '555500001234 inner (inlined)', MAIN);
	assert.equal(await folded(inlined, '--all'), 'app;main;inner;vfs_read_[k] 1\n');
	assert.equal(await folded(RESULT), 'app;main;load;read 5\n');
	assert.equal(await folded(RESULT, '--kernel'), 'app;main;load;read_[k] 5\n');
	assert.equal(await folded(RESULT, '--all'), 'app;main;load_[j];read_[k] 5\n');
	// Of a result of tstrace there is no such habit: --all is all kinds.
	const ofDebugInfo = RESULT.replace('ujk', 'uik');
	assert.equal(await folded(ofDebugInfo, '--all'), 'app;main;load_[i];read_[k] 5\n');
	assert.equal(await folded(ofDebugInfo, '--kernel', '--jit'), 'app;main;load;read_[k] 5\n');
	// What has marks keeps them.
	assert.equal(await folded('a;b_[k] 1\n'), 'a;b_[k] 1\n');
});

test('several events cannot be added up: each has its stacks, or one is chosen', async () => {
	const { status, stdout, stderr } = await inProcess(['fold'], TWO);
	assert.equal(status, 0);
	assert.equal(stdout, 'cycles;app;main;load;vfs_read 1\nfaults;app;main 1\n');
	const said = stderr.replace(/\s+/g, ' ');
	assert.match(
		said,
		/^note: the input has 2 events; each stack begins with the name of its event: cycles, faults; --event NAME writes only one $/,
	);
	assert.equal(await folded(TWO, '-e', 'faults'), 'app;main 1\n');
	assert.equal(await folded(TWO, '--event-filter', 'cycles'), 'app;main;load;vfs_read 1\n');
	await refused(1, /there is no event x; there are: cycles, faults/, TWO, '-e', 'x');
});

test('stacks are chosen by their frames, and sorted', async () => {
	const stacks = 'b;x 1\na;x 2\na;y 4\n';
	assert.equal(await folded(stacks), 'a;x 2\na;y 4\nb;x 1\n');
	assert.equal(await folded(stacks, '--grep', 'x'), 'a;x 2\nb;x 1\n');
	assert.equal(await folded(stacks, '--exclude', '^a$'), 'b;x 1\n');
	await refused(1, /nothing to write: no stack matches the options/, stacks, '--grep', 'z');
	await refused(1, /the input is empty/, '');
});

test('what only perf script text has is said to be without effect elsewhere', async () => {
	const said = async (input: string, ...options: string[]) =>
		(await inProcess(['fold', ...options], input)).stderr.replace(/\s+/g, ' ');
	assert.equal(
		await said(RESULT, '--pid', '--inline'),
		'note: --pid, --inline have no effect: only perf script text has this information ',
	);
	assert.match(await said('a 1\n', '--tid'), /^note: --tid has no effect/);
	assert.equal(await said(PERF, '--tid', '--inline'), '');
	assert.equal(await said(RESULT, '--all', '--addrs'), '');
	assert.equal(await said(RESULT, '--pid', '-q'), '');
});

test('of several events kinds of frames stay what they are, and are marked', async () => {
	const { stdout } = await inProcess(['fold', '--all'], TWO);
	assert.equal(stdout, 'cycles;app;main;load_[j];vfs_read_[k] 1\nfaults;app;main 1\n');
});

test('frames without a name have their address, if it is asked for', async () => {
	const nameless = sample('cycles', '7f0000009999 [unknown] (/usr/lib/x.so)', MAIN);
	assert.doesNotMatch(await folded(nameless), /9999/);
	assert.match(await folded(nameless, '--addrs'), /^app;main;.*9999.* 1$/m);
});

test('--jit marks functions of each language, out of a result of tstrace', async () => {
	const frames = ['main', 'js', 'py', 'wasm', 'read'];
	const stack = { frames, kinds: 'uspjk', value: 5, key: { comm: 'app' } };
	const result = JSON.stringify({ tool: 'profile', unit: 'samples', stacks: [stack] });
	assert.equal(await folded(result, '--jit'), 'app;main;js_[j];py_[j];wasm_[j];read 5\n');
});

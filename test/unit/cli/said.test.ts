/** Errors as users read them: which word is wrong, what is valid, where to look; the cause only if it is asked for. */
import assert from 'node:assert/strict';
import fs, { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { main } from '../../../src/cli/main.js';
import { inProcess } from '../in-process.js';

const folder = mkdtempSync(join(tmpdir(), 'tstrace-said-'));
after(() => rmSync(folder, { recursive: true }));

test('wrong words: the option or the argument, the word in quotes, and what is valid', async () => {
	const lines: ReadonlyArray<readonly [args: string[], line: RegExp]> = [
		[
			['offcpu'],
			/^tstrace: unknown command 'offcpu': did you mean offcputime\? See tstrace --help$/,
		],
		[["foo'bar"], /^tstrace: unknown command 'foo'bar'; see tstrace --help$/],
		[
			['runqlat', 'five'],
			/^tstrace runqlat: interval 'five': give seconds .*[^.]; see tstrace runqlat --help$/,
		],
		[['runqlat', "it's 'so'"], /^tstrace runqlat: interval 'it's 'so'': give seconds /],
		[['runqlat', '1', '0'], /^tstrace runqlat: count '0': give a whole number /],
		[['runqlat', '-p', "a'b\nc"], /^tstrace runqlat: -p, --pid <pids> 'a'b c': give process /],
		[['runqlat', '--by', 'cgrp'], /^tstrace runqlat: --by <what> 'cgrp': .*cgroup, cpu, comm/i],
		[
			['runqlat', '--zzzz'],
			/^tstrace runqlat: unknown option '--zzzz'; see tstrace runqlat --help$/,
		],
		[['runqlat', '-u', '-k'], /^tstrace runqlat: option .* cannot be used with /],
		[['runqlat', '--jso=some/long/value'], /did you mean --json\? See tstrace runqlat --help$/],
		[['runqlat', '--container', 'none-of-all'], /^tstrace runqlat: --container: no container /],
		[['runqlat', '--'], /^tstrace runqlat: add a COMMAND after --/],
		[['runqlat', '-p', '1', '--', 'true'], /^tstrace runqlat: give either -p\/-t or a COMMAND/],
		[['help', 'nothing'], /^tstrace: there is no such tool; see tstrace --help$/],
		[
			['doctor', '--jsn'],
			/^tstrace doctor: unknown option '--jsn': did you mean --json\? See tstrace doctor --help$/,
		],
		[['constructor'], /^tstrace: unknown command 'constructor'; see tstrace --help$/],
	];
	for (const [args, line] of lines) {
		const { status, stdout, stderr } = await inProcess(args);
		assert.deepEqual([status, stdout], [2, ''], args.join(' '));
		assert.match(stderr.trimEnd(), line);
		assert.equal(stderr.indexOf('\n'), stderr.length - 1, stderr);
	}
});

test('help is on standard output, and no error; without any word it is one', async () => {
	for (const args of [['--help'], ['runqlat', '--help'], ['help', 'runqlat'], ['--version']]) {
		const { status, stdout, stderr } = await inProcess(args);
		assert.deepEqual([status, stderr, stdout !== ''], [0, '', true], args.join(' '));
	}
	const { status, stdout, stderr } = await inProcess([]);
	assert.deepEqual([status, stdout], [2, '']);
	assert.match(stderr, /^Usage: tstrace TOOL/);
	assert.doesNotMatch(stderr, /\n\n$/);
});

test('the cause of a failure is shown with -v and --verbose only, and cannot reach the terminal', async () => {
	const damaged = '{"tool":"profile","stacks":[\u001b]}\n';
	const said = async (...options: string[]) => {
		const { status, stderr } = await inProcess(['fold', ...options], damaged);
		assert.equal(status, 1);
		assert.doesNotMatch(stderr, /[^\P{Cc}\n]/u);
		return stderr;
	};
	const plain = await said();
	assert.match(plain, /^tstrace fold: standard input: line 1 begins like JSON.*\n$/);
	for (const option of ['-v', '--verbose']) {
		const verbose = await said(option);
		assert.ok(verbose.startsWith(plain), verbose);
		assert.match(verbose, /^SyntaxError: /m);
		assert.match(verbose, /^ {4}at /m);
	}
});

test('the name of a file that is not there cannot reach the terminal', async () => {
	const { stderr } = await inProcess(['fold', '/nowhere/\u001b[31m\n']);
	assert.match(stderr, /^tstrace fold: cannot read \/nowhere\/\\x1b\[31m[^\n]*\n$/);
});

test('who has read enough of a help, a list or a script is told nothing', async (t) => {
	for (const args of [['--help'], ['completion', 'bash'], ['syscount', '--list']]) {
		const { mock } = t.mock.method(fs, 'writeSync', (fd: number) => {
			assert.notEqual(fd, 2);
			throw Object.assign(new Error('EPIPE'), { code: 'EPIPE' });
		});
		syncBuiltinESMExports();
		try {
			assert.equal(await main(args), 0, args.join(' '));
		} finally {
			mock.restore();
			syncBuiltinESMExports();
		}
	}
});

test('what is behind -- does not ask for the cause', async () => {
	for (const name of ['-v', '--verbose']) {
		const { status, stderr } = await inProcess(['fold', '--', name]);
		assert.equal(status, 1);
		assert.match(stderr, /^tstrace fold: cannot read --?v[^\n]*\n$/);
	}
});

test('files behind -- are files of a converter, whatever their names', async () => {
	const { status, stderr } = await inProcess(['fold', '--', '--nothing', '-q']);
	assert.equal(status, 1);
	assert.match(stderr, /^tstrace fold: cannot read --nothing: there is no such file; [^\n]*\n$/);
	const path = join(folder, 'a.folded');
	writeFileSync(path, 'a;b 3\n');
	assert.equal((await inProcess(['fold', '-q', '--', path])).stdout, 'a;b 3\n');
	assert.equal((await inProcess(['fold', path, '--', path])).stdout, 'a;b 6\n');
});

test('-o: a file has the result and nothing of what was in it; - is standard output', async () => {
	const path = join(folder, 'result');
	writeFileSync(path, 'x'.repeat(1000));
	const said = await inProcess(['fold', '-o', path], 'a;b 3\n');
	assert.deepEqual([said.status, said.stdout], [0, '']);
	assert.equal(readFileSync(path, 'utf8'), 'a;b 3\n');
	assert.equal((await inProcess(['fold', '-o', '-'], 'a;b 3\n')).stdout, 'a;b 3\n');
	// A file that could not be read leaves the result of before.
	assert.equal((await inProcess(['fold', '-o', path], 'nothing\n')).status, 1);
	assert.equal(readFileSync(path, 'utf8'), 'a;b 3\n');
	const picture = join(folder, 'picture.svg');
	await inProcess(['flamegraph', '-o', picture], 'a;b 3\n');
	assert.match(readFileSync(picture, 'utf8'), /<svg/);
});

test('notices: names of strangers in them do no harm, and -q leaves them out', async () => {
	const text = ['e\u001b[31m', 'f']
		.map((event) => `ab 12 3.5: 7 ${event}: \n\t1 f (/x)\n\n`)
		.join('');
	const { stderr } = await inProcess(['fold'], text);
	assert.match(stderr, /^note: .*\n( {6}.*\n)*$/);
	assert.match(stderr, /e\\x1b\[31m/);
	assert.doesNotMatch(stderr, /[^\P{Cc}\n]/u);
	assert.equal((await inProcess(['fold', '-q'], text)).stderr, '');
});

test('lists are printed, and nothing is traced', async () => {
	for (const tool of ['syscount', 'trace']) {
		const { status, stdout, stderr } = await inProcess([tool, '--list']);
		assert.deepEqual([status, stderr], [0, '']);
		assert.match(stdout, /^ *\d+ {2}openat$/m);
	}
});

test('values for completion, one in each line', async () => {
	const { status, stdout } = await inProcess(['__values', '--errno', 'ENOEN']);
	assert.equal(status, 0);
	assert.ok(stdout.split('\n').includes('ENOENT'), stdout);
	assert.deepEqual(await inProcess(['__values', '--constructor', '']), {
		...{ status: 0, stdout: '', stderr: '' },
	});
});

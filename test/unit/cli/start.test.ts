/** How bin/tstrace and bin/flamegraph begin: as scripts of whatever shell is /bin/sh. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const { PATH = '' } = process.env;

function run(words: readonly string[], env: Readonly<Record<string, string>>) {
	const [file = '', ...args] = words;
	const { status, stdout, stderr } = spawnSync(file, args, { encoding: 'utf8', env });
	return { status, stdout, stderr };
}

test('without node in PATH: one line that says so', () => {
	for (const program of ['tstrace', 'flamegraph']) {
		const { status, stdout, stderr } = run(['/bin/sh', `bin/${program}`], { PATH: '/nowhere' });
		assert.deepEqual([status, stdout], [127, ''], program);
		assert.match(stderr, new RegExp(`^${program}: there is no node in PATH; .+\\n$`));
	}
});

test('settings of a shell that come from the environment change nothing', () => {
	for (const SHELLOPTS of ['errexit', 'nounset', 'noglob', 'errexit:nounset:noglob']) {
		const found = run(['bash', '--posix', 'bin/tstrace', '--version'], { PATH, SHELLOPTS });
		assert.deepEqual(found, { status: 0, stdout: `${version}\n`, stderr: '' }, SHELLOPTS);
	}
});

/** The writing end of a pipe whose reader is gone. */
function withClosedPipe<T>(use: (fd: number) => T): T {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-pipe-'));
	try {
		const path = join(folder, 'pipe');
		execFileSync('mkfifo', [path]);
		const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
		const writer = openSync(path, constants.O_WRONLY);
		closeSync(reader);
		try {
			return use(writer);
		} finally {
			closeSync(writer);
		}
	} finally {
		rmSync(folder, { recursive: true });
	}
}

test('lists and scripts that nobody reads any more end quietly', () => {
	const all = ['--help', 'syscount --list', 'completion bash', '__values --errno E', 'fold -'];
	withClosedPipe((writer) => {
		for (const args of all) {
			const { status, stderr } = spawnSync('bin/tstrace', args.split(' '), {
				encoding: 'utf8',
				input: 'a;b 1\n',
				stdio: ['pipe', writer, 'pipe'],
			});
			assert.deepEqual([status, stderr], [0, ''], args);
		}
	});
});

/** Where results and messages go: files that others write to as well, pipes that nobody reads, others' files. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
	chmodSync,
	chownSync,
	existsSync,
	lchownSync,
	linkSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { DETACHED, FullPipe, stopIn, untilNothingLeft } from './faults.js';
import { kernelObjects } from './kernel-objects.js';
import { reportsOf } from './reports.js';
import { hasEnded, runToEnd, Tracing, TSTRACE, tstrace } from './support.js';

let folder = '';
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), 'tstrace-output-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function namedPipe(): string {
	const path = join(folder, 'pipe');
	execFileSync('mkfifo', [path]);
	return path;
}

for (const redirection of ['2>>', '2>']) {
	test(`a second signal where the messages go to a file (${redirection}): nothing in it is overwritten`, async () => {
		const log = join(folder, 'log');
		writeFileSync(log, redirection === '2>>' ? 'was there before\n' : '');
		const pipe = new FullPipe();
		const script = `exec ${redirection}"$0"; echo first >&2; exec "$@"`;
		const tracing = Tracing.begin(['runqlat', '0.1'], {}, [
			...pipe.by,
			...['sh', '-c', script, log],
		]);
		// It waits for whoever reads its result.
		await stopIn(tracing, {
			name: 'attached',
			reached: (phase, held) =>
				readFileSync(log, 'utf8').includes('Tracing ') && held.objects.size > 0 && phase.pid > 0,
		});
		tracing.signal('SIGINT');
		tracing.signal('SIGCONT');
		await stopIn(tracing, DETACHED);
		tracing.signal('SIGINT');
		tracing.signal('SIGCONT');
		assert.equal((await tracing.end()).status, 130);
		pipe.close();
		const before = redirection === '2>>' ? 'was there before\n' : '';
		assert.match(
			readFileSync(log, 'utf8'),
			new RegExp(`^${before}first\nTracing .*\ninterrupted again: .*\n$`),
		);
	});
}

for (const redirection of ['>', '>>']) {
	for (const output of ['-', '/dev/stdout', '/dev/fd/1', '/proc/self/fd/1']) {
		test(`a file that COMMAND writes to as well (${redirection}, -o ${output}): all of both is in it`, () => {
			const file = join(folder, 'out');
			writeFileSync(file, 'was there before\n');
			const command = 'echo one; echo two';
			const script = `exec ${redirection}"$0"; echo first; "$@"; echo last`;
			const { stderr } = runToEnd('sh', [
				...['-c', script, file, TSTRACE, 'runqlat', '-q', '--json', '-o', output],
				...['--', 'sh', '-c', command],
			]);
			const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
			const before = redirection === '>>' ? ['was there before'] : [];
			assert.deepEqual(lines.slice(0, -2), [...before, 'first', 'one', 'two'], stderr);
			assert.equal(reportsOf(lines.at(-2) ?? '')[0]?.tool, 'runqlat');
			assert.equal(lines.at(-1), 'last');
		});
	}
}

for (const option of ['-o', '--hdr']) {
	for (const signal of ['SIGINT', 'SIGTERM'] as const) {
		test(`${option} a named pipe that nobody reads, ${signal}: it ends at once and says why`, async () => {
			const objects = kernelObjects();
			const pipe = namedPipe();
			const tracing = await Tracing.start(['runqlat', option, pipe]);
			const { status, stderr } = await tracing.end(signal);
			assert.equal(status, 1);
			assert.match(
				stderr,
				/^tstrace runqlat: cannot write to .*: no process reads this pipe; .*\n$/m,
			);
			await untilNothingLeft(objects);
		});
	}

	test(`${option} a named pipe that nobody reads: COMMAND runs, and a signal ends the wait for a reader`, async () => {
		const objects = kernelObjects();
		const [pipe, trace] = [namedPipe(), join(folder, 'ran')];
		const tracing = Tracing.begin(['runqlat', option, pipe, '--', 'touch', trace]);
		await tracing.says(/^waiting for a process to read /m);
		assert.ok(existsSync(trace));
		const { status, stderr } = await tracing.end('SIGINT');
		assert.equal(status, 1);
		assert.match(stderr, /no process reads this pipe/);
		await untilNothingLeft(objects);
	});

	test(`${option} a named pipe whose reader comes late: it gets everything`, async () => {
		const pipe = namedPipe();
		const format = option === '-o' ? ['--json'] : [];
		const args = ['runqlat', '-L', ...format, option, pipe, '0.1', '20'];
		const tracing = Tracing.begin(args);
		await tracing.says(/^waiting for a process to read /m);
		const text = (await readFile(pipe, 'utf8')).trimEnd();
		const { status, stderr } = await tracing.end();
		assert.equal(status, 0, stderr);
		if (option === '-o') assert.equal(reportsOf(text).length, 20);
		else assert.match(text, /^#.*\n(.*\n)*Tag=.*$/);
	});
}

test('-o a named pipe whose reader is slow: it waits, and all of it comes', async () => {
	const pipe = new FullPipe();
	const path = pipe.by.at(-1) ?? '';
	const tracing = await Tracing.start(['runqlat', '-L', '--json', '-o', path, '0.1']);
	tracing.signal('SIGINT');
	await stopIn(tracing, DETACHED);
	tracing.signal('SIGCONT');
	const { status, stdout, stderr } = await pipe.takeAll(tracing);
	assert.equal(status, 0, stderr);
	assert.ok(reportsOf(stdout).length >= 1);
});

test('-o a named pipe that is full: a second signal leaves at once', async () => {
	const pipe = new FullPipe();
	const path = pipe.by.at(-1) ?? '';
	const tracing = await Tracing.start(['runqlat', '-o', path]);
	tracing.signal('SIGINT');
	await stopIn(tracing, DETACHED);
	tracing.signal('SIGINT');
	tracing.signal('SIGCONT');
	assert.equal((await tracing.end()).status, 130);
	pipe.close();
});

test('what is written is for its owner only, whatever the umask', () => {
	const [result, log] = [join(folder, 'result'), join(folder, 'log')];
	const args = ['runqlat', '-q', '-o', result, '--hdr', log, '0.1', '1'];
	const { status, stderr } = runToEnd('sh', ['-c', 'umask 0; exec "$@"', 'sh', TSTRACE, ...args]);
	assert.equal(status, 0, stderr);
	for (const file of [result, log]) assert.equal(statSync(file).mode & 0o777, 0o600);
	chmodSync(result, 0o644);
	assert.equal(tstrace(args).status, 0);
	assert.equal(statSync(result).mode & 0o777, 0o644, 'a file that is there stays as it is');
});

const STRANGER = 65534;
const KEPT = 'somebody’s own\n';

/** What a stranger puts in the place of a result, and how the kernel allows it (fs.protected_*). */
const TRAPS: Readonly<Record<string, (path: string, victim: string) => void>> = {
	'a link': (path, victim) => {
		symlinkSync(victim, path);
		lchownSync(path, STRANGER, STRANGER);
	},
	'a link to what is not there yet': (path, victim) => {
		symlinkSync(`${victim}.new`, path);
		lchownSync(path, STRANGER, STRANGER);
	},
	'a link that an own one leads to': (path, victim) => {
		symlinkSync(victim, `${path}.next`);
		lchownSync(`${path}.next`, STRANGER, STRANGER);
		symlinkSync(`${path}.next`, path);
	},
	'a hard link': (path, victim) => linkSync(victim, path),
	'a file': (path) => {
		writeFileSync(path, KEPT, { mode: 0o666 });
		chownSync(path, STRANGER, STRANGER);
	},
	'a pipe': (path) => {
		execFileSync('mkfifo', ['-m', '666', path]);
		chownSync(path, STRANGER, STRANGER);
	},
};

/** Whether the kernel protects against it or not. */
const PROTECTION = ['symlinks', 'hardlinks', 'regular', 'fifos'].map(
	(name) => `/proc/sys/fs/protected_${name}`,
);

for (const option of ['-o', '--hdr']) {
	for (const [trap, set] of Object.entries(TRAPS)) {
		test(`${option} in a folder where everybody may write: ${trap} of a stranger is refused`, () => {
			const before = PROTECTION.map((path) => readFileSync(path, 'utf8'));
			const sticky = join(folder, 'sticky');
			mkdirSync(sticky);
			chmodSync(sticky, 0o1777);
			const [path, victim] = [join(sticky, 'result'), join(folder, 'victim')];
			writeFileSync(victim, KEPT);
			set(path, victim);
			try {
				for (const file of PROTECTION) writeFileSync(file, '0');
				const { status, stderr } = tstrace(['runqlat', '-q', option, path, '0.1', '1']);
				assert.equal(status, 1);
				assert.match(
					stderr,
					/^tstrace runqlat: cannot write to .*: it is a .*link.*|it is a (file|pipe) of user 65534.*\n$/,
				);
				assert.equal(readFileSync(victim, 'utf8'), KEPT);
				assert.ok(!existsSync(`${victim}.new`));
				if (trap === 'a file') assert.equal(readFileSync(path, 'utf8'), KEPT);
			} finally {
				for (const [i, file] of PROTECTION.entries()) writeFileSync(file, before[i] ?? '');
			}
		});
	}
}

test('-o by way of links of one’s own, and in a folder of one’s own, is written', () => {
	const sticky = join(folder, 'sticky');
	mkdirSync(sticky);
	chmodSync(sticky, 0o1777);
	const target = join(folder, 'target');
	writeFileSync(target, 'before');
	chownSync(target, STRANGER, STRANGER);
	symlinkSync('../target', join(sticky, 'link'));
	symlinkSync('sticky/link', join(folder, 'link'));
	const { status, stderr } = tstrace(['runqlat', '--json', '-o', join(folder, 'link'), '0.1', '1']);
	assert.equal(status, 0, stderr);
	assert.equal(reportsOf(readFileSync(target, 'utf8')).length, 1);
});

test('a COMMAND that is traced ends when the result cannot be written', async () => {
	const tracing = await Tracing.start(['runqlat', '-o', '/dev/full', '0.1', '--', 'sleep', '1000']);
	const children = readFileSync(`/proc/${tracing.pid}/task/${tracing.pid}/children`, 'utf8');
	assert.equal((await tracing.end()).status, 1);
	assert.ok(hasEnded(Number(children.trim())));
});

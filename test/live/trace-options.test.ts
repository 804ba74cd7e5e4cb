/** Which calls trace shows, and how: its options against calls that are known. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { argumentOf } from '../../src/tools/trace/argument-kinds.js';
import { declaredArguments } from '../../src/tools/trace/kernel-formats.js';
import { SIGNATURES } from '../../src/tools/trace/signatures.js';
import { FullPipe } from './faults.js';
import { needsNarrowCalls } from './narrow-calls.js';
import { reportsOf } from './reports.js';
import { Tracing, tstrace, Workload } from './support.js';
import { missingCalls, type TracedLine, tracedLines } from './traced-lines.js';

/** Lines of the calls of a workload. */
async function traced(
	[name = '', ...words]: readonly string[],
	args: readonly string[],
): Promise<TracedLine[]> {
	return tracedLines((await output([name, ...words], args)).stdout);
}

async function output([name = '', ...words]: readonly string[], args: readonly string[]) {
	const workload = await Workload.start(name, ...words);
	const tracing = await Tracing.start(['trace', '-p', `${workload.pid}`, ...args]);
	await workload.work();
	const finished = await tracing.end('SIGINT');
	await workload.end();
	assert.equal(finished.status, 0, finished.stderr);
	return { ...finished, pid: workload.pid };
}

const KNOWN = ['traced', 'known'];
const names = (lines: readonly TracedLine[]) => lines.map(({ call }) => call);
const isFailed = ({ result = '' }: TracedLine) => /^-1 /.test(result);

test('-e: calls, sets, and "!": all but these', async () => {
	const all = await traced(KNOWN, []);
	const sums = async (...args: string[]) => names(await traced(KNOWN, args));
	const of = (...wanted: string[]) => names(all).filter((name) => wanted.includes(name ?? ''));
	assert.deepEqual(await sums('-e', 'poll,lseek', '-e', 'unlink'), of('poll', 'lseek', 'unlink'));
	assert.deepEqual(
		await sums('-e', 'trace=%network'),
		of(
			'socket',
			'bind',
			'listen',
			'getsockname',
			'connect',
			'accept4',
			'sendto',
			'recvfrom',
			'sendmsg',
			'sendmmsg',
			'recvmmsg',
		),
	);
	const without = await sums('-e', '!%network,read');
	assert.deepEqual(
		without,
		names(all).filter(
			(name) =>
				!/^(read|socket|bind|listen|getsockname|connect|accept4|sendto|recvfrom|sendmsg|sendmmsg|recvmmsg)$/.test(
					name ?? '',
				),
		),
	);
	assert.deepEqual(await sums('-e', '%network', '-e', '!connect,bind'), [
		...of(
			'socket',
			'listen',
			'getsockname',
			'accept4',
			'sendto',
			'recvfrom',
			'sendmsg',
			'sendmmsg',
			'recvmmsg',
		),
	]);
});

test('-z and -Z part all that return', async () => {
	const [all, successful, failed] = [
		await traced(KNOWN, []),
		await traced(KNOWN, ['-z']),
		await traced(KNOWN, ['-Z']),
	];
	const returned = all.filter(({ result }) => result !== undefined);
	assert.deepEqual(names(failed), names(returned.filter(isFailed)));
	assert.deepEqual(names(successful), names(returned.filter((line) => !isFailed(line))));
	assert.ok(failed.length >= 3 && successful.length > failed.length);
});

test('--min-duration: only the call that sleeps', async () => {
	const lines = await traced(KNOWN, ['--min-duration', '19ms', '-e', '!read']);
	const sleeps = lines.filter(({ call }) => call === 'clock_nanosleep');
	assert.equal(sleeps.length, 1);
	assert.ok(lines.every(({ duration_s = 0 }) => duration_s >= 0.019));
	assert.deepEqual(await traced(KNOWN, ['--min-duration', '1h', '-e', '!read']), []);
});

test('calls that never return have no duration, and neither succeed nor fail', () => {
	for (const option of [['--min-duration', '1h'], ['-z'], ['-Z']]) {
		const { stdout, status, stderr } = tstrace(['trace', ...option, '--', 'true']);
		assert.equal(status, 0, stderr);
		assert.doesNotMatch(stdout, /exit_group/);
	}
	assert.match(tstrace(['trace', '--', 'true']).stdout, /exit_group\(0\)/);
});

test('--path: calls with a path that matches, the first or the second; relative ones, too', async () => {
	const paths = async (...globs: string[]) =>
		names(
			await traced(
				KNOWN,
				globs.flatMap((glob) => ['--path', glob]),
			),
		);
	assert.deepEqual(await paths('/tmp/tstrace-traced-??????'), ['mkdir', 'rmdir']);
	assert.deepEqual(await paths('/tmp/tstrace-traced-*/file'), ['openat', 'renameat2', 'unlink']);
	assert.deepEqual(await paths('*/such'), ['renameat2']);
	assert.deepEqual(await paths('/nowhere', '*/file', '*/such'), ['openat', 'renameat2', 'unlink']);
	assert.deepEqual(await paths('file'), []);
	// As long as they are shown.
	const long = `/no/${'such/'.repeat(151)}end`;
	const { stdout } = tstrace(['trace', '-q', '--path', '/no/*/end', '--', 'cat', long]);
	assert.deepEqual(names(tracedLines(stdout)), ['openat'], stdout);
	const cold = await traced(['traced', 'cold'], ['--path', '/no/such/c*']);
	assert.deepEqual(
		cold.map(({ args }) => args),
		['AT_FDCWD, "/no/such/cold", O_RDONLY'],
	);
});

test('--fd: calls with this descriptor, whichever argument it is', async () => {
	const lines = await traced(KNOWN, ['--fd', '3', '-e', '!fstat,newfstatat']);
	assert.deepEqual(names(lines), ['read', 'epoll_ctl']);
	assert.deepEqual(names(await traced(KNOWN, ['--fd', '12345'])), ['close']);
});

test('-s: how much of strings and buffers; the rest is left out, and said to be', async () => {
	const [three] = await traced(KNOWN, ['-s', '3', '-e', 'write', '--fd', '5']);
	assert.equal(three?.args, '5, "lin"..., 12');
	const [twelve] = await traced(KNOWN, ['-s', '12', '-e', 'write', '--fd', '5']);
	assert.equal(twelve?.args, '5, "line\\n\\"two\\"\\t\\\\", 12');
});

test('-c: a table of calls and errors, and no lines; -C: both', async () => {
	const { stdout: table } = await output(['calls', 'missing', '997'], ['-c']);
	assert.match(table, /^openat +997 +997 /m);
	assert.doesNotMatch(table, /openat\(/);
	const { stdout: both } = await output(['calls', 'missing', '97'], ['-C']);
	assert.equal(both.match(/openat\(AT_FDCWD, "\/no\/such\/file"/g)?.length, 97);
	assert.match(both, /^openat +97 +97 /m);
});

test('--json: a row for each call, with what its line says', async () => {
	const { stdout, pid } = await output(KNOWN, [
		'--json',
		'-y',
		'-e',
		'openat,clock_nanosleep,close',
	]);
	const rows = reportsOf(stdout).flatMap((report) => report.rows);
	const [open, sleep, close] = ['openat', 'clock_nanosleep', 'close'].map((name) =>
		rows.find(({ syscall }) => syscall === name),
	);
	assert.match(
		`${open?.args}`,
		/, "\/tmp\/tstrace-traced-\w+\/file", O_RDWR\|O_CREAT\|O_EXCL, 0640$/,
	);
	assert.match(`${open?.result_file}`, /^\/tmp\/tstrace-traced-\w+\/file$/);
	assert.deepEqual([open?.result, open?.pid, open?.tid, open?.comm], [5, pid, pid, 'traced']);
	assert.ok(Number(sleep?.duration_ns) >= 20e6);
	assert.ok(Math.abs(Date.parse(`${sleep?.time}`) - Date.now()) < 60_000);
	assert.deepEqual([close?.result, close?.error, close?.args], [-1, 'EBADF', '12345']);
	assert.deepEqual(
		rows.map(({ event }) => event),
		rows.map(() => 'call'),
	);
});

test('execve: its arguments, and who has made the process', () => {
	const args = ['trace', '-q', '--follow', '-e', 'execve', '-s', '200'];
	const { stdout } = tstrace([...args, '--', 'sh', '-c', '/bin/echo one "two  three"; exit 5']);
	const lines = tracedLines(stdout.replace(/^one two {2}three\n/m, ''));
	const [shell, echo] = lines;
	assert.match(
		shell?.args ?? '',
		/^"[^"]*sh", \["sh", "-c", "\/bin\/echo one \\"two {2}three\\"; exit 5"\], 0x/,
	);
	assert.match(echo?.args ?? '', /^"\/bin\/echo", \["\/bin\/echo", "one", "two {2}three"\], 0x/);
	assert.equal(echo?.rest, `parent sh[${shell?.pid}]`);
	assert.equal(echo?.comm, 'echo');
});

test('execve: a list of arguments that is cut says so, and one that is whole does not', () => {
	const most = Array.from({ length: 23 }, (_, i) => `${i}`);
	const shown = (...words: readonly string[]) => {
		const { stdout } = tstrace(['trace', '-q', '-e', 'execve', '--', '/bin/true', ...words]);
		return /execve\("[^"]*", \[(.*)\], 0x/.exec(stdout)?.[1];
	};
	const text = (words: readonly string[]) => words.map((word) => `"${word}"`).join(', ');
	assert.equal(shown(...most), text(['/bin/true', ...most]));
	assert.equal(shown(...most, 'more'), `${text(['/bin/true', ...most])}, ...`);
	// What has no room is left out, too.
	const long = most.map((word) => word.repeat(100 / word.length));
	assert.match(shown(...long) ?? '', /^"\/bin\/true", "0{100}", "1{100}", .*"\d+", \.\.\.$/);
});

test('a string of the length that is shown is whole; one byte more is cut, and said to be', () => {
	const [whole, cut] = ['a'.repeat(128), 'b'.repeat(129)];
	const { stdout } = tstrace(['trace', '-q', '-e', 'execve', '--', '/bin/true', whole, cut]);
	const [line] = tracedLines(stdout);
	const words = `["/bin/true", "${whole}", "${'b'.repeat(128)}"...]`;
	assert.ok(line?.args?.startsWith(`"/bin/true", ${words}, 0x`), stdout);
});

test('a COMMAND that fails: its status is ours', () => {
	const { status, stdout } = tstrace(['trace', '-q', '--', 'sh', '-c', 'exit 7']);
	assert.equal(status, 7);
	assert.match(stdout, /exit_group\(7\) = \?\n.* \+\+\+ exited with 7 after /);
});

test('-e none: only how processes end', () => {
	const { stdout } = tstrace(['trace', '-q', '-e', 'none', '--', 'sh', '-c', 'kill -9 $$']);
	const lines = tracedLines(stdout);
	assert.deepEqual(
		lines.map(({ text }) => text.replace(/ (after|parent) .*/, '')),
		['--- SIGKILL ---', '+++ killed by SIGKILL'],
	);
});

test('-e none with calls: these, and how processes end; of one that a signal ends only that was sent', () => {
	const args = ['trace', '-q', '-e', 'execve,none', '--', 'sh', '-c', 'kill -INT $$'];
	const { stdout } = tstrace(args);
	const lines = tracedLines(stdout).map(({ text }) => text.replace(/ (after|parent) .*/, ''));
	assert.match(lines[0] ?? '', /^execve\("[^"]*sh", /);
	assert.match(lines[1] ?? '', /^--- SIGINT \{si_code=SI_USER, si_pid=\d+\} ---$/);
	assert.deepEqual(lines.slice(2), ['+++ killed by SIGINT']);
});

test('the life of COMMAND begins when it is let go, not when it was made to be held', () => {
	const { stdout } = tstrace(['trace', '--json', '-e', 'execve,none', '--', 'sleep', '0.3']);
	const rows = stdout
		.trimEnd()
		.split('\n')
		.flatMap((line) => JSON.parse(line).rows as Record<string, number | string>[]);
	const exec = rows.find(({ syscall }) => syscall === 'execve');
	const exit = rows.find(({ event }) => event === 'exit');
	const [lifetime_ns, seen_ns] = [
		Number(exit?.lifetime_ns),
		Number(exit?.time_ns) - Number(exec?.time_ns),
	];
	assert.ok(lifetime_ns >= 0.3e9 && lifetime_ns >= seen_ns, `${lifetime_ns} of ${seen_ns}`);
	// Until its exec, its life is that of a shell that is told to go on.
	assert.ok(lifetime_ns < seen_ns + 0.15e9, `${lifetime_ns} of ${seen_ns}`);
});

test('-y: names of files are escaped', () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-hostile-'));
	try {
		mkdirSync(join(folder, 'bad\x1b[31m\n'));
		const target = join(folder, 'bad\x1b[31m\n', 'file');
		openSync(target, 'w');
		const { stdout } = tstrace(['trace', '-q', '-y', '-e', 'read', '--', 'cat', target]);
		assert.ok(stdout.includes(`<${folder}/bad\\033[31m\\012/file>`), stdout);
		assert.ok(!stdout.includes('\x1b'));
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test('32-bit calls have their own names, and their arguments', needsNarrowCalls(), async () => {
	const lines = await traced(['calls', 'compat-missing', '3'], ['-Z', '-e', 'open']);
	assert.deepEqual(
		lines.map(({ call, args, result }) => [call, args, result]),
		[1, 2, 3].map(() => ['open (32-bit)', '"/no/such/low", O_RDONLY', '-1 ENOENT']),
	);
});

test('32-bit calls with six arguments: each in its place', needsNarrowCalls(), async () => {
	const lines = await traced(['calls', 'compat-six', '1'], ['-Z', '-e', 'mmap2']);
	assert.deepEqual(
		lines.map(({ call, args, result }) => [call, args, result]),
		[['mmap2 (32-bit)', '0x11000, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE, 77, 0x5', '-1 EBADF']],
	);
});

test('32-bit execve: a list of pointers that have 32 bits each', needsNarrowCalls(), async () => {
	const lines = await traced(['calls', 'compat-execve', '1'], ['-Z', '-e', 'execve']);
	assert.deepEqual(
		lines.map(({ call, args, result }) => [call, args, result]),
		[['execve (32-bit)', '"/no/such/low", ["first", "second"], NULL', '-1 ENOENT']],
	);
});

test('a flood into a small buffer: lines and what is missing, where it is missing, are all calls', async () => {
	const count = 20_000;
	const args = ['-e', 'read,write', '--buffer', '4K'];
	const { stdout, stderr, pid } = await output(['traced', 'flood', `${count}`], args);
	const lines = tracedLines(stdout).filter(({ call, args = '' }) => call && !/^[01], /.test(args));
	const missing = missingCalls(stdout);
	assert.ok(missing > 0 && lines.length > 0);
	assert.ok(lines.every((line) => line.pid === pid));
	const others = 4; // reads of standard input, a write to standard output: in lines or missing
	const all = lines.length + missing;
	assert.ok(all >= 2 * count && all <= 2 * count + others, `${lines.length} + ${missing}`);
	const said = stderr.replaceAll('\n      ', ' ');
	assert.ok(said.includes(`lost: ${missing.toLocaleString('en')} calls: they came faster`), stderr);
});

test('a flood into the buffer that is usual: every call has its line, in the order of the calls', async () => {
	const count = 20_000;
	const lines = await traced(['traced', 'flood', `${count}`], ['-e', 'read,write', '-s', '1']);
	const flood = lines.filter(({ args = '' }) => /^[34], /.test(args));
	assert.equal(flood.length, 2 * count);
	for (const [i, { call, args, result }] of flood.entries())
		assert.deepEqual(
			[call, args, result],
			i % 2 === 0 ? ['read', '3, "\\0", 1', '1'] : ['write', '4, "\\0", 1', '1'],
		);
});

test('nobody takes its lines in a flood: the process goes on, memory stays flat, each call is a line or counted', async () => {
	const count = 200_000;
	const pipe = new FullPipe();
	const workload = await Workload.start('traced', 'flood', `${count}`);
	const args = ['trace', '-e', 'read,write', '--buffer', '1M', '-p', `${workload.pid}`];
	const tracing = await Tracing.start(args, {}, pipe.by);
	const before_kb = resident_kb(tracing.pid);
	await workload.work();
	const after_kb = resident_kb(tracing.pid);
	tracing.signal('SIGINT');
	const { status, stdout, stderr } = await pipe.takeAll(tracing);
	await workload.end();
	assert.equal(status, 0, stderr);
	// What one batch takes, its text, and what node takes for itself; the flood is 50 MB.
	assert.ok(after_kb - before_kb < 25_000, `${before_kb} kB, then ${after_kb} kB`);
	const lines = tracedLines(stdout).filter(({ args = '' }) => /^[34], /.test(args));
	const all = lines.length + missingCalls(stdout);
	assert.ok(all >= 2 * count && all <= 2 * count + 4, `${all}`);
});

test('what had no room is said where it is missing, and once', () => {
	const count = 2000;
	const dd = `dd if=/dev/zero of=/dev/null bs=1 count=${count} status=none; sleep 0.4`;
	const script = `for i in 1 2 3; do ${dd}; done`;
	const options = ['-e', 'read,write', '--buffer', '4K', '--follow'];
	const { stdout, stderr } = tstrace(['trace', ...options, '--', 'sh', '-c', script]);
	assert.match(stdout, /missing here.*\n.*missing here/s);
	// Programs read their libraries, too.
	const all = tracedLines(stdout).length + missingCalls(stdout);
	assert.ok(all >= 6 * count && all <= 6 * count + 300, `${all}: ${stderr}`);
});

const resident_kb = (pid: number) =>
	Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

const VALUES =
	'int uint size off long hex mode openmode fd at flags enum sig protocol sockopt futexlast fcntlarg'.split(
		' ',
	);

test('the table of calls has as many arguments as the kernel declares, and pointers where it has them', () => {
	const different: string[] = [];
	let known = 0;
	for (const [name, words] of SIGNATURES) {
		const declared = declaredArguments(name);
		if (!declared) continue;
		known++;
		const ours = words.filter((word) => !word.startsWith('=')).map((word) => argumentOf(word).kind);
		const theirs = declared.map(({ type }) => (type.includes('*') ? '*' : '-'));
		// Of addresses the kernel says now one, now the other.
		const shape = ours.map((kind, i) =>
			kind === 'ptr' ? (theirs[i] ?? '*') : VALUES.includes(kind) ? '-' : '*',
		);
		if (shape.join('') !== theirs.join(''))
			different.push(`${name}: ${shape.join('')}, and the kernel has ${theirs.join('')}`);
	}
	assert.ok(known > 250, `${known}`);
	assert.deepEqual(different, []);
});

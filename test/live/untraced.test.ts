/** COMMAND runs as it would without tstrace: what it is started with is what tstrace was started with. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { runToEnd, Tracing, TSTRACE, tstrace, until } from './support.js';

/** Programs that say what they were started with. */
const SAYS: ReadonlyArray<readonly string[]> = [
	[
		...['cat', 'status', 'limits', 'stat', 'cmdline', 'oom_score_adj', 'coredump_filter'],
		...['timerslack_ns', 'cgroup', 'personality'],
	].map((name, i) => (i === 0 ? name : `/proc/self/${name}`)),
	['cat', '/proc/self/environ'],
	[
		'find',
		...['cwd', 'root', 'exe', 'fd'].map((name) => `/proc/self/${name}`),
		'-printf',
		'%p %l\n',
	],
];

/** What starts both: a program, with arguments, that becomes the other. */
const STARTERS: Readonly<Record<string, readonly string[]>> = {
	'as it is': [],
	'SIGHUP ignored, by nohup': ['nohup'],
	'SIGINT and SIGQUIT ignored, as of a background job': by("trap '' INT QUIT"),
	'SIGPIPE, SIGUSR1, SIGUSR2, SIGTERM ignored': by("trap '' PIPE USR1 USR2 TERM"),
	'signals blocked': ['env', '--block-signal=HUP,USR2,CHLD'],
	'a low soft limit of open files': by('ulimit -S -n 512'),
	'a low hard limit of open files': by('ulimit -n 1000'),
	'other limits': by('ulimit -c 0; ulimit -S -s 4096'),
	'descriptors open, standard input among the closed': [
		...['bash', '-c', 'exec <&- 3</dev/null 5>&1 12</etc/passwd; exec "$@"', 'bash'],
	],
	'standard error closed': by('exec 2>&-'),
	'nice, umask, another folder': [...['nice', '-n', '7'], ...by('umask 027; cd /usr; export PWD')],
	'an environment without PATH': ['env', '-u', 'PATH'],
	// But for IFS, PWD, and names that are none for a shell (a.b), which dash does not hand on.
	'an odd environment': [
		'env',
		'NODE_EXTRA_CA_CERTS=/no where/ \n open=9',
		'LINES=1\n2',
		'EMPTY=',
		'ENV=/nowhere',
		'_=x',
		'OLDPWD=y',
	],
};

function by(script: string): readonly string[] {
	return ['sh', '-c', `${script}; exec "$@"`, 'sh'];
}

/** In /proc/PID/stat: group, session, terminal, its group; priority, nice. man 5 proc_pid_stat. */
const STAT_FIELDS = [5, 6, 7, 8, 18, 19];
/** In /proc/PID/status: numbers of this very process, and how far it has come. */
const OWN_LINES =
	/^(N?S?(pid|tgid|pgid|sid)|PPid|Ngid|FDSize|Vm\w+|Rss\w+|Hugetlb\w+|SigQ|\w+ctxt_switches):/i;

/** What is to be the same; the environment in whatever order. */
function comparable(text: string): readonly string[] {
	return text
		.split(/[\n\0]/)
		.filter((line) => !OWN_LINES.test(line))
		.map((line) => (/^\d+ \(cat\) /.test(line) ? inherited(line) : line))
		.map((line) => line.replace(/(socket|pipe):\[\d+\]|\/proc\/\d+/g, '$1'))
		.sort();
}

function inherited(stat: string): string {
	const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
	return STAT_FIELDS.map((at) => fields[at - 3]).join(' ');
}

const FOLDER = mkdtempSync(join(tmpdir(), 'tstrace-untraced-'));
process.on('exit', () => rmSync(FOLDER, { recursive: true }));
// dash gives it to what it starts, be it set or not: all have it here.
const ENVIRONMENT = { PWD: process.cwd() };

for (const [name, starter] of Object.entries(STARTERS)) {
	test(`COMMAND is started with what tstrace was: ${name}`, () => {
		const start = (...words: readonly string[]) => {
			const [file = '', ...args] = [...starter, ...words];
			return runToEnd(file, args, ENVIRONMENT);
		};
		for (const words of SAYS) {
			const alone = start(...words);
			const result = join(FOLDER, 'result');
			const traced = start(TSTRACE, 'runqlat', '-q', '-o', result, '--', ...words);
			assert.equal(traced.status, alone.status, traced.stderr);
			assert.deepEqual(comparable(traced.stdout), comparable(alone.stdout));
			rmSync(result);
		}
	});
}

test('a SIGHUP that is ignored as tstrace starts is ignored by it and by COMMAND', async () => {
	const command = ['sh', '-c', 'echo begun >&2; read -r line; exit 5'];
	const args = ['runqlat', '--json', '--', ...command];
	const tracing = await Tracing.start(args, {}, ['nohup']);
	await tracing.says(/^begun$/m);
	const children = readFileSync(`/proc/${tracing.pid}/task/${tracing.pid}/children`, 'utf8');
	for (const pid of [tracing.pid, Number(children.trim())]) process.kill(pid, 'SIGHUP');
	tracing.tell('on\n');
	const { status, stdout, stderr } = await tracing.end();
	assert.equal(status, 5, stderr);
	assert.equal(reportsOf(stdout).length, 1);
});

test('a SIGHUP that is ignored does not end an interval early; SIGTERM does', async () => {
	const tracing = await Tracing.start(['runqlat', '--json', '0.1'], {}, ['nohup']);
	tracing.signal('SIGHUP');
	const lines = () => tracing.stdout.split('\n').length;
	const before = lines();
	await until(() => lines() >= before + 3);
	assert.equal((await tracing.end('SIGTERM')).status, 0);
});

test('a file that comes first in PATH and cannot be executed is nobody’s COMMAND', () => {
	for (const folder of ['first', 'second']) runToEnd('mkdir', ['-p', join(FOLDER, folder)]);
	writeFileSync(join(FOLDER, 'first/leaky'), 'not a program\n', { mode: 0o644 });
	runToEnd('cp', [runToEnd('which', ['true']).stdout.trim(), join(FOLDER, 'second/leaky')]);
	const path = `${FOLDER}/first:${FOLDER}/second:${process.env.PATH}`;
	const { status, stderr } = tstrace(['memleak', '--', 'leaky'], { PATH: path });
	assert.equal(status, 0, stderr);
	// It was looked for where it is, and has the C library's.
	assert.doesNotMatch(stderr, /found no allocator/);
});

/** What stat can be told, who may use it, and what it says of what it cannot do. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { hasPmu } from '../../src/perf/events.js';
import { between, type CountReport, countOf, countReports } from './counts.js';
import { type Finished, runToEnd, Tracing, TSTRACE, tstrace, until, Workload } from './support.js';

const GROUP_EXITS = 'syscalls:sys_enter_exit_group';
/** A user who may trace its own processes at the most, whoever we are. */
const ORDINARY = ['setpriv', '--bounding-set=-all'];
const paranoid = Number(readFileSync('/proc/sys/kernel/perf_event_paranoid', 'utf8'));

const stat = (...args: readonly string[]): Finished => tstrace(['stat', ...args]);
const shell = (script: string) => ['--', 'sh', '-c', script];

/** The line by which it refuses something. */
function refused({ status, stderr, stdout }: Finished, expected: number): string {
	assert.equal(status, expected, stderr);
	assert.equal(stdout, '');
	const lines = stderr.trimEnd().split('\n');
	return lines.find((line) => line.startsWith('tstrace stat: ')) ?? stderr;
}

test('the exit status of COMMAND is that of stat, and its output goes where it would', () => {
	const { status, stdout, stderr } = stat('-e', 'page-faults', ...shell('echo out; exit 7'));
	assert.equal(status, 7);
	assert.match(stdout, /^out\n\nCOUNT +EVENT\n +\d+ +page-faults +[\d,]+\/s\n/);
	assert.match(stderr, /^Tracing page-faults\.\.\.\n/);
	assert.equal(stat('-q', ...shell('kill -TERM $$')).status, 128 + 15);
	assert.match(refused(stat('--', 'no-such-command'), 1), /no-such-command/);
});

test('COMMAND is counted from its first instruction on, and not the shell that holds it', () => {
	const events = ['-e', `${GROUP_EXITS},syscalls:sys_enter_execve,minor-faults`];
	const [one] = countReports(
		stat('--json', ...events, '--', resolve('build/workloads/brief'), '1'),
	);
	assert.equal(countOf(one as CountReport, GROUP_EXITS), 1);
	assert.equal(countOf(one as CountReport, 'syscalls:sys_enter_execve'), 0, 'its own was before');
	const [two] = countReports(stat('--json', ...events, ...shell('/bin/true; /bin/true; exit 0')));
	assert.equal(countOf(two as CountReport, GROUP_EXITS), 3);
	assert.equal(countOf(two as CountReport, 'syscalls:sys_enter_execve'), 2);
});

test('CPU time of COMMAND and its children, in user space and in the kernel', () => {
	const script = 'dd if=/dev/zero of=/dev/null bs=4k count=60000 status=none';
	const [report] = countReports(stat('--json', '-e', 'task-clock', ...shell(script)));
	const { user_s = 0, system_s = 0 } = report as CountReport & Record<string, number>;
	const ns = countOf(report as CountReport, 'task-clock');
	assert.ok(system_s > 0, `${system_s} s in the kernel`);
	// The kernel's own sum, which may have what a counter's clock leaves out: 10 ms, and what was stolen.
	between(user_s + system_s, 0.7 * (ns / 1e9) - 0.02, 1.3 * (ns / 1e9) + 0.02, 'CPU time');
});

test('CPU time of COMMAND is without the shell that held it', () => {
	// The kernel's own sum of a program that does nothing, many times, as its clock is coarse.
	const runs = countReports(stat('--json', '-r', '20', '-e', 'task-clock', '--', 'true'));
	const { user_s = 0, system_s = 0 } = runs[0] as CountReport & Record<string, number>;
	const counted_s = countOf(runs[0] as CountReport, 'task-clock') / 1e9;
	// Its exec and its end are in that, and in no counter: half as much again. The shell's are three times as much.
	between(user_s + system_s, 0.3 * counted_s, 2.5 * counted_s, 'CPU time');
});

test('several runs: means, deviations, and the first status that is not 0', () => {
	const folder = mkdtempSync(join(tmpdir(), 'stat-'));
	try {
		// Each run makes one process more than the one before.
		const script = `echo >>${folder}/n; for i in $(cat ${folder}/n | wc -l | xargs seq); do /bin/true; done`;
		const args = ['--json', '-r', '4', '-e', GROUP_EXITS];
		const [report, ...more] = countReports(stat(...args, ...shell(script)));
		assert.deepEqual(more, [], 'one result');
		assert.equal(readFileSync(`${folder}/n`, 'utf8'), '\n\n\n\n');
		const { rows, runs } = report as CountReport;
		assert.equal(runs, 4);
		const [row] = rows;
		// What is the same each time, and 1 to 4 times true.
		const { deviation, min, max } = row?.runs ?? { deviation: 0, min: 0, max: 0 };
		assert.equal(max, min + 3);
		assert.equal(row?.value, min + 1.5);
		between(deviation, Math.sqrt(5 / 3) - 1e-9, Math.sqrt(5 / 3) + 1e-9, 'deviation');
		const failing = stat(
			'-q',
			'-r',
			'3',
			'-e',
			'cs',
			...shell(`echo >>${folder}/n; exit $(wc -l <${folder}/n)`),
		);
		assert.equal(failing.status, 5, 'of the first of them');
		assert.match(failing.stdout, /s elapsed, ± [\d.]+ % \(3 runs, [\d.]+ to [\d.]+ s\)/);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test('several runs, interrupted: the result of those that ended', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'stat-'));
	try {
		// The third waits for good.
		const script = `echo >>${folder}/n; test $(wc -l <${folder}/n) -lt 3 || exec sleep 1000`;
		const args = ['stat', '--json', '-r', '9', '-e', 'minor-faults', ...shell(script)];
		const tracing = await Tracing.start(args);
		const began = () => {
			const [pid] = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isSleep(name));
			return pid !== undefined;
		};
		await until(
			() =>
				readdirSync(folder).length > 0 &&
				readFileSync(`${folder}/n`, 'utf8') === '\n\n\n' &&
				began(),
		);
		const { status, stdout } = await tracing.end('SIGINT');
		const report = JSON.parse(stdout) as CountReport;
		assert.equal(report.runs, 2);
		assert.equal(report.rows[0]?.status, 'counted');
		assert.equal(status, 130, 'as COMMAND was ended by that signal');
	} finally {
		rmSync(folder, { recursive: true });
	}
});

const isSleep = (pid: string): boolean => {
	try {
		return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === 'sleep\x001000\0';
	} catch {
		return false;
	}
};

test('CSV: a line for each event of each interval, below one line of names', async () => {
	const workload = await Workload.start('rounds');
	workload.begin();
	const args = ['stat', '--csv', '-p', `${workload.pid}`, '-e', 'page-faults,cs', '-I', '50'];
	const tracing = await Tracing.start(args);
	workload.tell('100 1');
	await workload.done();
	const there = tracing.stdout.length;
	await until(() => tracing.stdout.length > there);
	const { stdout } = await tracing.end('SIGINT');
	await workload.end();
	const [names = '', ...lines] = stdout.trimEnd().split('\n');
	const [event, value] = ['event', 'value'].map((name) => names.split(',').indexOf(name));
	assert.equal(lines.length % 2, 0);
	const faults = lines
		.map((line) => line.split(','))
		.filter((cells) => cells[event ?? -1] === 'page-faults')
		.reduce((sum, cells) => sum + Number(cells[value ?? -1]), 0);
	// 100 pages that are mapped in map_here, and those of what is allocated.
	between(faults, 100, 200, 'page faults of all intervals');
	assert.ok(lines.every((line) => line.split(',').length === names.split(',').length));
});

test('a process that ends early: its counts until then', async () => {
	const workload = await Workload.start('calls', 'missing', '401');
	const args = [
		'stat',
		'--json',
		'-p',
		`${workload.pid}`,
		'-e',
		'syscalls:sys_enter_openat',
		'60',
		'1',
	];
	const tracing = await Tracing.start(args);
	await workload.work();
	await workload.end();
	const finished = await tracing.end();
	const [report] = countReports(finished) as [CountReport];
	assert.equal(countOf(report, 'syscalls:sys_enter_openat'), 401);
	assert.equal(report.ended, 'nobody_left');
	assert.ok(report.duration_s < 60);
	assert.match(finished.stderr, /all chosen processes and threads have ended/);
});

test('what is not there', () => {
	assert.match(
		refused(stat('-p', '4194300', '1', '1'), 1),
		/there is no process or thread 4194300/,
	);
	assert.match(
		refused(stat('--cgroup', 'no-such', '1', '1'), 1),
		/no-such is not a cgroup: give a folder below /,
	);
	assert.match(refused(stat('-e', 'pagefaults', '1', '1'), 2), /did you mean page-faults/);
	assert.match(
		refused(stat('-e', 'cache', '1', '1'), 2),
		/"cache" is ambiguous: cache-references, cache-misses/,
	);
	assert.match(
		refused(stat('-e', 'sched_switch', '1', '1'), 2),
		/did you mean sched:sched_switch\?/,
	);
	assert.match(
		refused(stat('-e', 'sched:sched_swich', '1', '1'), 2),
		/did you mean sched:sched_switch/,
	);
});

test('events that this machine does not have: why, and what it has', () => {
	// No processor has this one.
	const [report] = countReports(
		stat('--json', '-e', 'node-prefetch-misses,page-faults', '--', 'true'),
	);
	const [row, faults] = (report as CountReport).rows;
	assert.equal(row?.status, 'not_supported');
	assert.equal(row?.value, null);
	assert.match(
		row?.why ?? '',
		hasPmu() ? /this processor does not count it/ : /no hardware counters.*page faults/,
	);
	assert.equal(faults?.status, 'counted');
	const alone = refused(
		stat('-e', 'node-prefetch-misses', '--', 'touch', '/proc/no-such-place'),
		1,
	);
	assert.match(alone, /cannot count node-prefetch-misses: this /);
});

test('an ordinary user: its own processes, in user space; the rest is named', async () => {
	const events = ['-e', 'task-clock,minor-faults,context-switches'];
	const run = [...ORDINARY.slice(1), TSTRACE, 'stat', '--json', ...events];
	const [report] = countReports(runToEnd('setpriv', [...run, ...shell('/bin/true; /bin/true')]));
	const [clock, faults, switches] = (report as CountReport).rows;
	assert.equal(clock?.event, 'task-clock');
	assert.ok((clock?.value ?? 0) > 0);
	assert.ok((faults?.value ?? 0) > 50, `${faults?.value} faults of three programs`);
	if (paranoid > 1) {
		assert.equal(faults?.event, 'minor-faults:u');
		assert.equal(switches?.status, 'not_permitted', 'and not 0');
		assert.match(switches?.why ?? '', /kernel\.perf_event_paranoid is \d: run tstrace as root/);
	}
	if (paranoid < 1) return;
	const machine = refused(runToEnd('setpriv', [...run, '0.1', '1']), 1);
	assert.match(
		machine,
		/not allowed to observe the whole machine: kernel\.perf_event_paranoid is /,
	);
	const tracepoint = [...ORDINARY.slice(1), '--reuid=65534', '--clear-groups', TSTRACE, 'stat'];
	const unreadable = runToEnd('setpriv', [...tracepoint, '-e', 'sched:sched_switch', '--', 'true']);
	assert.match(refused(unreadable, 1), /tracing may not be read: run tstrace as root/);
});

test('more threads than there may be open files: how many are needed', async () => {
	const workload = await Workload.start('crowd', '100', '1', '60000000');
	workload.begin();
	await until(() => readdirSync(`/proc/${workload.pid}/task`).length > 100);
	const limits = ['--nofile=256:256', TSTRACE, 'stat', '-e', 'cs,faults,task-clock'];
	const { status, stderr } = runToEnd('prlimit', [...limits, '-p', `${workload.pid}`, '1', '1']);
	assert.equal(status, 1);
	assert.match(
		stderr,
		/^tstrace stat: too many open files: 101 threads x 3 events need 303 descriptors, and the limit is 256: raise it \(ulimit -Hn 1000;.*\(-e\).*--cgroup/,
	);
	const two = runToEnd('prlimit', [
		...limits.slice(0, 3),
		'-e',
		'cs',
		'-p',
		`${workload.pid}`,
		'0.1',
		'1',
	]);
	assert.equal(two.status, 0, 'fewer events are enough');
	process.kill(workload.pid, 'SIGKILL');
	await workload.end();
});

test('groups: of what can be counted at once', () => {
	const [report] = countReports(
		stat('--json', '-e', '{minor-faults,task-clock},{minor-faults:u,cs}', '--', 'true'),
	);
	const { rows } = report as CountReport;
	assert.deepEqual(
		rows.map(({ event, status }) => [event, status]),
		[
			['minor-faults', 'counted'],
			['task-clock', 'counted'],
			['minor-faults:u', 'counted'],
			['cs', 'counted'],
		],
	);
	const [all = 0, , user = 0] = rows.map(({ value }) => value ?? 0);
	assert.ok(user > 0 && user <= all, `${user} of ${all} in user space`);
});

test('everything it opened is closed again, however it ends', async () => {
	const workload = await Workload.start('naps', '1000000', '10', '1000');
	workload.begin();
	const tracing = await Tracing.start(['stat', '-p', `${workload.pid}`, '-I', '50']);
	const events = () =>
		readdirSync(`/proc/${tracing.pid}/fd`).filter((fd) => {
			try {
				return (
					readFileSync(`/proc/${tracing.pid}/fdinfo/${fd}`, 'utf8') !== '' &&
					isPerf(tracing.pid, fd)
				);
			} catch {
				return false;
			}
		}).length;
	const open = events();
	assert.ok(open >= 6, `${open} events`);
	const length = tracing.stdout.length;
	await until(() => tracing.stdout.length > 3 * length + 1000);
	assert.equal(events(), open, 'as many as in the beginning');
	const { status } = await tracing.end('SIGTERM');
	assert.equal(status, 0);
	process.kill(workload.pid, 'SIGKILL');
	await workload.end();
});

function isPerf(pid: number, fd: string): boolean {
	const { stdout } = runToEnd('readlink', [`/proc/${pid}/fd/${fd}`]);
	return stdout.includes('[perf_event]');
}

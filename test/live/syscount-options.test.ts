/** What syscount prints for people, and what it says to options that cannot be. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowsOf } from './calls.js';
import { reportsOf } from './reports.js';
import { needs, runToEnd, Tracing, TSTRACE, tstrace, Workload } from './support.js';

const DD = ['dd', 'if=/dev/zero', 'of=/dev/null', 'count=1'];

test('text: a table, a sum, and what a filter leaves of it', async () => {
	const { stdout } = tstrace(['syscount', '-q', '--top', '1', '--', ...DD]);
	assert.match(
		stdout,
		/^SYSCALL +CALLS +ERRORS\n\w+ +\d+ +\d+\n\d+ more with .*--top 0 shows them\n/m,
	);
	assert.match(stdout, /^\d+ calls, \d+ failed in all$/m);
	const nothing = tstrace(['syscount', '--syscall', 'reboot', '--', 'true']);
	assert.equal(nothing.status, 0);
	assert.match(nothing.stderr, /^no calls were seen$/m);
	const noError = tstrace(['syscount', '--errors', '--syscall', 'close', '--', 'true']);
	assert.match(noError.stderr, /^no call failed$/m);
	const list = tstrace(['syscount', '-l']);
	assert.equal(list.status, 0);
	assert.match(list.stdout, /^ +\d+ {2}openat\n/m);
	assert.match(list.stdout, /^network: .*\bsendto\b/m);
});

test('--by process: calls that go on are of the process, whatever its threads are called', async () => {
	// Three threads wait for ever, each under a name of its own, and the first one for its input.
	const workload = await Workload.start('deadlock');
	for (const options of [[], ['--latency']]) {
		const args = ['syscount', '--json', '-P', ...options, '-p', `${workload.pid}`];
		const tracing = await Tracing.start(args);
		const rows = rowsOf(await tracing.end('SIGINT'));
		assert.deepEqual(
			rows.map(({ pid, comm, calls, in_progress }) => ({ pid, comm, calls, in_progress })),
			[{ pid: workload.pid, comm: 'deadlock', calls: 0, in_progress: 4 }],
		);
	}
	// Of chosen calls only: none of them waits in this one.
	const chosen = ['syscount', '--json', '--syscall', 'nanosleep', '-p', `${workload.pid}`];
	const tracing = await Tracing.start(chosen);
	assert.deepEqual(rowsOf(await tracing.end('SIGINT')), []);
	await workload.work();
	await workload.end();
});

const PERF = 'calls at perf tracepoints';

test('perf sees all calls while its tracepoints are ours too', needs(PERF), async () => {
	const stat = ['stat', '-x,', '-e', 'raw_syscalls:sys_exit', ...DD];
	const calls = () => /^(\d+),,raw_syscalls:sys_exit/m.exec(runToEnd('perf', stat).stderr)?.[1];
	const alone = calls();
	const tracing = await Tracing.start(['syscount', '--json'], { TSTRACE_FORCE: 'perf' });
	const beside = calls();
	const { stdout } = await tracing.end('SIGINT');
	assert.ok(Number(alone) > 10);
	assert.equal(beside, alone);
	assert.ok((reportsOf(stdout)[0]?.cost.trap_ns ?? 0) > 0, 'the way to programs costs, too');
});

test('without tracefs there are raw tracepoints only', () => {
	const hidden = 'for each in tracing debug; do mount -t tmpfs none /sys/kernel/$each; done';
	const args = ['--mount', 'sh', '-c', `${hidden}; exec "$@"`, 'sh', TSTRACE, 'syscount', '-v'];
	const forced = runToEnd('unshare', [...args, '0.1', '1'], { TSTRACE_FORCE: 'perf' });
	assert.equal(forced.status, 1);
	assert.match(forced.stderr, /tracefs is not mounted: mount -t tracefs|bpf_task_pt_regs/);
	const { status, stdout, stderr } = runToEnd('unshare', [...args, '0.1', '1']);
	assert.equal(status, 0, stderr);
	assert.match(stderr, /, at raw tracepoints: /);
	assert.match(stdout, /^SYSCALL /m);
});

for (const [args, says] of [
	[['--syscall', 'oopenat'], /no system call or set "oopenat": did you mean openat\?/],
	[['--syscall', 'netwrk'], /did you mean network\?/],
	[['--syscall', ''], /no system call or set ""/],
	[['--errno', 'ENOENTT'], /no error "ENOENTT": did you mean ENOENT\?/],
	[['--errno', '0'], /a number from 1 to 4095/],
	[['--hist', 'reed'], /no system call "reed": did you mean read\?/],
	[
		['--hist', 'read', '--syscall', 'write'],
		/--hist read needs this call, and --syscall leaves it out/,
	],
	[['-P', '--errors'], /cannot be used with/],
	[['--latency', '--errors'], /cannot be used with/],
	[['-m'], /add --latency/],
	[['--top', 'x'], /a whole number/],
] as const) {
	test(`syscount ${args.join(' ')}: one line that says why`, () => {
		const { status, stderr } = tstrace(['syscount', ...args]);
		assert.equal(status, 2);
		assert.match(stderr, says);
		assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
	});
}

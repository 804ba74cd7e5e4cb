/** The command line on a live machine: filters, groups, COMMAND, formats, completion. */
import assert from 'node:assert/strict';
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmdirSync,
	rmSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { HistogramLogReader } from 'hdr-histogram-js';
import { cgroupMount } from '../../src/kit/cgroup.js';
import {
	type JsonReport,
	reportsOf,
	runToEnd,
	schedstat,
	Tracing,
	TSTRACE,
	total,
	tstrace,
	until,
	Workload,
} from './support.js';

/** Traces two hogs on CPU 0, of which the test filters for the first. */
async function traceHogs(
	args: (wanted: Workload, other: Workload) => string[],
): Promise<JsonReport> {
	const wanted = await Workload.start('hog', '0');
	const other = await Workload.start('hog', '0');
	const tracing = await Tracing.start(['runqlat', '--json', ...args(wanted, other), '0.5', '1']);
	const { status, stdout, stderr } = await tracing.end();
	await wanted.end();
	await other.end();
	assert.equal(status, 0, stderr);
	const [report] = reportsOf(stdout);
	assert.ok(report);
	return report;
}

test('-P: a group for each process, by its number and name', async () => {
	let pids: number[] = [];
	const report = await traceHogs((wanted, other) => {
		pids = [wanted.pid, other.pid];
		return ['-P'];
	});
	for (const pid of pids) {
		const group = report.groups.find((each) => each.key.pid === pid);
		assert.equal(group?.key.comm, 'hog');
		assert.ok(group.sum > 100e6, 'two on one CPU wait for half of the time');
	}
	assert.ok(!report.groups.some((group) => group.key.pid === 0), 'the idle task is not counted');
});

test('-p and -t: only these', async () => {
	for (const option of ['-p', '-t']) {
		let pid = 0;
		const report = await traceHogs((wanted) => {
			pid = wanted.pid;
			return ['-L', option, `${pid}`];
		});
		assert.deepEqual(
			report.groups.map((group) => group.key),
			[{ pid, tid: pid, comm: 'hog' }],
		);
	}
});

test('--comm, --by comm', async () => {
	const report = await traceHogs(() => ['--comm', 'hog', '--by', 'comm']);
	assert.deepEqual(
		report.groups.map((group) => group.key),
		[{ comm: 'hog' }],
	);
});

test('--cpu, --by cpu', async () => {
	const all = await traceHogs(() => ['--by', 'cpu', '--comm', 'hog']);
	assert.deepEqual(
		all.groups.map((group) => group.key.cpu),
		[0],
	);
	const other = await traceHogs(() => ['--cpu', '1', '--comm', 'hog']);
	assert.equal(other.groups[0]?.count, 0);
});

test('-k and -u: kernel threads, user processes', async () => {
	const user = await traceHogs(() => ['-u', '--by', 'comm']);
	assert.ok(user.groups.some((group) => group.key.comm === 'hog'));
	assert.ok(!user.groups.some((group) => `${group.key.comm}`.startsWith('kworker')));
	const kernel = await traceHogs(() => ['-k', '--by', 'comm']);
	assert.ok(kernel.groups.length > 0);
	assert.ok(!kernel.groups.some((group) => group.key.comm === 'hog'));
});

test('--cgroup: tasks in it and below; --by cgroup: by path', async () => {
	const mount = cgroupMount();
	assert.ok(mount, 'a cgroup2 mount is needed');
	const name = `tstrace-test-${process.pid}`;
	const child = join(mount, name, 'child');
	mkdirSync(child, { recursive: true });
	try {
		const report = await traceHogs((wanted) => {
			writeFileSync(join(child, 'cgroup.procs'), `${wanted.pid}`);
			return ['--cgroup', name, '--by', 'cgroup'];
		});
		assert.deepEqual(
			report.groups.map((group) => group.key.cgroup),
			[`/${name}/child`],
		);
	} finally {
		// When the test fails, the hog in it still runs.
		for (const pid of readFileSync(join(child, 'cgroup.procs'), 'utf8').trim().split('\n')) {
			if (pid) writeFileSync(join(mount, 'cgroup.procs'), pid);
		}
		rmdirSync(child);
		rmdirSync(join(mount, name));
	}
});

test('PIDs are those of the PID namespace that tstrace is called in', () => {
	const script = `${resolve('build/workloads/hog')} 0 < /dev/zero > /dev/null & pid=$!
		${resolve('build/workloads/hog')} 0 < /dev/zero > /dev/null & other=$!
		echo $pid; ${TSTRACE} runqlat -q -L -p $pid --json 0.3 1; kill $pid $other`;
	const args = ['--pid', '--fork', '--mount-proc', 'sh', '-c', script];
	const { stdout, stderr } = runToEnd('unshare', args);
	const [pid, json = ''] = stdout.split('\n');
	assert.ok(Number(pid) < 100, 'a small number, as in a new namespace');
	assert.deepEqual(
		reportsOf(json)[0]?.groups.map((group) => group.key),
		[{ pid: Number(pid), tid: Number(pid), comm: 'hog' }],
		stderr,
	);
});

test('--pidnss: by PID namespace', () => {
	const script = `readlink /proc/self/ns/pid; ${TSTRACE} runqlat -q --pidnss --json 0.3 1`;
	const args = ['--pid', '--fork', '--mount-proc', 'sh', '-c', script];
	const [inode = '', json = ''] = runToEnd('unshare', args).stdout.split('\n');
	const groups = reportsOf(json)[0]?.groups ?? [];
	assert.ok(groups.length >= 2);
	assert.ok(groups.some((group) => inode === `pid:[${group.key.pidns}]`));
});

test('--slower: single waits, and who was in the way', async () => {
	const report = await traceHogs((wanted) => ['--slower', '1000', '-p', `${wanted.pid}`]);
	assert.ok(report.rows.length > 5);
	for (const row of report.rows) {
		assert.equal(row.comm, 'hog');
		assert.equal(row.cpu, 0);
		assert.ok(Number(row.delay_ns) >= 1_000_000);
	}
	assert.ok(!report.rows.some((row) => row.kind === 'wakeup'), 'a hog never sleeps');
	assert.ok(report.rows.some((row) => row.kind === 'preempted'));
	assert.ok(report.rows.some((row) => row.prev_comm === 'hog'));
	const text = tstrace(['runqlat', '--slower', '1', '0.5', '1']).stdout.split('\n');
	assert.match(text[0] ?? '', /^TIME +CPU COMM +TID +WAIT\(us\) PREV COMM +PREV TID$/);
	assert.ok(text.length > 2 && text.every((line) => line.length <= 80));
});

test('COMMAND: traced from its first instruction, its status handed on', () => {
	const { status, stdout } = tstrace(['runqlat', '--json', '--', 'sh', '-c', 'sleep 0.05; exit 7']);
	assert.equal(status, 7);
	assert.equal(reportsOf(stdout).length, 1);
	const killed = tstrace(['runqlat', '--', 'sh', '-c', 'kill -KILL $$']);
	assert.equal(killed.status, 137);
});

test("COMMAND: what is counted is the kernel's own count, children with --follow", () => {
	// A shell's own waits since it was executed; the children are sleeps.
	const script =
		'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done; read -r _ _ n < /proc/$$/schedstat; echo $n >&2';
	const alone = tstrace(['runqlat', '-L', '--json', '--', 'sh', '-c', script]);
	const kernelCount = Number(/^(\d+)$/m.exec(alone.stderr)?.[1]);
	const [report] = reportsOf(alone.stdout);
	assert.equal(report?.groups.length, 1);
	const { count } = total(alone.stdout);
	// Before it was executed, the process waited for being held: a few times.
	assert.ok(count <= kernelCount && count >= kernelCount - 6, `${count} of ${kernelCount}`);
	const followed = tstrace(['runqlat', '-P', '--follow', '--json', '--', 'sh', '-c', script]);
	assert.equal(reportsOf(followed.stdout)[0]?.groups.length, 1 + 10);
});

test('COMMAND goes on when the last interval is over, and its status counts', () => {
	const { status, stdout } = tstrace([
		...['runqlat', '--json', '0.1', '1', '--'],
		...['sh', '-c', 'sleep 0.5; echo still here; exit 5'],
	]);
	assert.equal(status, 5);
	assert.match(stdout, /^\{.*\n.*still here\n$/s);
});

test("COMMAND's output through a pipe is as without tstrace", () => {
	const script = `set -o pipefail; ${TSTRACE} runqlat -q -- seq 1 300000 | (sleep 0.5; wc -l)`;
	const { status, stdout, stderr } = runToEnd('bash', ['-c', script]);
	assert.equal(status, 0, stderr);
	assert.ok(Number(stdout) > 300_000, stdout);
	assert.doesNotMatch(stderr, /write error/);
});

test('-p of a thread, or of a process that has ended and is not reaped', async () => {
	const node = process.pid;
	const tid = readdirSync(`/proc/${node}/task`).find((each) => each !== `${node}`);
	const thread = tstrace(['runqlat', '-p', `${tid}`, '0.1', '1']);
	assert.equal(thread.status, 1);
	assert.match(thread.stderr, new RegExp(`${tid} is a thread of process ${node}: give -t ${tid}`));
	const script = `sleep 0 & pid=$!; exec ${TSTRACE} runqlat -p $pid`;
	const zombie = runToEnd('sh', ['-c', `${script.replace('exec', 'sleep 0.2;')}; exit $?`]);
	assert.equal(zombie.status, 1, zombie.stderr);
});

test('a storm of events does not keep it from ending, nor memory from being bounded', async () => {
	const workload = await Workload.start('churn', '100000000');
	const tracing = await Tracing.start(['runqlat', '--slower', '1', '-p', `${workload.pid}`]);
	workload.begin();
	await until(() => tracing.stdout.length > 100_000);
	const { status } = await tracing.end('SIGINT');
	assert.equal(status, 0);
});

test('a process that ends while it is traced: the result, and status 0', async () => {
	const other = await Workload.start('hog', '0');
	const workload = await Workload.start('hog', '0');
	const tracing = await Tracing.start(['runqlat', '-p', `${workload.pid}`, '--json']);
	const { waits } = schedstat(workload.pid);
	await until(() => schedstat(workload.pid).waits > waits + 5);
	await workload.end();
	const { status, stdout } = await tracing.end();
	await other.end();
	assert.equal(status, 0);
	assert.equal(reportsOf(stdout).length, 1);
	assert.ok(total(stdout).count > 0);
});

test('text goes to stdout, all else to stderr; -q leaves only the result; -v says why', () => {
	const plain = tstrace(['runqlat', '0.2', '1']);
	assert.match(plain.stdout, /^\n {5}usecs {15}: count {4}distribution\n/);
	assert.match(plain.stderr, /^Tracing run queue latency\.\.\.\n/);
	assert.match(
		plain.stderr,
		/^cost: \d+\.\d\d % of one CPU \(sampled: about [\d,]+ program runs of .*\)$/m,
	);
	const quiet = tstrace(['runqlat', '-q', '0.2', '1']).stderr;
	assert.doesNotMatch(quiet, /Tracing|cost/);
	const verbose = tstrace(['runqlat', '-v', '0.2', '1'], { TSTRACE_FORCE: 'hash' }).stderr;
	assert.match(verbose, /waits are timed with hash: forced by TSTRACE_FORCE/);
	const stamped = tstrace(['runqlat', '-T', '-m', '0.2', '2']).stdout;
	assert.equal(stamped.match(/^\d\d:\d\d:\d\d$/gm)?.length, 2);
	assert.match(stamped, /msecs/);
});

test('-o and --hdr write files', () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-'));
	const [json, hdr] = [join(folder, 'out.json'), join(folder, 'log.hlog')];
	try {
		const args = ['runqlat', '--json', '--split', '-o', json, '--hdr', hdr, '0.3', '2'];
		assert.equal(tstrace(args).stdout, '');
		const groups = reportsOf(readFileSync(json, 'utf8')).flatMap((report) => report.groups);
		const reader = new HistogramLogReader(readFileSync(hdr, 'utf8'));
		for (const group of groups) {
			const histogram = reader.nextIntervalHistogram();
			assert.equal(histogram?.totalCount, group.count);
			assert.equal(histogram?.tag, `kind=${group.key.kind}`);
		}
		assert.equal(reader.nextIntervalHistogram(), null);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test('names that attack the terminal do not reach it', () => {
	const script = "printf '\\033[31m\\233x' > /proc/self/comm; sleep 0.02; sleep 0.02; :";
	const args = ['runqlat', '-P', '--follow', '--', 'bash', '-c', script];
	for (const more of [[], ['--json']]) {
		const { stdout } = tstrace([...args.slice(0, 1), ...more, ...args.slice(1)]);
		// biome-ignore lint/suspicious/noControlCharactersInRegex: none may reach the terminal
		assert.doesNotMatch(stdout, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
		assert.match(stdout, /\[31m/);
	}
});

test('help fits 80 columns; --version says the version', () => {
	for (const args of [['--help'], ['runqlat', '--help'], ['help', 'runqlat']]) {
		const { status, stdout, stderr } = tstrace(args);
		assert.equal(status, 0);
		assert.equal(stderr, '');
		for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line);
	}
	const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
	assert.equal(tstrace(['--version']).stdout, `${version}\n`);
	const alone = tstrace([]);
	assert.equal(alone.status, 2);
	assert.match(alone.stderr, /Usage: tstrace TOOL/);
});

test('completion: scripts that the shells take, and answers to what they ask', () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-'));
	try {
		for (const shell of ['bash', 'zsh', 'fish']) {
			const script = join(folder, shell);
			const { status, stdout } = tstrace(['completion', shell]);
			assert.equal(status, 0);
			assert.match(stdout, /tstrace/);
			writeFileSync(script, stdout);
			const checked = runToEnd(shell, ['-n', script]);
			assert.equal(checked.status, 0, `${shell}: ${checked.stderr}`);
		}
	} finally {
		rmSync(folder, { recursive: true });
	}
	const ask = (words: string) =>
		`source <(${TSTRACE} completion bash); COMP_WORDS=(${words}); ` +
		`COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _tstrace; echo "\${COMPREPLY[*]}"`;
	const bash = (words: string) => runToEnd('bash', ['-c', ask(words)]).stdout.trim();
	assert.equal(bash('tstrace runq'), 'runqlat');
	assert.equal(bash('tstrace runqlat --sl'), '--slower');
	assert.equal(bash('tstrace runqlat --by c'), 'cgroup cpu comm');
	assert.match(bash('tstrace runqlat -o /etc/passw'), /\/etc\/passwd( |$)/);
	assert.match(bash('tstrace runqlat -- unshar'), /^unshare/);
	// What was typed is never executed.
	const witness = join(tmpdir(), `tstrace-executed-${process.pid}`);
	bash(`tstrace runqlat -o '$(touch ${witness})' ''`);
	assert.equal(existsSync(witness), false);
	const fish = `${TSTRACE} completion fish | source; complete -C 'tstrace runqlat --sl'`;
	assert.match(runToEnd('fish', ['-c', fish]).stdout, /^--slower\t/);
});

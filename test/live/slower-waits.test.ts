/** runqlat --slower: waits one by one, as they happen. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { needs, Tracing, tstrace, until, Workload } from './support.js';

/** As hog, but with another name. */
const BUSY = 'echo "ready $$ $$"; while ! read -rt 0; do :; done';

const RING = needs('a ring buffer');

test('--slower: single waits, and who was in the way, by name and numbers', RING, async () => {
	const wanted = await Workload.start('hog', '1');
	const other = await Workload.startBy('taskset', '-c', '1', 'bash', '-c', BUSY);
	const args = ['runqlat', '--json', '--slower', '1ms', '-p', `${wanted.pid}`];
	const tracing = await Tracing.start(args);
	const rows = () =>
		reportsOf(tracing.stdout.slice(0, tracing.stdout.lastIndexOf('\n') + 1)).flatMap(
			(report) => report.rows,
		);
	const behind = () => rows().filter((row) => row.prev_tid === other.tid);
	await until(() => rows().length > 5 && behind().length > 2);
	await tracing.end('SIGINT');
	for (const row of rows()) {
		assert.deepEqual([row.pid, row.tid, row.comm], [wanted.pid, wanted.tid, 'hog']);
		assert.equal(row.cpu, 1);
		assert.ok(Number(row.delay_ns) >= 1_000_000);
		assert.notEqual(row.prev_tid, wanted.tid);
	}
	for (const row of behind()) assert.deepEqual([row.prev_pid, row.prev_comm], [other.pid, 'bash']);
	await wanted.end();
	await other.end();
	// What it waits for as tracing begins is not known for what it is, if it only just began to.
	const known = rows().slice(1);
	assert.ok(!known.some((row) => row.kind === 'wakeup'), 'a hog never sleeps');
	assert.ok(rows().some((row) => row.kind === 'preempted'));
});

test(
	'--slower: the time is when the wait ended: what was stopped waits from when it may go on',
	RING,
	async () => {
		const [wanted, ...others] = [
			await Workload.start('hog', '0'),
			await Workload.start('hog', '0'),
			await Workload.start('hog', '0'),
		];
		const tracing = await Tracing.start([
			'runqlat',
			'--json',
			'--slower',
			'2ms',
			'-p',
			`${wanted.pid}`,
		]);
		const wakeups = () =>
			reportsOf(tracing.stdout.slice(0, tracing.stdout.lastIndexOf('\n') + 1))
				.flatMap((report) => report.rows)
				.filter((row) => row.kind === 'wakeup');
		const letGo: { after_ms: number; before_ms: number }[] = [];
		const begins_ms = () =>
			wakeups().map((row) => Date.parse(`${row.time}`) - Number(row.delay_ns) / 1e6);
		let stopped = false;
		await until(() => {
			stopped = !stopped;
			const after_ms = Date.now();
			process.kill(wanted.pid, stopped ? 'SIGSTOP' : 'SIGCONT');
			if (!stopped) letGo.push({ after_ms, before_ms: Date.now() });
			return !stopped && begins_ms().length >= 5;
		});
		// Of times, whole milliseconds are shown.
		for (const begin_ms of begins_ms())
			assert.ok(
				letGo.some(
					({ after_ms, before_ms }) => begin_ms > after_ms - 1.5 && begin_ms < before_ms + 1.5,
				),
				`nobody let it go on at ${begin_ms}`,
			);
		await tracing.end('SIGINT');
		for (const workload of [wanted, ...others]) await workload.end();
	},
);

test('--slower: waits as long as that and longer ones, in microseconds', RING, async () => {
	const WAKEUPS = 500;
	const slower = async (usec: number) => {
		// Each waits for 20 us or more; hardly any for 5 ms.
		const workload = await Workload.start('wakeups', `${WAKEUPS}`);
		const args = ['runqlat', '--json', '--slower', `${usec}`, '-t', `${workload.tid}`];
		const tracing = await Tracing.start(args);
		await workload.work();
		const { stdout } = await tracing.end('SIGINT');
		await workload.end();
		const rows = reportsOf(stdout).flatMap((report) => report.rows);
		for (const { delay_ns } of rows) assert.ok(Number(delay_ns) >= usec * 1000, `${delay_ns}`);
		return rows;
	};
	const all = await slower(15);
	assert.ok(all.length >= WAKEUPS * 0.9, `${all.length} of ${WAKEUPS}`);
	const few = await slower(5000);
	assert.ok(few.length < WAKEUPS / 4, `${few.length} of 5 ms and more`);
	// Some of the first are just above the limit: it is not a thousand times more than that either.
	assert.ok(all.some(({ delay_ns }) => Number(delay_ns) < 5e6));
});

test('--slower: lines that fit a terminal', RING, async () => {
	const hogs = [await Workload.start('hog', '0'), await Workload.start('hog', '0')];
	const text = tstrace(['runqlat', '--slower', '1', '0.5']).stdout.split('\n');
	for (const hog of hogs) await hog.end();
	assert.match(text[0] ?? '', /^TIME +CPU COMM +TID +WAIT\(us\) PREV COMM +PREV TID$/);
	assert.ok(text.length > 5 && text.every((line) => line.length <= 80));
});

test('--slower: a number is how long, as for all tools that print lines', RING, () => {
	const { status, stdout, stderr } = tstrace(['runqlat', '--slower', '3000', '--json', '1500ms']);
	assert.equal(status, 0);
	const reports = reportsOf(stdout);
	assert.equal(reports.length, 2, 'an object each second');
	const seconds = reports.reduce((sum, { duration_s }) => sum + duration_s, 0);
	assert.ok(seconds >= 1.5, `${seconds}`);
	assert.match(stderr, /^Tracing waits for a CPU \(3,000 us or more\)\.\.\.\n/);
	const two = tstrace(['runqlat', '--slower', '3000', '1', '1']);
	assert.equal(two.status, 2);
	assert.match(
		two.stderr,
		/--slower prints events as they happen: give only one number, the duration/,
	);
});

test(
	'a storm of events does not keep it from ending, nor memory from being bounded',
	RING,
	async () => {
		const workload = await Workload.start('churn', '100000000');
		const tracing = await Tracing.start(['runqlat', '--slower', '1', '-p', `${workload.pid}`]);
		workload.begin();
		await until(() => tracing.stdout.length > 100_000);
		const { status } = await tracing.end('SIGINT');
		assert.equal(status, 0);
	},
);

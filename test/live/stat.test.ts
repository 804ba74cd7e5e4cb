/** stat against workloads that know what they did, and against perf. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { onlineCpus } from '../../src/perf/cpus.js';
import { tracepointId } from '../../src/perf/tracepoint.js';
import { cgroupMount } from '../../src/proc/cgroup.js';
import { schedules } from '../vm/sched-ext.js';
import { between, type CountReport, countOf, countReports, countWork } from './counts.js';
import { runToEnd, Tracing, tstrace, until, Workload } from './support.js';
import { schedstat, stealing, switches } from './times.js';

const OPENS = 'syscalls:sys_enter_openat';
const EXITS = 'syscalls:sys_enter_exit';
const GROUP_EXITS = 'syscalls:sys_enter_exit_group';

/** What a workload does beside its work: reading the byte, printing "done". */
const ASIDE = 12;
/** Of each switch a counter leaves out the kernel's way into it and out of it; it takes less than this. */
const SWITCH_NS = 40e3;

/**
 * What many short threads or processes did that the counted ones created. The kernel here now and then runs a thread
 * without having told perf of the switch: until the next one nobody counts what it does.
 */
const ofCreated = (count: number, most: number, what: string) =>
	between(count, Math.floor(0.9 * most), most, what);

test('page faults: as many as pages were touched', async () => {
	const workload = await Workload.start('faults', '1237');
	const { report, done } = await countWork(workload, '-e', 'faults,minor-faults,major-faults');
	await workload.end();
	assert.deepEqual(done, [1237]);
	between(countOf(report, 'minor-faults'), 1237, 1237 + ASIDE, 'minor faults');
	assert.equal(
		countOf(report, 'faults'),
		countOf(report, 'minor-faults') + countOf(report, 'major-faults'),
	);
	assert.deepEqual(
		report.rows.map(({ event, unit }) => [event, unit]),
		[
			['faults', 'events'],
			['minor-faults', 'events'],
			['major-faults', 'events'],
		],
		'by the names that were typed, in that order',
	);
});

test('system calls, by tracepoints: one kind exactly, all of them nearly', async () => {
	const workload = await Workload.start('calls', 'missing', '2311');
	const { report } = await countWork(workload, '-e', `${OPENS},raw_syscalls:sys_enter,${EXITS}`);
	await workload.end();
	assert.equal(countOf(report, OPENS), 2311);
	between(countOf(report, 'raw_syscalls:sys_enter'), 2311, 2311 + ASIDE, 'calls');
	assert.equal(countOf(report, EXITS), 0);
	const opens = report.rows.find(({ event }) => event === OPENS);
	const per_s = 2311 / report.elapsed_s;
	between(opens?.per_s ?? 0, 0.999 * per_s, 1.001 * per_s, 'opens a second');
});

test('an event by its PMU and number: as by its name', async () => {
	const number = tracepointId('syscalls', 'sys_enter_openat');
	const list = [OPENS, `tracepoint/config=${number}/`, `tracepoint/config=${number},name=mine/`];
	const workload = await Workload.start('calls', 'missing', '997');
	const { report } = await countWork(workload, '-e', list.join(','));
	await workload.end();
	assert.deepEqual(
		report.rows.map(({ event, value }) => [event, value]),
		[
			[OPENS, 997],
			[`tracepoint/config=${number}/`, 997],
			['mine', 997],
		],
	);
});

test('context switches and CPU time: what the kernel says of the thread', async () => {
	const workload = await Workload.start('naps', '700', '300', '200');
	const before = { switches: switches(workload.pid), run_ns: schedstat(workload.pid).run_ns };
	const { report } = await countWork(workload, '-e', 'context-switches,task-clock');
	await until(() => / S /.test(readFileSync(`/proc/${workload.pid}/stat`, 'utf8')));
	const counted = switches(workload.pid) - before.switches;
	const ran_ns = schedstat(workload.pid).run_ns - before.run_ns;
	await workload.end();
	// Its first switch back is not one away; the last one may be on either side of the reading.
	between(countOf(report, 'context-switches'), counted - 2, counted, 'switches');
	assert.ok(counted >= 700, `${counted} switches: one for each nap`);
	between(countOf(report, 'task-clock'), ran_ns - SWITCH_NS * counted, 1.02 * ran_ns, 'CPU time');
	const utilised = report.rows[1]?.metric;
	assert.equal(utilised?.name, 'cpus_utilised');
	const share = countOf(report, 'task-clock') / (report.elapsed_s * 1e9);
	between(utilised?.value ?? 0, 0.999 * share, 1.001 * share, 'CPUs utilised');
});

test('a program that never sleeps: its CPU time', async () => {
	const workload = await Workload.start('burns', 'user');
	workload.begin();
	const stolen_ns = stealing();
	const from_ns = schedstat(workload.pid).run_ns;
	const tracing = await Tracing.start(['stat', '--json', '-p', `${workload.pid}`]);
	const [begun_ns, switches_before] = [schedstat(workload.pid).run_ns, switches(workload.pid)];
	await until(() => schedstat(workload.pid).run_ns > begun_ns + 1.1e9);
	const least_ns = schedstat(workload.pid).run_ns - begun_ns;
	const [report] = countReports(await tracing.end('SIGINT')) as [CountReport];
	const most_ns = schedstat(workload.pid).run_ns - from_ns;
	const switched = switches(workload.pid) - switches_before;
	await workload.end();
	// schedstat leaves out what a hypervisor took, a counter's clock goes on; and see above.
	between(
		countOf(report, 'task-clock'),
		0.99 * least_ns - SWITCH_NS * switched,
		1.01 * most_ns + stolen_ns(),
		'task-clock',
	);
});

test('children count, unless they are left out', async () => {
	for (const [args, children] of [
		[[], 61],
		[['-i'], 0],
	] as const) {
		const workload = await Workload.start('calls', 'forks', '61');
		const { report } = await countWork(workload, '-e', GROUP_EXITS, ...args);
		await workload.end();
		assert.equal(countOf(report, GROUP_EXITS), children, args.join());
	}
});

test('threads: those there are, and what they create', async () => {
	const workload = await Workload.start('calls', 'thread-forks', '47');
	const { report } = await countWork(workload, '-e', GROUP_EXITS);
	await workload.end();
	ofCreated(countOf(report, GROUP_EXITS), 2 * 47, 'of two threads');
	const one = await Workload.start('calls', 'thread-forks', '47');
	const tid = [
		'stat',
		'--json',
		'-t',
		`${one.tid}`,
		'-e',
		`${GROUP_EXITS},${'syscalls:sys_enter_clone'}`,
	];
	for (const [more, children] of [
		[[], 0],
		[['--follow'], 47],
	] as const) {
		const again = await Workload.start('calls', 'thread-forks', '47');
		tid[3] = `${again.tid}`;
		const tracing = await Tracing.start([...tid, ...more]);
		await again.work();
		const [ofThread] = countReports(await tracing.end('SIGINT')) as [CountReport];
		await again.end();
		ofCreated(countOf(ofThread, GROUP_EXITS), children, 'of one thread');
		assert.equal(countOf(ofThread, 'syscalls:sys_enter_clone'), 47);
	}
	await one.end();
});

test('threads that begin later', async () => {
	for (const [args, opens] of [
		[[], 53],
		[['--no-inherit'], 0],
	] as const) {
		const workload = await Workload.start('calls', 'threads', '53');
		const { report } = await countWork(workload, '-e', OPENS, ...args);
		await workload.end();
		ofCreated(countOf(report, OPENS), opens, args.join());
	}
});

test('intervals: each has its own, and together they have all', async () => {
	const workload = await Workload.start('rounds');
	workload.begin();
	const args = ['stat', '--json', '-p', `${workload.pid}`, '-e', OPENS, '-I', '100'];
	const tracing = await Tracing.start(args);
	const reports = () => tracing.stdout.split('\n').length - 1;
	for (const count of [31, 17, 5]) {
		workload.tell(`${count} 1`);
		await workload.done();
		const there = reports();
		await until(() => reports() > there);
	}
	const all = countReports(await tracing.end('SIGINT'));
	await workload.end();
	const opens = all.map((report) => countOf(report, OPENS));
	assert.ok(all.length > 3, `${all.length} intervals`);
	assert.equal(
		opens.reduce((sum, each) => sum + each, 0),
		31 + 17 + 5,
	);
	assert.ok(
		opens.every((each) => each <= 31),
		`${opens.join()}: no round in another's interval`,
	);
	let until_s = 0;
	for (const report of all) {
		until_s += report.elapsed_s;
		between(report.until_s, until_s - 1e-4, until_s + 1e-4, 'ends, but for rounding');
	}
});

test('a CPU, or all of them', async () => {
	const [first = 0, second] = onlineCpus();
	const count = async (...args: string[]) => {
		const taskset = ['-c', `${first}`, resolve('build/workloads/calls'), 'missing', '1511'];
		const workload = await Workload.startBy('taskset', ...taskset);
		const tracing = await Tracing.start(['stat', '--json', '-e', OPENS, ...args]);
		await workload.work();
		const [report] = countReports(await tracing.end('SIGINT')) as [CountReport];
		const pid = ['stat', '--json', '-e', OPENS, '-p', `${workload.pid}`];
		await workload.end();
		return { report, pid };
	};
	const all = await count('-a');
	assert.ok(countOf(all.report, OPENS) >= 1511, 'others may open files, too');
	assert.ok(countOf((await count('-C', `${first}`)).report, OPENS) >= 1511);
	if (second !== undefined) {
		const { report } = await count('-C', `${second}`);
		assert.ok(countOf(report, OPENS) < 1511, 'it was on another CPU');
	}
	const { report } = await count('-e', 'cpu-clock');
	const clock = countOf(report, 'cpu-clock') / (report.elapsed_s * 1e9);
	const cpus = onlineCpus().length;
	between(clock, 0.9 * cpus, 1.1 * cpus, 'CPUs counted');
	between(report.busy_share ?? -1, 0, 1, 'how busy they are');
	assert.deepEqual(report.remarks.map(({ rule }) => rule).slice(0, 1), ['busy']);
});

test('a process, on one CPU only', async () => {
	const [first = 0, second] = onlineCpus();
	for (const [cpu, opens] of [
		[first, 1009],
		[second, 0],
	] as const) {
		if (cpu === undefined) continue;
		const taskset = ['-c', `${first}`, resolve('build/workloads/calls'), 'missing', '1009'];
		const workload = await Workload.startBy('taskset', ...taskset);
		const { report } = await countWork(workload, '-e', OPENS, '-C', `${cpu}`);
		await workload.end();
		assert.equal(countOf(report, OPENS), opens, `CPU ${cpu}`);
	}
});

test('a cgroup: what runs in it, and nothing else', async () => {
	const mount = cgroupMount() ?? '';
	const name = `tstrace-stat-${process.pid}`;
	mkdirSync(join(mount, name));
	try {
		const inside = await Workload.start('calls', 'missing', '1301');
		const outside = await Workload.start('calls', 'missing', '769');
		writeFileSync(join(mount, name, 'cgroup.procs'), `${inside.pid}`);
		const args = ['stat', '--json', '--cgroup', name, '-e', `${OPENS},cpu-clock`];
		const tracing = await Tracing.start(args);
		await Promise.all([inside.work(), outside.work()]);
		const [report] = countReports(await tracing.end('SIGINT')) as [CountReport];
		await inside.end();
		await outside.end();
		assert.equal(countOf(report, OPENS), 1301);
		assert.deepEqual(report.filters, { cgroups: [name] });
		const ns = countOf(report, 'cpu-clock');
		assert.ok(ns > 0 && ns < report.elapsed_s * 1e9, `${ns} ns: of the cgroup, not of the CPU`);
		await until(() => readFileSync(join(mount, name, 'cgroup.procs'), 'utf8') === '');
	} finally {
		// Since Linux 7.0 its last process is in it a moment longer than cgroup.procs says.
		// Where a scheduler of sched_ext has the threads, 7.2 holds it for longer than this waits.
		if (!schedules()) await until(() => isRemoved(join(mount, name)));
	}
});

function isRemoved(folder: string): boolean {
	try {
		rmdirSync(folder);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'EBUSY') return false;
		throw error;
	}
}

test('perf counts the same of the same command', () => {
	const command = [
		'sh',
		'-c',
		'for i in 1 2 3; do dd if=/dev/zero of=/dev/null count=5000 status=none; done',
	];
	const events = [
		'page-faults',
		'syscalls:sys_enter_write',
		'syscalls:sys_enter_read',
		GROUP_EXITS,
	];
	const ofPerf = () => {
		const perf = ['stat', '-x', ';', '-e', events.join(','), '--', ...command];
		const { stderr } = runToEnd('perf', perf);
		return events.map((event) => Number(new RegExp(`^(\\d+);;${event};`, 'm').exec(stderr)?.[1]));
	};
	const ofTstrace = () => {
		const args = ['stat', '--json', '-e', events.join(','), '--', ...command];
		const [report] = countReports(tstrace(args)) as [CountReport];
		return events.map((event) => countOf(report, event));
	};
	// In turn, so that neither has the warm caches.
	const [theirs, ours, again] = [ofPerf(), ofTstrace(), ofPerf()] as const;
	assert.deepEqual(ours.slice(1), theirs.slice(1), 'calls');
	assert.ok((ours[1] ?? 0) >= 15_000, 'of children, too');
	assert.deepEqual(again.slice(1), theirs.slice(1));
	// The layout of memory is random, and what the page cache holds changes.
	const [most, least] = [
		Math.max(theirs[0] ?? 0, again[0] ?? 0),
		Math.min(theirs[0] ?? 0, again[0] ?? 0),
	];
	between(ours[0] ?? 0, 0.9 * least, 1.1 * most, 'page faults');
});

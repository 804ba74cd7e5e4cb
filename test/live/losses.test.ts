/** What is lost, by cause: forced in a known number, said in words, and by the interval that it was lost in only. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { explainLost } from '../../src/bpf/loss.js';
import { cgroupMount } from '../../src/proc/cgroup.js';
import { otherLosses, reportsOf } from './reports.js';
import { Tracing, until, Workload } from './support.js';
import { schedstat } from './times.js';

type Env = Readonly<Record<string, string>>;

interface Case {
	readonly cause: string;
	readonly what: string;
	/** Starts the workload; what it is traced with, and what makes it lose something. */
	readonly prepare: () => Promise<Prepared>;
	/** How much is lost each time; a function where only bounds are known. */
	readonly due: number | ((lost: number) => boolean);
	/** Whether it has intervals; otherwise there is one result. */
	readonly intervals?: true;
	readonly env?: Env;
	/** What else may be lost: nothing, but for what the kernel hides at any time. */
	readonly also?: readonly string[];
}

interface Prepared {
	readonly args: readonly string[];
	/** Each time. */
	readonly force: (tracing: Tracing) => Promise<unknown>;
	readonly end: () => Promise<unknown>;
	/** How often it can be forced. */
	readonly times?: number;
	/** What becomes tstrace: see Tracing.start. */
	readonly by?: readonly string[];
}

const some = (lost: number) => lost > 0;
const INTERVAL = '0.5';

/** Of a workload that is chosen by its number, and works each time it is told to. */
const workloadCase =
	(words: readonly string[], args: string, times = 1) =>
	async (): Promise<Prepared> => {
		const [name = '', ...others] = words;
		const workload = await Workload.start(name, ...others);
		return {
			args: [...args.split(' '), '-p', `${workload.pid}`],
			force: () => workload.work(),
			end: () => workload.end(),
			times,
		};
	};

const CASES: readonly Case[] = [
	{
		cause: 'groups_full',
		what: 'more threads than groups',
		prepare: workloadCase(['churn', '2000'], 'runqlat -L --max-buckets 100'),
		due: some,
		intervals: true,
	},
	{
		cause: 'threads_full',
		what: 'more threads than there is room for',
		prepare: workloadCase(['churn', '500'], 'schedlat --max-threads 10'),
		due: some,
		intervals: true,
	},
	{
		cause: 'call_start_unknown',
		what: 'the call that the workload was in as tracing began',
		prepare: workloadCase(['calls', 'missing', '7'], 'syscount --latency'),
		due: 1,
		intervals: true,
	},
	{
		cause: 'allocations_full',
		what: '5,003 allocations in room for 1,000',
		prepare: workloadCase(['leaks', 'many', '5003'], 'memleak --max-allocs 1000'),
		due: 4003,
		intervals: true,
	},
	{
		cause: 'allocations_endless',
		what: '23 calls that were jumped out of, each time',
		prepare: workloadCase(['endless', '23'], 'memleak --prefix je_ -O endless', 3),
		due: 23,
		intervals: true,
	},
	{
		cause: 'stacks_full',
		what: 'memleak: 1,000 functions with room for 100',
		prepare: workloadCase(['mangled'], 'memleak --max-stacks 100'),
		due: (lost) => lost >= 880 && lost <= 900,
		intervals: true,
	},
	{
		cause: 'stacks_truncated',
		what: 'memleak: 997 allocations by stacks that are deeper',
		prepare: workloadCase(['leaks', 'many', '997'], 'memleak --max-depth 1'),
		due: 997,
		intervals: true,
	},
	{
		cause: 'failures_full',
		what: 'calls that fail, each for another path',
		prepare: async () => {
			const shell = await Workload.startBy('sh', '-c', MISSING_FILES);
			return {
				args: ['syscount', '--paths', '--max-paths', '16', '-p', `${shell.pid}`],
				force: () => shell.work(),
				end: () => shell.end(),
			};
		},
		due: some,
		intervals: true,
	},
	{
		cause: 'frees_unseen',
		what: "the kernel's memory of processes that come and go: it frees in bulk, without a tracepoint",
		prepare: async () => ({
			args: ['memleak', '--comm', 'node,true'],
			force: async () => {
				for (let i = 0; i < 60; i++) spawnSync('true');
			},
			end: async () => undefined,
		}),
		due: some,
	},
	...(['sched_exit', 'switch'] as const).map(
		(way): Case => ({
			cause: 'stacks_full',
			what: `offcputime, ${way}: 3,000 stacks with room for 100`,
			prepare: workloadCase(['paths', '0', '3000'], 'offcputime --exact --max-stacks 100'),
			// A moment may be over before it can wait; and it is lost once.
			due: (lost) => lost >= 2500 && lost <= 3000,
			env: { TSTRACE_FORCE: way },
			// The wait in which the workload was as tracing began.
			also: way === 'switch' ? ['stack_walk_failed'] : [],
		}),
	),
	{
		cause: 'stacks_full',
		what: 'offcputime: deep stacks, with room for some 1,100, where there is room for 1,900 sums',
		prepare: workloadCase(
			['paths', '0', '1700', '1', '100'],
			'offcputime --exact --max-stacks 1900 --max-depth 127',
		),
		// So many frames are there for all, each CPU's in blocks.
		due: (lost) => lost >= 450 && lost <= 900,
	},
	{
		cause: 'objects_full',
		what: 'offcputime: threads that wait for more objects than 16',
		prepare: workloadCase(
			['kinds', '/tmp', '100'],
			'offcputime --exact -K --comm k:* --max-stacks 128',
		),
		due: some,
	},
	{
		cause: 'stack_walk_failed',
		what: 'offcputime, switch: two threads that stopped before tracing began',
		prepare: workloadCase(['waits', '5', '1000'], 'offcputime --exact'),
		due: 2,
		env: { TSTRACE_FORCE: 'switch' },
	},
	{
		cause: 'events_ring_full',
		what: 'timehist: more than a small ring holds',
		prepare: workloadCase(['churn', '5000'], 'timehist --ring-kb 4'),
		due: some,
	},
	{
		cause: 'calls_ring_full',
		what: 'trace: more than a small buffer holds',
		prepare: workloadCase(['traced', 'flood', '5000'], 'trace --buffer 4K'),
		due: some,
	},
	{
		cause: 'wait_table_full',
		what: 'trace: more threads in a call at once than there is room for',
		prepare: workloadCase(['crowd', '6000', '1', '300000'], 'trace -e clock_nanosleep'),
		due: (lost) => lost >= 6000 - 4096 && lost <= 6000,
	},
	{
		cause: 'mappings_lost',
		what: 'programs that begin while tstrace stands still',
		prepare: async () => ({
			args: ['offcputime', '--comm', 'hog'],
			force: (tracing) => othersMapMuch(tracing),
			end: async () => undefined,
		}),
		due: some,
	},
	{
		cause: 'samples_lost',
		what: 'samples that are read one by one, while tstrace stands still',
		prepare: async () => {
			const by = ['setpriv', '--bounding-set=-all'];
			const [file = '', ...others] = [...by, resolve('build/workloads/hog')];
			const hog = await Workload.startBy(file, ...others);
			return {
				by,
				args: ['profile', '-e', 'cpu-clock', '-F', '5000', '-p', `${hog.pid}`],
				force: standingStill(async () => {
					// A ring of each CPU holds 512 KiB.
					const { run_ns } = schedstat(hog.pid);
					await until(() => schedstat(hog.pid).run_ns > run_ns + 3e9);
				}),
				end: () => hog.end(),
			};
		},
		due: some,
	},
	{
		cause: 'wait_start_unknown',
		what: 'a thread that comes into the cgroup asleep',
		prepare: intoCgroup,
		due: 1,
	},
];

/** A shell that says what workloads say, and then asks for files that are not there. */
const MISSING_FILES =
	'echo ready $$ $$; head -c 1 > /dev/null; i=0; while [ $i -lt 300 ]; do [ -e /no/such/$i ]; i=$((i+1)); done; echo done; head -c 1 > /dev/null';

/** Stops tstrace while it happens. */
function standingStill(happens: () => Promise<void>): (tracing: Tracing) => Promise<void> {
	return async (tracing) => {
		tracing.signal('SIGSTOP');
		await until(() => / T /.test(readFileSync(`/proc/${tracing.pid}/stat`, 'utf8')));
		try {
			await happens();
		} finally {
			tracing.signal('SIGCONT');
		}
	};
}

/** More than is kept of it. */
const othersMapMuch = standingStill(async () => {
	// A ring of each CPU holds 256 KiB; a program that begins takes three or so.
	for (let i = 0; i < 400; i++) spawnSync('taskset', ['-c', '0', '/bin/true']);
});

async function intoCgroup(): Promise<Prepared> {
	const mount = cgroupMount() ?? assert.fail('a cgroup2 mount is needed');
	const folder = join(mount, `tstrace-losses-${process.pid}`);
	mkdirSync(folder);
	const workload = await Workload.start('calls', 'missing', '1');
	return {
		args: ['offcputime', '--cgroup', folder],
		force: async () => {
			writeFileSync(join(folder, 'cgroup.procs'), `${workload.pid}`);
			await workload.work();
		},
		end: async () => {
			await workload.end();
			rmdirSync(folder);
		},
	};
}

/** What each report so far says was lost for this cause. */
const lostIn = (tracing: Tracing, cause: string): number[] =>
	reportsOf(tracing.stdout.slice(0, tracing.stdout.lastIndexOf('\n') + 1)).map(
		({ lost }) => lost[cause] ?? 0,
	);

function assertDue(lost: number, due: Case['due']): void {
	if (typeof due === 'number') assert.equal(lost, due);
	else assert.ok(due(lost), `${lost} lost`);
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0);

/** Causes that a report names, but for this one and those that tests cannot prevent. */
const othersIn = (tracing: Tracing, cause: string): string[] =>
	reportsOf(tracing.stdout).flatMap(({ lost }) => {
		const { programs_missed: _, [cause]: __, ...others } = otherLosses(lost);
		return Object.keys(others);
	});

for (const { cause, what, prepare, due, intervals, env = {}, also = [] } of CASES) {
	test(`${cause}: ${what}`, async () => {
		const { args, force, end, times = 1, by } = await prepare();
		try {
			const words = [...args, '--json', ...(intervals ? [INTERVAL] : [])];
			const tracing = await Tracing.start(words, env, by);
			for (let time = 1; time <= times; time++) {
				const before = lostIn(tracing, cause);
				await force(tracing);
				if (!intervals) break;
				// One interval or two have it; those that follow have nothing of it.
				await until(() => lostIn(tracing, cause).length >= before.length + 3);
				assertDue(sum(lostIn(tracing, cause).slice(before.length)), due);
				const { length } = lostIn(tracing, cause);
				await until(() => lostIn(tracing, cause).length > length);
				assert.equal(lostIn(tracing, cause)[length], 0, 'an interval in which nothing was lost');
			}
			const { status, stderr } = await tracing.end('SIGINT');
			assert.equal(status, 0, stderr);
			const all = lostIn(tracing, cause);
			if (!intervals) assertDue(sum(all), due);
			for (const other of othersIn(tracing, cause)) assert.ok(also.includes(other), other);
			// And in words: of each result, or of all at the end where rows are printed as they come.
			const said = stderr.replaceAll('\n      ', ' ').split('\n');
			const streams = ['timehist', 'trace'].includes(args[0] ?? '');
			for (const count of streams ? [sum(all)] : all.filter((each) => each > 0))
				assert.ok(said.includes(`lost: ${explainLost({ [cause]: count })}`), stderr);
		} finally {
			await end();
		}
	});
}

test('mapping records that others lost are no loss of a process that was chosen', async () => {
	const workload = await Workload.start('hog');
	try {
		const chosen = await Tracing.start(['profile', '--json', '-p', `${workload.pid}`]);
		const all = await Tracing.start(['profile', '--json', '--comm', 'hog']);
		await standingStill(() => othersMapMuch(all))(chosen);
		const lost = [chosen, all].map(async (tracing) => {
			const [report] = reportsOf((await tracing.end('SIGINT')).stdout);
			return report?.lost.mappings_lost ?? 0;
		});
		const [ofChosen = 0, ofAll = 0] = await Promise.all(lost);
		assert.equal(ofChosen, 0);
		assert.ok(ofAll > 0);
	} finally {
		await workload.end();
	}
});

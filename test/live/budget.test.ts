/** What tracing may cost: a storm of events, and a tracer that has to know when to stop. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { onlineCpus } from '../../src/perf/cpus.js';
import { kernelObjects, untilReleased } from './kernel-objects.js';
import { reportsOf, sawSomething } from './reports.js';
import { stackReport } from './stacks.js';
import { type Finished, importing, Tracing, Workload } from './support.js';

/** Per cent of each CPU: the storm costs more than that in any tool. */
const LITTLE = ['--max-overhead', '0.01'];

/** Lines as they were before they were broken at 80 columns. */
const unbroken = (text: string) => text.replaceAll('\n  ', ' ');

const ENDS =
	/^overhead: peak cost [\d.]+ % of one CPU, above --max-overhead 0\.01( \(0\.\d+ % for\s+\d+ CPUs\))?:\s+tracing\s+stops$/m;
/** Enough to trace; not to measure what programs cost, which takes CAP_SYS_ADMIN. */
const ONLY_TRACING = ['setpriv', '--bounding-set=-all,+bpf,+perfmon'];
const ORDINARY = ['setpriv', '--bounding-set=-all'];

/** Each line about the overhead, and what of it was broken. */
function fits80Columns(stderr: string): void {
	for (const [said] of stderr.matchAll(/^overhead:.*\n( {2}.*\n)*/gm)) {
		for (const line of said.split('\n')) assert.ok(line.length <= 80, line);
	}
}

/** Traces the storm until the tool ends by itself; a result must be there, and nothing left. */
async function traceStorm(args: readonly string[], env = {}): Promise<Finished> {
	const before = kernelObjects();
	const storm = await Workload.start('storm', '0');
	storm.begin();
	try {
		const finished = await Tracing.begin([...args, '-p', `${storm.pid}`], env).end();
		assert.equal(finished.status, 0, finished.stderr);
		fits80Columns(finished.stderr);
		// What was counted until then; of allocations none is outstanding.
		const something = args.includes('--json')
			? sawSomething(finished.stdout)
			: finished.stdout !== '';
		if (args[0] !== 'memleak') assert.ok(something);
		await untilReleased(before);
		return finished;
	} finally {
		await storm.end();
	}
}

for (const tool of ['runqlat', 'syscount', 'schedlat', 'timehist']) {
	test(`${tool} cannot trace less, and ends; so says the result`, async () => {
		const { stdout, stderr } = await traceStorm([tool, '--json', ...LITTLE]);
		assert.match(unbroken(stderr), ENDS);
		assert.equal(reportsOf(stdout).at(-1)?.ended, 'max_overhead');
	});
}

test('offcputime samples more rarely, until that is not possible', async () => {
	const { stderr } = await traceStorm(['offcputime', '--period', '100', ...LITTLE]);
	assert.match(unbroken(stderr), /^overhead: .*: tstrace now samples waits shorter than 400 us$/m);
	assert.match(unbroken(stderr), /: tracing stops$/m);
});

test('memleak begins to sample', async () => {
	const { stderr } = await traceStorm(['memleak', ...LITTLE]);
	assert.match(
		unbroken(stderr),
		/^overhead: .*: tstrace now keeps about one allocation per 65,536 B$/m,
	);
});

test('profile lowers its frequency, and each sample counts for more', async () => {
	const storm = await Workload.start('storm', '0');
	storm.begin();
	try {
		const args = ['profile', '-F', '1024', ...LITTLE, '-p', `${storm.pid}`];
		const tracing = await Tracing.start(args);
		await tracing.says(
			/tstrace\s+now\s+samples\s+256\s+times\s+a\s+second;\s+each\s+sample\s+counts\s+as\s+4$/m,
		);
		assert.equal((await tracing.end('SIGINT')).status, 0);
	} finally {
		await storm.end();
	}
});

test('profile ends when a sample a second is too much; its JSON says what it was asked for', async () => {
	const args = ['profile', '-e', 'cpu-clock', '-F', '1024', '--json', ...LITTLE];
	// A sample a second is too little for that: it is by what tstrace itself takes.
	const finished = await traceStorm(args, importing('works'));
	assert.match(unbroken(finished.stderr), ENDS);
	const { frequency_hz, slowed_by, stacks } = stackReport(finished);
	assert.deepEqual([frequency_hz, slowed_by], [1024, 1024]);
	const more = stacks.filter(({ value, count }) => value > count);
	assert.notDeepEqual(more, [], 'samples that count for more than one');
});

test('memleak in JSON: from how many bytes one is kept, and what its probes cost', async () => {
	const { stdout } = await traceStorm(['memleak', '--json', ...LITTLE]);
	const { sample_bytes = 0, cost } = reportsOf(stdout)[0] ?? assert.fail(stdout);
	assert.ok(sample_bytes >= 65_536, `${sample_bytes}`);
	assert.ok(cost.own_ns > 0);
	const { bpf_runs, trap_ns } = cost;
	assert.ok(bpf_runs !== null && trap_ns !== null && trap_ns > 500 * bpf_runs);
});

test('COMMAND goes on untraced, and its exit status is the one', async () => {
	const command = ['sh', '-c', `${resolve('build/workloads/storm')} 0; exit 7`];
	const tracing = await Tracing.start(['syscount', '--follow', ...LITTLE, '--', ...command]);
	tracing.tell('x');
	await tracing.says(/^cost: plus [\d.]+ % for tstrace itself$/m);
	assert.match(unbroken(tracing.stderr), ENDS);
	tracing.tell('x');
	assert.equal((await tracing.end()).status, 7);
});

test('-q: nothing is said, and it ends all the same', async () => {
	const { stderr } = await traceStorm(['runqlat', '-q', ...LITTLE]);
	assert.doesNotMatch(stderr, /overhead|cost/);
});

for (const [what, by, args, unseen] of [
	[
		'without CAP_SYS_ADMIN',
		ONLY_TRACING,
		['timehist'],
		/not\s+the\s+time\s+of\s+its\s+BPF\s+programs;.*run\s+tstrace\s+as\s+root/s,
	],
	[
		'an ordinary user',
		ORDINARY,
		['profile'],
		/not the kernel's time for samples;.*run\s+tstrace\s+as\s+root/s,
	],
] as const) {
	test(`${what}: own CPU time is limited, and that this is all is said once`, async () => {
		const command = [resolve('build/workloads/storm'), '0'];
		const words = [...args, ...LITTLE, '--', ...command];
		const tracing = await Tracing.start(words, importing('works'), by);
		tracing.tell('x');
		await tracing.says(/^cost: [\d.]+ % of one CPU for tstrace itself;/m);
		tracing.tell('x');
		const { status, stderr } = await tracing.end();
		assert.equal(status, 0, stderr);
		fits80Columns(stderr);
		assert.match(unbroken(stderr), ENDS);
		assert.match(unbroken(stderr), unseen);
		assert.equal(stderr.match(/counts tstrace's own CPU time only/g)?.length, 1);
	});
}

test('without a limit there is a warning only', async () => {
	// On each CPU, as the limit is per CPU.
	const storms = await Promise.all(onlineCpus().map((cpu) => Workload.start('storm', `${cpu}`)));
	for (const storm of storms) storm.begin();
	try {
		const pids = storms.map(({ pid }) => pid).join();
		const tracing = await Tracing.start(['offcputime', '--exact', '-p', pids]);
		await tracing.says(
			/^overhead: tracing takes [\d.]+ % of one CPU, more than \d+ %;\s+to\s+limit\s+it,\s+use\s+--max-overhead\s+PCT$/m,
		);
		const { status, stdout } = await tracing.end('SIGINT');
		assert.equal(status, 0);
		assert.match(stdout, /storm/);
	} finally {
		for (const storm of storms) await storm.end();
	}
});

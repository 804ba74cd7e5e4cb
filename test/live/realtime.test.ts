/** On a PREEMPT_RT kernel whose ring buffer can sleep, what would freeze the machine is refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entriesOf, writtenTo } from './held-maps.js';
import { SCRIPT } from './javascript.js';
import { kernelObjects, untilReleased } from './kernel-objects.js';
import { importing, Tracing, tstrace, until, Workload } from './support.js';

const REALTIME = importing('seems-realtime');

test('what writes to a ring buffer refuses before anything is loaded, and says what to use', async () => {
	const before = kernelObjects();
	const cases = [
		{ args: ['timehist', '1'], says: /^tstrace timehist: .*lock.*; use schedlat or offcputime/ },
		{ args: ['timehist', '-w', '-M', '1'], says: /^tstrace timehist: .*freeze/ },
		{ args: ['trace', '1'], says: /^tstrace trace: .*freeze.*; use syscount, or strace/ },
		{ args: ['why', '1'], says: /^tstrace why: .*freeze.*; use offcputime/ },
		{ args: ['offwaketime', '--hops', '2', '1'], says: /^tstrace offwaketime: .*freeze/ },
		{
			args: ['runqlat', '--slower', '1', '1'],
			says: /^tstrace runqlat: --slower could freeze .*; use histograms/,
		},
	];
	for (const { args, says } of cases) {
		const { status, stdout, stderr } = tstrace(args, REALTIME);
		assert.equal(status, 1, stderr);
		assert.equal(stdout, '');
		assert.match(stderr, says);
		assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
	}
	await untilReleased(before);
});

test('tools without a ring buffer run, with it too', () => {
	for (const args of [
		['runqlat', '0.1', '1'],
		['schedlat', '0.1', '1'],
		['offcputime', '0.1'],
	]) {
		const { status, stderr } = tstrace(args, REALTIME);
		assert.equal(status, 0, stderr);
	}
	// They ask for unwind tables by a ring buffer.
	const { stderr } = tstrace(['offcputime', '-v', '0.1'], REALTIME);
	assert.match(stderr, /walks user stacks by frame pointers: this kernel is PREEMPT_RT/);
	assert.doesNotMatch(stderr, /has read the unwind tables/);
});

test('programs write to no ring, also where stacks have functions of a runtime', async () => {
	const workload = await Workload.startBy(process.execPath, SCRIPT);
	const trace = (env = {}) =>
		Tracing.start(['offcputime', '--exact', '-p', `${workload.pid}`, '60'], env);
	const elsewhere = await trace();
	await until(() => (writtenTo(elsewhere.pid).get('function_stacks') ?? 0) > 0);
	await elsewhere.end('SIGINT');
	const here = await trace(REALTIME);
	// As many stacks are kept as it has places where it waits.
	await until(() => (entriesOf(here.pid).get('stacks') ?? 0) > 10);
	const written = writtenTo(here.pid);
	await here.end('SIGINT');
	await workload.end();
	assert.ok(written.has('function_stacks'));
	assert.deepEqual(
		[...written].filter(([, bytes]) => bytes > 0),
		[],
	);
});

test('doctor says so, of the kernel and of timehist', () => {
	const { status, stdout } = tstrace(['doctor', '--json'], REALTIME);
	assert.equal(status, 1);
	const { checks, tools } = JSON.parse(stdout) as {
		checks: { name: string; state: string; found: string; costs: string | null }[];
		tools: { name: string; runs: boolean; why: string | null }[];
	};
	const ring = checks.find(({ name }) => name === 'ring buffer');
	assert.equal(ring?.state, 'missing');
	assert.match(ring?.costs ?? '', /could freeze the machine, and refuses to run/);
	const refused = tools.filter(({ why }) => /freeze/.test(why ?? ''));
	assert.deepEqual(
		refused.map(({ name, runs }) => [name, runs]),
		[
			['timehist', false],
			['trace', false],
			['why', false],
		],
	);
});

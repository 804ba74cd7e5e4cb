/** syscount of so many threads that some find the place for their call's time taken. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Row, rowsOf } from './calls.js';
import { entriesOf } from './held-maps.js';
import { reportsOf } from './reports.js';
import { traceWork } from './stacks.js';
import { Tracing, until, Workload } from './support.js';

/** Of 16,384 places (bpf/lib/syscount/times.h) hardly any is wanted by two: threads that begin together are spread. */
const THREADS = 2000;
const ROUNDS = 3;
const NAP_USEC = 200_000;

test(`${THREADS} threads in a call at the same time: each call is counted, and takes as long as it does`, async () => {
	const workload = await Workload.start('crowd', `${THREADS}`, `${ROUNDS}`, `${NAP_USEC}`);
	const args = ['syscount', '--json', '--latency', '--hist', 'clock_nanosleep'];
	const { finished, done } = await traceWork(workload, [...args, '-p', `${workload.pid}`]);
	const sleeps = rowsOf(finished).find(({ syscall }) => syscall === 'clock_nanosleep') as Row;
	assert.equal(sleeps.calls, THREADS * ROUNDS);
	// The call that the workload was in as tracing began, and no other.
	assert.deepEqual(reportsOf(finished.stdout)[0]?.lost, { call_start_unknown: 1 });
	const [least_ns = 0] = done;
	assert.ok(sleeps.total_ns >= least_ns, `${sleeps.total_ns} ns of ${least_ns}`);
	const [[shortest_ns] = [0]] = sleeps.buckets;
	assert.ok(shortest_ns >= NAP_USEC * 1000 * (1 - 1 / 32), 'each of them took so long');
	assert.equal(
		sleeps.buckets.reduce((sum, [, , count]) => sum + count, 0),
		THREADS * ROUNDS,
	);
});

/** More threads than places: these are without one wherever the kernel has put the threads' stacks. */
const WITHOUT_PLACE = 1000;
const CROWD = 16_384 + WITHOUT_PLACE;
/** How often to look: it takes a while itself. */
const LOOK_MS = 200;

test('calls whose place another thread has are kept apart: those that have returned no longer', async () => {
	const workload = await Workload.start('crowd', `${CROWD}`, `${ROUNDS}`, `${5 * NAP_USEC}`);
	const tracing = await Tracing.start(['syscount', '--json', '--latency', '-p', `${workload.pid}`]);
	const apart = () => entriesOf(tracing.pid).get('calls_displaced') ?? assert.fail('no such map');
	workload.begin();
	await until(() => apart() > WITHOUT_PLACE / 2);
	await workload.done();
	// The call of its first thread, which waits to be told to end.
	await until(
		() => apart() <= 1,
		() => `${apart()} entries`,
		LOOK_MS,
	);
	const { status, stderr } = await tracing.end('SIGINT');
	assert.equal(status, 0, stderr);
	await workload.end();
});

test('of threads that have ended no place stays taken, also where all are traced', async () => {
	const ENDED = 300;
	const workload = await Workload.start('crowd', `${ENDED}`, '1', '1000');
	const tracing = await Tracing.start(['syscount', '--json', '--latency']);
	const taken = () => entriesOf(tracing.pid, ['call_places']).get('call_places') ?? 0;
	const before = taken();
	await workload.work();
	// Others come and go meanwhile.
	await until(
		() => taken() < before + ENDED / 3,
		() => `${taken()} places, ${before} before`,
		LOOK_MS,
	);
	await tracing.end('SIGINT');
	await workload.end();
});

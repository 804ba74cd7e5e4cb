/** Traced threads that others wait for, and a thread that was in one wait all the time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verdictOf } from '../../../../src/tools/why/verdict.js';
import {
	answerTo,
	blocked,
	interrupt,
	isNear,
	MS,
	SECOND,
	STACK_OF,
	sample,
	stack,
	thread,
	waker,
} from './support.js';

const serverKey = (tid: number, comm = 'server') => ({ context: 'thread', pid: 90, tid, comm });

test('followed are all threads of the name that was waited for most', () => {
	const server = (tid: number) => waker('ran', 'serve', { key: serverKey(tid) });
	const other = waker('ran', 'log', { key: serverKey(95, 'logger') });
	const { followed } = answerTo({
		threads: [
			thread(10 * SECOND),
			thread(10 * SECOND, 0, { tid: 72 }),
			thread(10 * SECOND, 0, { tid: 73 }),
			thread(10 * SECOND, 4 * SECOND, { pid: 90, tid: 91, comm: 'server' }),
			thread(10 * SECOND, 2 * SECOND, { pid: 90, tid: 92, comm: 'server' }),
			thread(10 * SECOND, 0, { pid: 90, tid: 95, comm: 'logger' }),
		],
		samples: [
			sample('serve', 2, { pid: 90, tid: 91, comm: 'server' }),
			sample('serve', 1, { pid: 90, tid: 92, comm: 'server' }),
		],
		blocked: [
			blocked('main ask (pthread_cond_wait) | futex_wait', 3 * SECOND, { waker: server(91) }),
			blocked('main ask (pthread_cond_wait) | futex_wait', 2 * SECOND, {
				key: { tid: 72 },
				waker: server(92),
			}),
			blocked('main put (pthread_cond_wait) | futex_wait', 4 * SECOND, {
				key: { tid: 73 },
				waker: other,
			}),
			blocked(STACK_OF['socket accept'], 5 * SECOND, {
				key: { pid: 90, tid: 91, comm: 'server' },
			}),
			blocked(STACK_OF['socket accept'], 1 * SECOND, {
				key: { pid: 90, tid: 92, comm: 'server' },
			}),
			blocked(STACK_OF['socket accept'], 500 * MS, {
				key: { pid: 90, tid: 95, comm: 'logger' },
			}),
		],
	});
	assert.deepEqual(followed, {
		comm: 'server',
		servers: 2,
		idle_ns: 6 * SECOND,
		waiters: 2,
		total_ns: 5 * SECOND,
		function: 'ask',
	});
});

test('behind a thread that is not traced, the traced one is who is followed', () => {
	const between = waker('was blocked', STACK_OF.condition, {
		key: { context: 'thread', pid: 50, tid: 51, comm: 'between' },
		waker: waker('ran', 'serve', { key: serverKey(91) }),
	});
	const { followed, following_ns } = answerTo({
		threads: [
			thread(10 * SECOND),
			thread(10 * SECOND, SECOND, { pid: 90, tid: 91, comm: 'server' }),
		],
		samples: [sample('serve', 2, { pid: 90, tid: 91, comm: 'server' })],
		blocked: [
			blocked(STACK_OF.condition, 3 * SECOND, { waker: between }),
			blocked(STACK_OF['socket accept'], 2 * SECOND, {
				key: { pid: 90, tid: 91, comm: 'server' },
			}),
		],
	});
	assert.equal(following_ns, 3 * SECOND);
	assert.equal(followed?.comm, 'server');
	assert.equal(followed?.servers, 1);
	assert.equal(followed?.idle_ns, 2 * SECOND);
});

test('nobody is followed where nobody waits for a traced thread', () => {
	const alone = answerTo({
		threads: [thread(10 * SECOND)],
		blocked: [
			blocked(STACK_OF.condition, 3 * SECOND, { waker: waker('ran') }),
			blocked(STACK_OF.poll, SECOND, { waker: interrupt({ context: 'softirq', irq: 'network' }) }),
		],
	});
	assert.equal(alone.followed, undefined);
	assert.equal(alone.following_ns, 0);
});

/** Threads that were each in one wait, of so many seconds, all the time. */
function stays(...waits: readonly (readonly [frames: string, seconds: number])[]) {
	return answerTo({
		threads: waits.map((_, at) => thread(10 * SECOND, 0, { tid: 71 + at })),
		blocked: waits.map(([frames, seconds], at) =>
			blocked(frames, seconds * SECOND, { open: true, key: { tid: 71 + at } }),
		),
	}).stays?.largest;
}

test('of threads that stayed, the one that waited longest is told, of those that may have work', () => {
	const stayed = stays(
		[STACK_OF.poll, 10],
		[STACK_OF.sleep, 9.85],
		[STACK_OF.child, 9.95],
		[STACK_OF['socket receive'], 9.9],
	);
	assert.equal(stayed?.kind, 'child');
	assert.ok(isNear(stayed?.value_ns ?? 0, 9.95 * SECOND));
	assert.deepEqual(stayed?.row.frames, stack(STACK_OF.child));
	assert.equal(stays([STACK_OF.stopped, 10])?.kind, 'stopped');
	assert.equal(stays([STACK_OF['socket receive'], 10])?.kind, 'socket receive');
});

test('an event loop, a condition variable or a pipe that stays is a service without work', () => {
	for (const kind of ['poll', 'condition', 'pipe', 'futex', 'event', 'unix socket'] as const)
		assert.equal(stays([STACK_OF[kind], 10]), undefined, kind);
	assert.equal(stays([STACK_OF.sleep, 9.7]), undefined);
	assert.equal(stays(), undefined);
});

test('threads that stayed, beside those that worked: the longest, and how many more', () => {
	const text = (count: number) =>
		verdictOf(
			answerTo({
				threads: [60, ...Array.from({ length: count }, (_, at) => 71 + at)].map((tid) =>
					thread(10 * SECOND, 0, { tid }),
				),
				blocked: [
					blocked(STACK_OF['disk read'], 9 * SECOND, { count: 30, key: { tid: 60 } }),
					...Array.from({ length: count }, (_, at) =>
						blocked(STACK_OF['socket receive'], 10 * SECOND, { open: true, key: { tid: 71 + at } }),
					),
				],
			}),
		).text;
	assert.match(text(3), /Besides, .* all the time, in receive, and so did 2 more: if these should/);
	assert.match(text(1), /Besides, .* all the time, in receive: if these should/);
});

/** The account: where threads were, in lines, and how long single waits were. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketOf, middleOf } from '../../../../src/aggregate/buckets.js';
import type { Histogram } from '../../../../src/aggregate/histogram.js';
import type { WaitObject } from '../../../../src/aggregate/wait-object.js';
import {
	answerTo,
	blocked,
	childOf,
	file,
	forCpu,
	futex,
	isNear,
	MS,
	pipe,
	SECOND,
	STACK_OF,
	sample,
	tcp,
	thread,
	waker,
	weighed,
} from './support.js';

test('the account has a line for each place, kind and object, the largest first', () => {
	const answer = answerTo({
		threads: [thread(10 * SECOND, SECOND), thread(5 * SECOND, SECOND, { tid: 72 })],
		samples: [
			...[sample('main a', 3), sample('main b', 1)],
			sample('main b | ksys_read', 4, { tid: 72 }),
		],
		blocked: [
			blocked(STACK_OF['disk read'], 3 * SECOND, { objects: [[file('/a'), 3 * SECOND]] }),
			blocked('other way | ksys_read vfs_read io_schedule', SECOND, {
				count: 4,
				objects: [[file('/a'), SECOND]],
				key: { tid: 72 },
			}),
			blocked(STACK_OF['disk read'], 2 * SECOND, { objects: [[file('/b'), 2 * SECOND]] }),
			blocked(STACK_OF['socket accept'], 1.5 * SECOND),
		],
		forCpu: [forCpu('run queue', 250 * MS), forCpu('run queue', 500 * MS, { tid: 72, count: 2 })],
	});
	const lines = answer.account.map(({ place, kind, object, total_ns, count }) => [
		[place, kind, object].join(' ').trim(),
		total_ns / MS,
		count,
	]);
	assert.deepEqual(lines, [
		['not seen', 4750, 0],
		['waiting disk read /a', 4000, 5],
		['waiting disk read /b', 2000, 1],
		['idle socket accept', 1500, 1],
		['running in its own code', 1000, 4],
		['running in the kernel', 1000, 4],
		['runnable run queue', 750, 3],
	]);
	assert.equal(answer.wall_ns, 15 * SECOND);
	assert.equal(answer.idle_ns, 1.5 * SECOND);
	assert.equal(answer.unseen_ns, 4.75 * SECOND);
	assert.equal(answer.working_ns, 8.75 * SECOND);
	assert.equal(answer.following_ns, 0);
	assert.equal(answer.samples, 8);
	assert.equal(answer.target, '-p 70');
});

test('what follows is a line of its own, and neither idle nor working', () => {
	const answer = answerTo({
		threads: [thread(4 * SECOND), thread(SECOND, SECOND, { pid: 90, tid: 91, comm: 'server' })],
		blocked: [
			blocked(STACK_OF.condition, 3 * SECOND, { waker: waker('ran') }),
			blocked(STACK_OF.condition, 0.5 * SECOND, {
				waker: waker('ran', '', { key: { context: 'thread', pid: 8, tid: 9, comm: 'far' } }),
			}),
			blocked(STACK_OF.condition, 0.25 * SECOND),
		],
	});
	const lines = answer.account.map(({ place, follows, total_ns }) => [place, follows, total_ns]);
	assert.deepEqual(lines, [
		['waiting', true, 3 * SECOND],
		['running', false, SECOND],
		['waiting', false, 0.5 * SECOND],
		['idle', false, 0.25 * SECOND],
		['not seen', false, 0.25 * SECOND],
	]);
	assert.equal(answer.following_ns, 3 * SECOND);
	assert.equal(answer.working_ns, 1.5 * SECOND);
	assert.equal(answer.idle_ns, 0.25 * SECOND);
});

test('errors add up as their squares do', () => {
	const { account } = answerTo({
		// The rest was not seen: nothing is fitted.
		threads: [thread(100 * SECOND)],
		blocked: [
			blocked(STACK_OF.lock, SECOND, { variance: 9e12 }),
			blocked('main other (pthread_mutex_lock) | futex_wait', SECOND, { variance: 16e12 }),
		],
	});
	const line = account.find(({ kind }) => kind === 'lock');
	assert.equal(line?.error_ns, 5e6);
	assert.equal(line?.total_ns, 2 * SECOND);
});

/** Of waits for a disk with these durations. */
function durationsOf(...durations: readonly Histogram[]) {
	const { account } = answerTo({
		threads: [thread(1000 * SECOND)],
		blocked: durations.map((each) =>
			blocked(STACK_OF['disk read'], 5 * SECOND, { durations: [each] }),
		),
	});
	return account.find(({ kind }) => kind === 'disk read')?.durations;
}

/** What a bucket is taken for. */
const middle = (ns: number) => middleOf(bucketOf(ns));

test('p50 and p99 are of waits, each by its weight; none is beyond the exact maximum or minimum', () => {
	// 100 waits: 60 of 1 ms, 38 of 7 ms, 2 of 900 ms.
	const told = durationsOf(weighed([1 * MS, 60], [7 * MS, 38], [900 * MS, 2]));
	assert.deepEqual(told, { p50: middle(1 * MS), p99: 900 * MS, max: 900 * MS });
	// 49 of 100 are not half of them.
	const later = durationsOf(weighed([1 * MS, 49], [7 * MS, 50], [900 * MS, 1]));
	assert.deepEqual(later, { p50: middle(7 * MS), p99: middle(7 * MS), max: 900 * MS });
	assert.equal(durationsOf(weighed([1 * MS, 50], [7 * MS, 50]))?.p50, middle(1 * MS));
});

test('a sampled wait counts for as many as it stands for, fractions too', () => {
	const told = durationsOf(weighed([3000, 1000.5], [20 * MS, 9], [40 * MS, 0.5]));
	assert.deepEqual(told, { p50: 3000, p99: 3000, max: 40 * MS });
	const more = durationsOf(weighed([3000, 1000.5], [20 * MS, 29], [40 * MS, 0.5]));
	assert.equal(more?.p99, middle(20 * MS));
});

test('a single wait is its own p50 and p99, exactly', () => {
	const ns = 1_234_567_891;
	assert.deepEqual(durationsOf(weighed([ns, 1])), { p50: ns, p99: ns, max: ns });
	const huge = 2 ** 53;
	assert.deepEqual(durationsOf(weighed([huge, 1])), { p50: huge, p99: huge, max: huge });
	assert.deepEqual(durationsOf(weighed([0, 3])), { p50: 0, p99: 0, max: 0 });
});

test('waits that several rows are parts of count once; those of other rows are added', () => {
	const shared = weighed([5 * MS, 10]);
	const told = durationsOf(shared, shared, weighed([80 * MS, 11]));
	assert.equal(told?.p50, 80 * MS);
	assert.equal(told?.max, 80 * MS);
	assert.deepEqual(durationsOf(), undefined);
});

/** As the account calls an object of a wait of that kind. */
function called(frames: string, object: WaitObject): string | undefined {
	const { account } = answerTo({
		threads: [thread(10 * SECOND)],
		blocked: [blocked(frames, SECOND, { objects: [[object, SECOND]], waker: waker('ran') })],
	});
	return account.find(({ place }) => place !== 'not seen')?.object;
}

test('children of a name are one object, whatever their numbers', () => {
	const { account } = answerTo({
		threads: [thread(10 * SECOND)],
		blocked: [1, 2, 3].map((pid) =>
			blocked(STACK_OF.child, SECOND, {
				objects: [[childOf(pid < 3 ? 'cc1' : 'as', pid), SECOND]],
			}),
		),
	});
	const lines = account.filter(({ place }) => place === 'waiting');
	assert.deepEqual(
		lines.map(({ object, total_ns }) => [object, total_ns / SECOND]),
		[
			['child cc1', 2],
			['child as', 1],
		],
	);
});

test('condition variables of one array are one object; locks of one are several', () => {
	assert.equal(called(STACK_OF.condition, futex('slots+0x58')), 'slots');
	assert.equal(called(STACK_OF.condition, futex('slots')), 'slots');
	assert.equal(called(STACK_OF.lock, futex('slots+0x58')), 'slots+0x58');
	assert.equal(called(STACK_OF.futex, futex('slots+0x58')), 'slots+0x58');
});

test('who has a lock now does not tell locks apart', () => {
	const owner = { tid: 712, comm: 'writer' };
	assert.equal(called(STACK_OF.lock, futex('table_lock', { owner })), 'table_lock');
});

test('memory without a name is none; what a name begins with is', () => {
	for (const name of ['heap', 'stack', 'anonymous memory', '[anon: pool]', ''])
		for (const frames of [STACK_OF.lock, STACK_OF.condition])
			assert.equal(called(frames, futex(name)), '', name);
	for (const name of ['heap_lock', 'stacks', 'my heap'])
		assert.equal(called(STACK_OF.lock, futex(name)), name);
});

test('the interpreter lock is called what it is, and what is not known is not called anything', () => {
	const gil = 'of the Python interpreter (GIL)';
	assert.equal(called(STACK_OF.condition, futex('_PyRuntime+0x5a8')), gil);
	assert.equal(called(STACK_OF['disk read'], { type: 'unknown', why: 'no room' }), '');
	assert.equal(called(STACK_OF.pipe, pipe('read')), 'pipe read');
	assert.equal(called(STACK_OF['socket receive'], tcp()), 'tcp 10.0.0.2:9');
});

test('nothing at all is an account of nothing', () => {
	const { account, reasons, sufferers, stays, followed, mutual, pools, ...numbers } = answerTo({
		window_ns: 0,
		target: '',
	});
	assert.deepEqual([account, reasons, sufferers, pools], [[], [], [], []]);
	assert.deepEqual([stays, followed, mutual], [undefined, undefined, undefined]);
	const { target, threads, isThere: _, lockHolders: __, machine: ___, ...sums } = numbers;
	assert.deepEqual([target, threads], ['', []]);
	assert.ok(Object.values(sums).every((sum) => sum === 0));
});

test('lives of 2^53 ns, and parts of one, add up', () => {
	const { account, wall_ns } = answerTo({
		threads: [thread(2 ** 53, 1), thread(2 ** 53, 2 ** 52, { tid: 72 })],
		samples: [sample('main a', 1)],
		blocked: [blocked(STACK_OF.lock, 2 ** 52), blocked(STACK_OF.sleep, 1)],
	});
	assert.equal(wall_ns, 2 ** 54);
	assert.ok(
		isNear(
			account.reduce((sum, { total_ns }) => sum + total_ns, 0),
			2 ** 54,
		),
	);
});

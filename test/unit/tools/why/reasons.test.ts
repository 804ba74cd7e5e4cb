/** Why threads did not get on: what is one reason, in which order, and who was behind it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Waker } from '../../../../src/aggregate/stack-rows.js';
import type { Reason } from '../../../../src/tools/why/reasons.js';
import {
	answerTo,
	blocked,
	file,
	forCpu,
	futex,
	interrupt,
	isNear,
	nobody,
	SECOND,
	STACK_OF,
	sample,
	thread,
	waker,
} from './support.js';

const named = (reasons: readonly Reason[]) =>
	reasons.map(({ place, kind, object, functions }) =>
		[place, kind, object, functions.map(({ name }) => name).join('+')].join(' '),
	);

/** A lock of the function `name`. */
const lockIn = (name: string) => `main ${name} (pthread_mutex_lock) | futex_wait`;

test('CPU time is one reason, with its functions; so is the lack of a CPU, and a quota is another', () => {
	const { reasons } = answerTo({
		threads: [thread(20 * SECOND, 8 * SECOND)],
		samples: [sample('main a', 1), sample('main b', 5), sample('main a | ksys_read', 2)],
		forCpu: [
			forCpu('run queue', SECOND),
			forCpu('run queue', 2 * SECOND, { tid: 72 }),
			forCpu('preempted', 3.5 * SECOND),
			forCpu('CPU quota', 1.25 * SECOND, { tid: 73 }),
		],
	});
	assert.deepEqual(named(reasons), [
		'running on CPU  b+a',
		'runnable preempted  b',
		'runnable CPU quota  b',
	]);
	assert.equal(reasons[0]?.total_ns, 8 * SECOND);
	assert.equal(reasons[1]?.total_ns, 6.5 * SECOND);
	assert.deepEqual(
		reasons[1]?.threads.map(({ tid, total_ns }) => [tid, total_ns]),
		[
			[71, 4.5 * SECOND],
			[72, 2 * SECOND],
		],
	);
});

test('waits for one object are one reason wherever they are; without a name the function tells them apart', () => {
	const { reasons } = answerTo({
		threads: [thread(100 * SECOND)],
		blocked: [
			blocked(lockIn('take'), 5 * SECOND, { objects: [[futex('table'), 5 * SECOND]] }),
			blocked(lockIn('give'), 2 * SECOND, { objects: [[futex('table'), 2 * SECOND]] }),
			blocked(lockIn('take'), 4 * SECOND, { objects: [[futex('heap'), 4 * SECOND]] }),
			blocked(lockIn('give'), 3 * SECOND, { objects: [[futex('heap'), 3 * SECOND]] }),
			blocked(lockIn('give'), 0.5 * SECOND),
		],
	});
	assert.deepEqual(named(reasons), [
		'waiting lock table take+give',
		'waiting lock  take',
		'waiting lock  give',
	]);
	assert.equal(reasons[2]?.total_ns, 3.5 * SECOND);
});

test('idle waits, and those for traced threads, are no reason', () => {
	const { reasons, sufferers } = answerTo({
		threads: [thread(100 * SECOND), thread(SECOND, 0, { pid: 90, tid: 91 })],
		blocked: [
			blocked(STACK_OF['socket accept'], 50 * SECOND),
			blocked(STACK_OF.condition, 40 * SECOND, { waker: waker('ran') }),
			blocked(STACK_OF.sleep, 2 * SECOND),
		],
	});
	assert.deepEqual(named(reasons), ['waiting sleep  nap']);
	assert.deepEqual(sufferers, [{ pid: 70, tid: 71, comm: 'worker', total_ns: 2 * SECOND }]);
});

test('the worst stack is the costliest one in which a function has a name', () => {
	const { reasons } = answerTo({
		threads: [thread(100 * SECOND)],
		blocked: [
			blocked('| ksys_read vfs_read io_schedule', 9 * SECOND, { objects: [[file('/a'), 9e9]] }),
			blocked('main x | ksys_read vfs_read io_schedule', SECOND, { objects: [[file('/a'), 1e9]] }),
			blocked('main y | ksys_read vfs_read io_schedule', 2 * SECOND, {
				objects: [[file('/a'), 2e9]],
			}),
		],
	});
	assert.deepEqual(named(reasons), ['waiting disk read /a +y+x']);
	assert.equal(reasons[0]?.worst.row.frames[1]?.name, 'y');
});

test('the object is the one that says who has the lock', () => {
	const owner = { tid: 5, comm: 'holder' };
	const { reasons } = answerTo({
		threads: [thread(100 * SECOND)],
		blocked: [
			blocked(lockIn('take'), 5 * SECOND, { objects: [[futex('m'), 5 * SECOND]] }),
			blocked(lockIn('give'), SECOND, { objects: [[futex('m', { owner }), SECOND]] }),
		],
	});
	assert.equal(reasons.length, 1);
	assert.deepEqual(reasons[0]?.of, futex('m', { owner }));
});

/** CPU time in these functions, and one wait, of 100 s. */
function order(samples: readonly (readonly [name: string, count: number])[], lock_s: number) {
	const run_ns = samples.reduce((sum, [, count]) => sum + count, 0) * SECOND;
	const { reasons } = answerTo({
		threads: [thread(1000 * SECOND, run_ns)],
		samples: samples.map(([name, count]) => sample(`main ${name}`, count)),
		blocked: [
			blocked(lockIn('take'), lock_s * SECOND),
			blocked(STACK_OF.sleep, 10 * SECOND),
			blocked(STACK_OF['disk read'], 9 * SECOND),
		],
	});
	return reasons.map(({ kind }) => kind);
}

test('CPU time comes first if it is half of all, or one of its functions is as large as the wait', () => {
	const cpu = ['on CPU', 'lock', 'sleep', 'disk read'];
	const lock = ['lock', 'on CPU', 'sleep', 'disk read'];
	const spread = (count: number) => [...'abcd'].map((name) => [name, count] as const);
	// 48 of 99, and 52 of 103: just less than half, and just more.
	assert.deepEqual(order(spread(12), 32), lock);
	assert.deepEqual(order(spread(13), 32), cpu);
	const uneven = (most: number) => [['hot', most], ...spread(3)] as const;
	assert.deepEqual(order(uneven(20), 21), lock);
	assert.deepEqual(order(uneven(21), 21), cpu);
	assert.deepEqual(order(spread(2), 32), ['lock', 'sleep', 'disk read', 'on CPU']);
});

/** One reason of 100 s that these ended, each after so many seconds. */
function culprits(...by: readonly (readonly [waker: Waker | undefined, seconds: number])[]) {
	const { reasons } = answerTo({
		threads: [thread(100 * SECOND)],
		blocked: by.map(([who, seconds]) =>
			blocked(STACK_OF.lock, seconds * SECOND, who ? { waker: who } : {}),
		),
	});
	assert.equal(reasons.length, 1);
	return (reasons[0]?.culprits ?? []).map(({ links, total_ns }) => [
		links.map(({ comm, did, function: name }) => `${comm}: ${did} ${name}`).join(' < '),
		total_ns / SECOND,
	]);
}

const by = (comm: string, tid: number, name: string, rest: Partial<Waker> = {}) =>
	waker('ran', `main ${name}`, { key: { context: 'thread', pid: 90, tid, comm }, ...rest });

test('culprits are the last in their chains, by name, whatever their numbers, with the costliest way', () => {
	const lock = waker('was blocked', lockIn('hold'), {
		key: { context: 'thread', pid: 95, tid: 96, comm: 'middle' },
		waker: by('cache', 93, 'fill'),
	});
	assert.deepEqual(
		culprits(
			[by('cache', 91, 'fill'), 3],
			[by('disk', 94, 'sync'), 8],
			[by('cache', 92, 'evict'), 4],
			[lock, 2],
			[undefined, 1],
		),
		[
			['cache: ran fill', 9],
			['disk: ran sync', 8],
		],
	);
});

test('of ways that end alike, the one shown is that of the costliest part', () => {
	const through = (comm: string, tid: number) =>
		waker('was blocked', lockIn('hold'), {
			key: { context: 'thread', pid: 95, tid, comm },
			waker: by('cache', 93, 'fill'),
		});
	assert.deepEqual(culprits([through('near', 1), 3], [through('far', 2), 4]), [
		['far: was blocked hold < cache: ran fill', 7],
	]);
	assert.deepEqual(culprits([through('near', 1), 4], [through('far', 2), 3]), [
		['near: was blocked hold < cache: ran fill', 7],
	]);
});

test('who waits still was ended by nobody, which comes last, however long it is', () => {
	assert.deepEqual(culprits([nobody('[not woken yet]'), 50], [by('a', 91, 'f'), 1]), [
		['a: ran f', 1],
		['[not woken yet]: undefined ', 50],
	]);
	assert.deepEqual(
		culprits([interrupt({ context: 'softirq', irq: 'timer' }, '<softirq: timer>'), 5]),
		[['<softirq: timer>: undefined ', 5]],
	);
});

test('how much of a reason may as well be idle', () => {
	const key = { context: 'thread', pid: 8, tid: 9, comm: 'far' };
	const { reasons } = answerTo({
		threads: [thread(100 * SECOND)],
		blocked: [
			blocked(STACK_OF.condition, 3 * SECOND, { waker: waker(undefined, '', { key }) }),
			blocked(STACK_OF.condition, 4 * SECOND, { waker: waker('ran', '', { key }) }),
		],
	});
	assert.equal(reasons[0]?.total_ns, 7 * SECOND);
	assert.equal(reasons[0]?.undecided_ns, 3 * SECOND);
});

test('threads that suffer are by number, the longest first; running is no suffering', () => {
	const { sufferers, reasons } = answerTo({
		threads: [thread(100 * SECOND, 9 * SECOND)],
		samples: [sample('main', 5)],
		blocked: [
			blocked(STACK_OF.lock, 2 * SECOND),
			blocked(STACK_OF.sleep, 3 * SECOND, { key: { tid: 72, comm: 'other' } }),
			blocked(STACK_OF.lock, 1.5 * SECOND, { key: { comm: 'renamed' } }),
			blocked(STACK_OF.lock, SECOND, { key: { pid: 71, tid: 71, comm: 'twin' } }),
		],
		forCpu: [forCpu('run queue', 0.25 * SECOND)],
	});
	assert.deepEqual(sufferers, [
		{ pid: 70, tid: 71, comm: 'worker', total_ns: 3.75 * SECOND },
		{ pid: 70, tid: 72, comm: 'other', total_ns: 3 * SECOND },
		{ pid: 71, tid: 71, comm: 'twin', total_ns: SECOND },
	]);
	assert.ok(isNear(reasons[0]?.total_ns ?? 0, 9 * SECOND));
});

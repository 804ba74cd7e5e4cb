/** A window in its smallest parts: of what, of whom, and where. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WAIT_KINDS } from '../../../../src/aggregate/wait-kind-rules.js';
import type { Part } from '../../../../src/tools/why/parts.js';
import {
	blocked,
	file,
	forCpu,
	futex,
	isNear,
	MS,
	nobody,
	partsTo,
	pipe,
	SECOND,
	STACK_OF,
	sample,
	tcp,
	thread,
	waker,
} from './support.js';

const ofPlace = (parts: readonly Part[], place: Part['place']) =>
	parts.filter((part) => part.place === place);

test('running, ready, blocked and idle time is told apart, and the rest was not seen', () => {
	const { parts, wall_ns, unseen_ns } = partsTo({
		threads: [thread(10 * SECOND, 2 * SECOND), thread(3 * SECOND, 1 * SECOND, { tid: 72 })],
		blocked: [
			blocked(STACK_OF['disk read'], 500 * MS, { count: 5 }),
			blocked(STACK_OF['socket accept'], 4 * SECOND, { count: 7 }),
		],
		forCpu: [forCpu('preempted', 250 * MS, { count: 3 }), forCpu('CPU quota', 125 * MS)],
		samples: [sample('main calc', 3), sample('main calc | ksys_read', 1)],
	});
	assert.equal(wall_ns, 13 * SECOND);
	assert.ok(isNear(unseen_ns, 13 * SECOND - 3 * SECOND - 4875 * MS));
	const told = parts.map(({ place, kind, value_ns, count }) => [
		`${place}: ${kind}`,
		value_ns,
		count,
	]);
	assert.deepEqual(told, [
		['running: in its own code', 1.5 * SECOND, 3],
		['running: in the kernel', 0.5 * SECOND, 1],
		// Of the other thread there is no sample.
		['running: on CPU', SECOND, 0],
		['waiting: disk read', 500 * MS, 5],
		['idle: socket accept', 4 * SECOND, 7],
		['runnable: preempted', 250 * MS, 3],
		['runnable: CPU quota', 125 * MS, 1],
	]);
});

test('the error of CPU time is that of a share found by so many samples; where no time was, none', () => {
	const { parts } = partsTo({
		threads: [thread(10 * SECOND, 8 * SECOND)],
		samples: [sample('main a', 15), sample('main b', 5)],
	});
	// A quarter, and three quarters, of 20 samples: 8 s * sqrt(0.75 * 0.25 / 20).
	for (const { variance } of parts) assert.ok(isNear(Math.sqrt(variance), 774_596_669.2414834));
	const one = partsTo({ threads: [thread(SECOND, SECOND)], samples: [sample('main a', 9)] });
	assert.equal(one.parts[0]?.variance, 0);
});

test('without samples each thread tells how long it ran, without a stack', () => {
	const { parts } = partsTo({
		threads: [
			thread(SECOND, 300 * MS),
			thread(SECOND, 700 * MS, { pid: 60, tid: 61, comm: 'other' }),
		],
	});
	assert.deepEqual(
		parts.map(({ place, kind, value_ns, row }) => [place, kind, value_ns, row.key, row.frames]),
		[
			['running', 'on CPU', 300 * MS, { pid: 70, tid: 71, comm: 'worker' }, []],
			['running', 'on CPU', 700 * MS, { pid: 60, tid: 61, comm: 'other' }, []],
		],
	);
});

test('what waits for a CPU gets the stack that its thread runs in most, else its process, else none', () => {
	const { parts } = partsTo({
		threads: [thread(10 * SECOND, SECOND)],
		samples: [
			sample('main rare', 2),
			sample('main often', 5),
			sample('main elsewhere', 9, { tid: 72 }),
			sample('main foreign', 50, { pid: 80, tid: 81 }),
			sample('main between', 4),
		],
		forCpu: [
			forCpu('run queue', 10),
			forCpu('run queue', 20, { tid: 73 }),
			forCpu('run queue', 30, { tid: 72 }),
			forCpu('run queue', 40, { pid: 99, tid: 100 }),
		],
	});
	const of = ofPlace(parts, 'runnable').map(({ row }) => row.frames.map(({ name }) => name).at(-1));
	assert.deepEqual(of, ['often', 'elsewhere', 'elsewhere', undefined]);
});

test('what waits for a CPU runs in the function that has most samples, not in the stack that is most alike', () => {
	const scattered = ['a', 'b', 'c', 'd', 'e'].map((name) => sample(`main parse | ${name}`, 3));
	const many = Array.from({ length: 30 }, (_, i) => sample(`main step${i}`, 2, { tid: 72 }));
	const { parts } = partsTo({
		threads: [thread(10 * SECOND, SECOND)],
		samples: [sample('main load', 7), ...scattered, sample('main start', 9, { tid: 72 }), ...many],
		forCpu: [forCpu('run queue', 10), forCpu('run queue', 20, { tid: 72 })],
	});
	const of = ofPlace(parts, 'runnable').map(({ row }) => row.frames.map(({ name }) => name));
	// Of the second thread, the largest has 9 of 69 samples: it runs in many functions.
	assert.deepEqual(of, [['main', 'parse', 'a'], []]);
});

test('a row for several objects is one part for each, and one for what is not known', () => {
	const { parts } = partsTo({
		threads: [thread(SECOND)],
		blocked: [
			blocked(STACK_OF['disk read'], 100 * MS, {
				count: 10,
				variance: 400,
				objects: [
					[file('/a'), 60 * MS],
					[file('/b'), 30 * MS],
				],
			}),
		],
	});
	const scaled = parts.filter(({ place }) => place === 'waiting');
	assert.deepEqual(
		scaled.map(({ object }) => object),
		[file('/a'), file('/b'), undefined],
	);
	// Variance 400: 20 ns by chance; what is missing is far more, so that nothing is fitted.
	const values = scaled.map(({ value_ns, count, variance }) => [value_ns, count, variance]);
	for (const [at, [value, count, variance]] of [
		[60 * MS, 6, 144],
		[30 * MS, 3, 36],
		[10 * MS, 1, 4],
	].entries()) {
		const [a, b, c] = values[at] as [number, number, number];
		assert.ok(isNear(a, value as number) && isNear(b, count as number), `${at}: ${a} ${b}`);
		assert.ok(isNear(c, variance as number), `${at}: ${c}`);
	}
});

test('each object decides for itself whether its part is idle, and of which kind it is', () => {
	const { parts } = partsTo({
		threads: [thread(SECOND, 10)],
		blocked: [
			blocked(STACK_OF.poll, 90 * MS, {
				waker: waker('ran'),
				objects: [
					[tcp(), 50 * MS],
					[tcp({ accepted: true }), 30 * MS],
					[pipe('read'), 10 * MS],
				],
			}),
			blocked(STACK_OF.condition, 7 * MS, { objects: [[futex('_PyRuntime'), 7 * MS]] }),
		],
	});
	assert.deepEqual(
		parts
			.slice(1)
			.map(({ place, kind, value_ns }) => `${place}: ${kind} ${Math.round(value_ns / MS)}`),
		['waiting: poll 50', 'idle: poll 30', 'waiting: poll 10', 'waiting: lock 7'],
	);
});

test('what waited for a traced thread that had work follows; of short waits it is undecided', () => {
	const { parts } = partsTo({
		threads: [thread(SECOND), thread(SECOND, 0, { pid: 90, tid: 91 })],
		blocked: [
			blocked(STACK_OF.condition, 9 * MS, { waker: waker('ran') }),
			blocked(STACK_OF.condition, 8 * MS, {
				waker: waker(undefined, '', {
					key: { context: 'thread', pid: 90, tid: 92, comm: 'near' },
				}),
			}),
			blocked(STACK_OF.condition, 7 * MS, {
				waker: waker('ran', '', { key: { context: 'thread', pid: 91, tid: 91, comm: 'twin' } }),
			}),
		],
	});
	assert.deepEqual(
		parts.map(({ place, follows, undecided }) => [place, follows, undecided]),
		[
			['waiting', true, false],
			['waiting', false, true],
			['waiting', false, false],
		],
	);
});

/** A wait of so much of a window of 10 s. */
const long = (frames: string, share: number, open: boolean) =>
	partsTo({
		threads: [thread(10 * SECOND)],
		blocked: [blocked(frames, share * 10 * SECOND, { open, waker: nobody('[not woken yet]') })],
	}).parts.find(({ kind }) => kind !== 'on CPU');

test('a wait of the whole window stayed, if it goes on, and lasted for all of it', () => {
	const told = (part: Part | undefined) => [part?.place, part?.stayed];
	assert.deepEqual(told(long(STACK_OF.sleep, 1, true)), ['idle', true]);
	assert.deepEqual(told(long(STACK_OF.sleep, 0.981, true)), ['idle', true]);
	assert.deepEqual(told(long(STACK_OF.sleep, 0.979, true)), ['waiting', false]);
	assert.deepEqual(told(long(STACK_OF.sleep, 1, false)), ['waiting', false]);
	// It is idle in any case.
	assert.deepEqual(told(long(STACK_OF['socket accept'], 1, true)), ['idle', false]);
});

test('what has to come is waited for, however long: a disk, memory, a lock, who takes what is sent', () => {
	const stays = WAIT_KINDS.filter((kind) => long(STACK_OF[kind], 1, true)?.stayed);
	assert.deepEqual(stays, [
		'socket receive',
		'unix socket',
		'pipe',
		'poll',
		'io_uring',
		'condition',
		'futex',
		'sleep',
		'child',
		'stopped',
		'event',
		'IPC',
	]);
	for (const kind of ['lock', 'disk read', 'kernel lock', 'socket send', 'file lock'] as const)
		assert.equal(long(STACK_OF[kind], 1, true)?.place, 'waiting', kind);
});

test('an answer that did not come for the whole window stayed; so does one of several objects alone', () => {
	const { parts } = partsTo({
		threads: [thread(20 * SECOND)],
		blocked: [
			blocked(STACK_OF['socket receive'], 20 * SECOND, {
				open: true,
				objects: [
					[tcp(), 9.9 * SECOND],
					[tcp({ remote: '10.9.9.9:9' }), 9.7 * SECOND],
				],
			}),
		],
	});
	assert.deepEqual(
		parts.map(({ place, stayed }) => [place, stayed]),
		[
			['idle', true],
			['waiting', false],
			['idle', false],
		],
	);
});

test('nothing seen, nobody there: no parts of nothing, and no NaN', () => {
	const none = { parts: [], wall_ns: 0, unseen_ns: 0, excess_ns: 0 };
	assert.deepEqual(partsTo({}), none);
	const atOnce = partsTo({
		window_ns: 0,
		blocked: [blocked(STACK_OF.sleep, 0, { count: 0, open: true })],
		forCpu: [forCpu('run queue', 0)],
		samples: [sample('main', 3)],
	});
	assert.deepEqual(atOnce, none);
	// What a thread did that has no time.
	const without = partsTo({ blocked: [blocked(STACK_OF.sleep, 5)] });
	assert.deepEqual(without, { ...none, excess_ns: 5 });
	assert.deepEqual(partsTo({ threads: [thread(9)] }), { ...none, wall_ns: 9, unseen_ns: 9 });
});

/** What verdicts say of CPU time, of idle threads, and of threads that others wait for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Evidence } from '../../../../src/tools/why/evidence.js';
import { said } from './reading.js';
import { ALONE, blocked, forCpu, SECOND, STACK_OF, sample, tcp, thread, waker } from './support.js';

test('CPU time names its function, if there are samples enough, and it is a fifth of it', () => {
	const cpu = (counts: readonly number[]) =>
		said({
			threads: [thread(10 * SECOND, 10 * SECOND, { tid: 70 })],
			samples: counts.map((count, at) => sample(`main ${'abcdefgh'[at]}`, count, { tid: 70 })),
		});
	const runs = 'worker (70) runs';
	const isAnswer = ': the CPU profile is the answer.';
	assert.equal(
		cpu([19, 1]),
		`${runs} on a CPU for 100 % of its working time, 95 % in a${isAnswer}`,
	);
	assert.match(cpu([18, 1]), /, in many functions: /);
	assert.match(cpu([21, 20, 20, 20, 19]), /, 21 % in a: /);
	assert.match(cpu([19, 18, 17, 16, 15, 15]), /, in many functions: /);
	const unnamed = said({
		threads: [thread(10 * SECOND, 10 * SECOND)],
		samples: [sample('[unknown]', 99)],
	});
	assert.match(unnamed, /, in many functions: /);
});

test('what waits for a CPU says why, and where it would run', () => {
	const ready = (kind: 'CPU quota' | 'CPU wake-up' | 'preempted', stolen_ns = 0) =>
		said({
			machine: { ...ALONE, stolen_ns },
			threads: [thread(10 * SECOND, SECOND, { tid: 70 })],
			samples: [sample('main hot', 50, { tid: 70 })],
			forCpu: [forCpu(kind, 9 * SECOND, { tid: 70, count: 90 })],
		});
	assert.equal(
		ready('CPU quota'),
		'worker (70) may not run for 90 % of its working time, in hot: its cgroup has used up its CPU quota (cpu.max). Longest: 100 ms.',
	);
	assert.equal(
		ready('CPU wake-up'),
		'worker (70) is ready to run for 90 % of its working time, in hot, and waits until its CPU has woken up: the CPU was idle, and slept. Longest: 100 ms.',
	);
	assert.match(
		ready('CPU wake-up', 2 * SECOND),
		/ slept\. The hypervisor took 2\.00 s meanwhile\. Longest/,
	);
	// However little: a hypervisor that takes CPUs away is no other tenant's trouble alone.
	assert.match(ready('CPU wake-up', SECOND / 1000), /The hypervisor took 1\.00 ms meanwhile\./);
	assert.equal(
		ready('preempted'),
		'worker (70) is ready to run for 90 % of its working time, in hot, and gets no CPU: more threads want to run than there are CPUs for them. Of 2 CPUs, it had 0.1. Longest: 100 ms.',
	);
});

test('idle: how much, and what the rest is; a wait of all the time is named', () => {
	const idle = (rest: Partial<Evidence>, count = 1) =>
		said({
			threads: Array.from({ length: count }, (_, at) => thread(10 * SECOND, 0, { tid: 70 + at })),
			...rest,
		});
	const accept = (seconds: number) =>
		blocked(STACK_OF['socket accept'], seconds * SECOND, { count: 9, key: { tid: 70 } });
	assert.equal(
		idle({ blocked: [accept(10)] }),
		'No trouble: nobody waits for it. Its thread was idle for 100 % of the time.',
	);
	assert.equal(
		idle({ blocked: [accept(19.8), blocked(STACK_OF.lock, 0.2 * SECOND)] }, 2),
		'No trouble: nobody waits for it. Its 2 threads were idle for 99 % of the time. Of the rest, 200 ms, most is lock.',
	);
	const stay = (frames: string, rest = {}) =>
		idle({ blocked: [blocked(frames, 10 * SECOND, { open: true, key: { tid: 70 }, ...rest })] });
	const why = 'If it should have worked, that is why it did not. Nothing else was slow.';
	assert.equal(stay(STACK_OF.sleep), `worker (70) slept all the time, in nap. ${why}`);
	assert.equal(
		stay(STACK_OF['socket receive'], { objects: [[tcp(), 10 * SECOND]] }),
		`worker (70) waited for data from tcp 10.0.0.2:9 all the time, in receive. ${why}`,
	);
	assert.equal(
		stay(STACK_OF['socket receive'], { objects: [[{ type: 'unknown', why: 'no room' }, 10e9]] }),
		`worker (70) waited for data from a socket all the time, in receive. ${why}`,
	);
});

/**
 * So many servers that are idle for so long each, two threads that waited for them so long each, and others that
 * waited for a lock.
 */
function pool(servers: number, idle_s: number, waited_s: number, others_s = 0) {
	const key = (tid: number) => ({ context: 'thread', pid: 70, comm: 'server', tid });
	const tids = Array.from({ length: servers }, (_, at) => 90 + at);
	return said({
		threads: [
			thread(10 * SECOND, 0, { tid: 70 }),
			thread(10 * SECOND, 0, { tid: 72 }),
			thread(others_s * SECOND, 0, { tid: 73 }),
			...tids.map((tid) => thread(10 * SECOND, 0, { tid, comm: 'server' })),
		],
		blocked: [
			blocked(STACK_OF.lock, others_s * SECOND, { key: { tid: 73 } }),
			...[70, 72].map((tid) =>
				blocked('main ask (pthread_cond_wait) | futex_wait', waited_s * SECOND, {
					key: { tid },
					waker: waker('was blocked', STACK_OF.sleep, { key: key(90) }),
				}),
			),
			...tids.flatMap((tid) => [
				blocked(STACK_OF['socket accept'], idle_s * SECOND, { key: { tid, comm: 'server' } }),
				blocked(STACK_OF.sleep, (10 - idle_s) * SECOND, { key: { tid, comm: 'server' }, count: 9 }),
			]),
		],
	});
}

test('threads that are never idle, and for which others wait, are too few', () => {
	const says = ' for thread server, which is never idle: too few, or what they do takes too long.';
	assert.ok(pool(1, 0.4, 6).includes(` 2 threads wait, in ask,${says}`), pool(1, 0.4, 6));
	assert.match(pool(2, 0.4, 10), / for 2 threads server, which are never idle: /);
	assert.doesNotMatch(pool(1, 0.6, 6), /never idle/);
	assert.doesNotMatch(pool(1, 0.4, 4.9), /never idle/);
	assert.match(pool(1, 0.4, 5.1), /never idle/);
	assert.doesNotMatch(pool(3, 0.4, 10), /never idle/);
	// 12 s of waits for it, of 23.6 or 24.6 s of work.
	assert.match(pool(1, 0.4, 6, 14), /never idle/);
	assert.doesNotMatch(pool(1, 0.4, 6, 15), /never idle/);
});

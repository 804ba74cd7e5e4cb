/** Which rule speaks, in its case and in the one beside it, and how sure the verdict is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Evidence } from '../../../../src/tools/why/evidence.js';
import { RULES, verdictOf } from '../../../../src/tools/why/verdict.js';
import {
	answerTo,
	blocked,
	forCpu,
	isNear,
	MS,
	SECOND,
	STACK_OF,
	sample,
	thread,
	waker,
} from './support.js';

const ruleFor = (rest: Partial<Evidence>) => verdictOf(answerTo(rest)).rule;
const said = (rest: Partial<Evidence>) => verdictOf(answerTo(rest)).text;

/** In 10 s, or another window, of one thread: what it did, and idle for the rest. */
function window(busy: Partial<Evidence>, busy_ns: number, window_ns = 10 * SECOND) {
	const idle = blocked(STACK_OF['socket accept'], window_ns - busy_ns, { count: 9 });
	return {
		window_ns,
		threads: [thread(window_ns, (busy.samples?.length ?? 0) > 0 ? busy_ns : 0)],
		...busy,
		blocked: [...(busy.blocked ?? []), idle],
	};
}
const locked = (ns: number, count = 10) => ({ blocked: [blocked(STACK_OF.lock, ns, { count })] });

test('each rule has a name and a source, and the last one speaks in any case', () => {
	const names = RULES.map(({ name }) => name);
	assert.deepEqual(names, [
		...['nobody', 'too short', 'idle', 'nothing stands out', 'on CPU', 'CPU quota'],
		...['CPU wake-up', 'too few CPUs', 'full pool', 'waits'],
	]);
	assert.ok(RULES.every(({ source }) => source !== ''));
	assert.ok(RULES.at(-1)?.when(answerTo({})));
});

test('nobody: there was no time of any thread', () => {
	assert.equal(ruleFor({}), 'nobody');
	assert.equal(ruleFor({ window_ns: 0 }), 'nobody');
	assert.equal(ruleFor({ threads: [thread(0)] }), 'nobody');
	assert.equal(ruleFor({ threads: [thread(1)] }), 'too short');
	assert.equal(said({}), 'No thread of the target was there while tstrace looked.');
});

test('too short: a window below 50 ms, whatever happened in it', () => {
	const busy = (window_ns: number) => ({
		window_ns,
		threads: [thread(window_ns, window_ns)],
		samples: [sample('main f', 50)],
	});
	assert.equal(ruleFor(busy(49 * MS)), 'too short');
	assert.equal(ruleFor(busy(50 * MS)), 'on CPU');
	const idle = (window_ns: number) => window({}, 0, window_ns);
	assert.equal(ruleFor(idle(49 * MS)), 'too short');
	assert.equal(ruleFor(idle(50 * MS)), 'idle');
});

test('too short: fewer than five waits or samples, unless one of the waits is long enough', () => {
	// How long threads ran is exact, however few samples say where.
	const cpu = (count: number, ran_ns: number) =>
		ruleFor(window({ samples: [sample('main f', count)] }, ran_ns, 500 * MS));
	assert.equal(cpu(4, 49 * MS), 'too short');
	assert.equal(cpu(5, 49 * MS), 'on CPU');
	assert.equal(cpu(4, 51 * MS), 'on CPU');
	const lock = (ns: number, count: number) => ruleFor(window(locked(ns, count), ns, 500 * MS));
	assert.equal(lock(49 * MS, 1), 'too short');
	assert.equal(lock(51 * MS, 1), 'waits');
	assert.equal(lock(49 * MS, 4), 'too short');
	assert.equal(lock(49 * MS, 5), 'waits');
});

test('too short: what to do about it fits the window', () => {
	const short = said({ window_ns: 40 * MS, threads: [thread(40 * MS)] });
	assert.match(short, /^40\.0 ms are too short .* Trace for longer: 10 s are enough most often\.$/);
	// Nothing at all was seen of it.
	const long = said({ window_ns: 30 * SECOND, threads: [thread(30 * SECOND)] });
	assert.doesNotMatch(long, /10 s are enough/);
	assert.match(long, /^30\.0 s are too short .*\.$/);
});

test('idle: less than a twentieth of the window of one thread is work, whatever there is of it', () => {
	assert.equal(ruleFor(window(locked(490 * MS), 490 * MS)), 'idle');
	assert.equal(ruleFor(window(locked(510 * MS), 510 * MS)), 'waits');
	// Of twenty threads that are idle, it is still that of one.
	const many = (ns: number) => ({
		threads: Array.from({ length: 20 }, (_, at) => thread(10 * SECOND, 0, { tid: 71 + at })),
		blocked: [
			blocked(STACK_OF['socket accept'], 200 * SECOND - ns, { count: 99 }),
			blocked(STACK_OF.lock, ns, { count: 99 }),
		],
	});
	assert.equal(ruleFor(many(490 * MS)), 'idle');
	assert.equal(ruleFor(many(510 * MS)), 'waits');
});

test('idle: not, if more than a twentieth of all was not seen', () => {
	const unseen = (ns: number) => ({
		threads: [thread(10 * SECOND)],
		blocked: [
			blocked(STACK_OF['socket accept'], 9.9 * SECOND - ns, { count: 99 }),
			blocked(STACK_OF.lock, 100 * MS, { count: 99 }),
		],
	});
	assert.equal(ruleFor(unseen(490 * MS)), 'idle');
	assert.equal(ruleFor(unseen(510 * MS)), 'waits');
});

test('nothing stands out: the largest reason is less than 15 %, CPU time too', () => {
	const kinds = ['sleep', 'child', 'file lock', 'disk read', 'swap-in', 'kernel lock'] as const;
	/** 10 s of work, in which the first reason has so many ms, and the others are alike. */
	const many = (first: Partial<Evidence>, ms: number) => ({
		threads: [thread(20 * SECOND, first.samples ? ms * MS : 0)],
		...first,
		blocked: [
			...(first.blocked ?? []),
			...kinds.map((kind) =>
				blocked(STACK_OF[kind], (10_000 - ms) * (MS / 6) - 1000, { count: 9 }),
			),
			blocked(STACK_OF['socket accept'], 10 * SECOND),
		],
	});
	const lock = (ms: number) => many(locked(ms * MS), ms);
	// Six others of 1.42 s each, or of 1.44 s: with 1.48 s, nothing is 15 %.
	assert.equal(ruleFor(lock(1480)), 'nothing stands out');
	assert.equal(ruleFor(lock(1520)), 'waits');
	const cpu = (ms: number) => many({ samples: [sample('main f', 99)] }, ms);
	assert.equal(ruleFor(cpu(1480)), 'nothing stands out');
	assert.equal(ruleFor(cpu(1520)), 'on CPU');
	const queue = (ms: number) => many({ forCpu: [forCpu('run queue', ms * MS, { count: 9 })] }, ms);
	assert.equal(ruleFor(queue(1480)), 'nothing stands out');
	assert.equal(ruleFor(queue(1520)), 'too few CPUs');
	assert.match(said(lock(1480)), /^No single thing stands out: the largest is 15 % of the /);
});

test('on CPU, CPU quota, too few CPUs, waits: as the largest reason is', () => {
	const all = (cpu: number, quota: number, queue: number, lock: number) =>
		ruleFor({
			threads: [thread(100 * SECOND, cpu * SECOND)],
			samples: [sample('main f', 99)],
			forCpu: [
				forCpu('CPU quota', quota * SECOND, { count: 9 }),
				forCpu('preempted', queue * SECOND, { count: 9 }),
			],
			...locked(lock * SECOND),
		});
	assert.equal(all(13, 12, 11, 10), 'on CPU');
	assert.equal(all(12, 13, 11, 10), 'CPU quota');
	assert.equal(all(12, 11, 13, 10), 'too few CPUs');
	assert.equal(all(12, 11, 10, 13), 'waits');
	const wait = (kind: 'run queue' | 'preempted' | 'CPU wake-up') =>
		ruleFor({ threads: [thread(9 * SECOND)], forCpu: [forCpu(kind, 8 * SECOND)] });
	assert.deepEqual([wait('run queue'), wait('preempted')], ['too few CPUs', 'too few CPUs']);
	// A CPU that sleeps is nobody's, so that it is no part of that.
	assert.equal(wait('CPU wake-up'), 'CPU wake-up');
	const mixed = ruleFor({
		threads: [thread(12 * SECOND)],
		forCpu: [
			forCpu('run queue', 3 * SECOND),
			forCpu('preempted', 3 * SECOND),
			forCpu('CPU wake-up', 5 * SECOND),
		],
	});
	assert.equal(mixed, 'too few CPUs');
});

/** 10 s of work, a lock, of which the error, what was not seen, and what is undecided, are such shares. */
function doubt({ error = 0, unseen = 0, undecided = 0 }) {
	const work_ns = 10 * SECOND;
	const key = { context: 'thread', pid: 8, tid: 9, comm: 'far' };
	const by = (did: 'ran' | undefined) => ({ waker: waker(did, '', { key }), count: 50 });
	const answer = answerTo({
		// Not a nanosecond is left for sampled waits to take.
		threads: [thread(work_ns / (1 - unseen))],
		blocked: [
			blocked(STACK_OF.condition, work_ns * undecided, by(undefined)),
			blocked(STACK_OF.condition, work_ns * (1 - undecided), {
				...by('ran'),
				variance: ((error * work_ns) / 2) ** 2,
			}),
		],
	});
	assert.ok(isNear(answer.working_ns, work_ns), `${answer.working_ns}`);
	const { confidence, because } = verdictOf(answer);
	return { confidence, because };
}

test('sure, likely or unsure: as much of the working time may be otherwise', () => {
	const why = (much: string) => `the share is an estimate, and may be off by ${much}`;
	assert.deepEqual(doubt({}), { confidence: 'sure', because: [] });
	assert.deepEqual(doubt({ error: 0.029 }), { confidence: 'sure', because: [] });
	assert.deepEqual(doubt({ error: 0.031 }), { confidence: 'likely', because: [why('3.1 %')] });
	assert.deepEqual(doubt({ error: 0.099 }), { confidence: 'likely', because: [why('9.9 %')] });
	assert.deepEqual(doubt({ error: 0.12 }), { confidence: 'unsure', because: [why('12 %')] });
});

test('also what was not seen makes a verdict less sure, and what ended short waits', () => {
	const unseen = (much: string) => `of ${much} of the time nothing was seen`;
	assert.deepEqual(doubt({ unseen: 0.029 }), { confidence: 'sure', because: [] });
	assert.deepEqual(doubt({ unseen: 0.04 }), {
		confidence: 'likely',
		because: [unseen('4.0 %')],
	});
	assert.deepEqual(doubt({ unseen: 0.3 }), { confidence: 'unsure', because: [unseen('30 %')] });
	const short = (much: string) => `${much} of it is short waits that may be for work to come`;
	assert.deepEqual(doubt({ undecided: 0.029 }), { confidence: 'sure', because: [] });
	assert.deepEqual(doubt({ undecided: 0.05 }), {
		confidence: 'likely',
		because: [short('5.0 %')],
	});
	assert.deepEqual(doubt({ unseen: 0.2, undecided: 0.05 }), {
		confidence: 'unsure',
		because: [unseen('20 %'), short('5.0 %')],
	});
});

test('who says that there was no trouble has no doubts, and no next command', () => {
	const { confidence, because, next } = verdictOf(answerTo(window(locked(100 * MS), 100 * MS)));
	assert.deepEqual([confidence, because, next], ['sure', [], '']);
	assert.equal(verdictOf(answerTo({})).next, '');
});

/** What verdicts say: who, how much, for what, who is behind it, and what to type next. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Waker } from '../../../../src/aggregate/stack-rows.js';
import { WAIT_KINDS } from '../../../../src/aggregate/wait-kind-rules.js';
import type { WaitObject } from '../../../../src/aggregate/wait-object.js';
import type { Evidence } from '../../../../src/tools/why/evidence.js';
import { anyEvidence } from './any-evidence.js';
import { said, verdict } from './reading.js';
import {
	blocked,
	file,
	forCpu,
	futex,
	interrupt,
	nobody,
	pipe,
	SECOND,
	STACK_OF,
	sample,
	thread,
	waker,
} from './support.js';

const FAR = { context: 'thread', pid: 90, tid: 91, comm: 'server' };
/** 10 s of a lock, in 20 s. */
const locked = (by?: Waker, rest: Partial<Evidence> = {}) => ({
	threads: [thread(10 * SECOND, 0, { tid: 70 })],
	blocked: [
		blocked(STACK_OF.lock, 10 * SECOND, {
			count: 20,
			key: { tid: 70 },
			...(by ? { waker: by } : {}),
		}),
	],
	...rest,
});

test('who: a process by its first thread, one of its threads, or several processes', () => {
	const who = (threads: Evidence['threads'], suffer: readonly (readonly [number, number])[]) =>
		said({
			threads,
			blocked: suffer.map(([pid, tid], at) =>
				blocked(STACK_OF.lock, (9 - at) * SECOND, { key: { pid, tid, comm: `t${tid}` }, count: 9 }),
			),
		}).replace(/ waits? 1.*/, '');
	const threads = [70, 71, 72].map((tid) => thread(10 * SECOND, 0, { tid, comm: `t${tid}` }));
	const others = [80, 90].map((pid) => thread(10 * SECOND, 0, { pid, tid: pid, comm: `t${pid}` }));
	assert.equal(who(threads, [[70, 70]]), 't70 (70)');
	assert.equal(who(threads, [[70, 71]]), 't71 (71), a thread of t70 (70),');
	assert.equal(
		who(threads, [
			[70, 71],
			[70, 72],
		]),
		't70 (70)',
	);
	// Its first thread is not traced, so that its name is not known.
	assert.equal(who(threads.slice(1), [[70, 72]]), 't72 (72), a thread of t72 (70),');
	const two = [
		[70, 71],
		[80, 80],
	] as const;
	assert.equal(who([...threads, ...others], two), 't71 (70), with 1 other process,');
	// Threads of one process are one process.
	const four = [...two, [70, 72], [70, 70]] as const;
	assert.equal(who([...threads, ...others], four), 't71 (70), with 1 other process,');
	const three = [...two, [90, 90]] as const;
	assert.equal(who([...threads, ...others], three), 't71 (70), with 2 other processes,');
});

test('a wait: its share, what for, in which function, and the longest', () => {
	assert.equal(
		said(locked()),
		'worker (70) waits 100 % of its working time for the lock of another thread, in enter. Longest: 500 ms.',
	);
	const owner = { tid: 712, comm: 'writer' };
	const held = locked(undefined, {
		threads: [thread(40 * SECOND, 0, { tid: 70 })],
		blocked: [
			blocked(STACK_OF.lock, 30 * SECOND, {
				objects: [[futex('table', { owner }), 30 * SECOND]],
				key: { tid: 70 },
			}),
			blocked(STACK_OF.sleep, 10 * SECOND, { key: { tid: 70 }, count: 9 }),
		],
	});
	assert.equal(
		said(held),
		'worker (70) waits 75 % of its working time for the lock table, held by writer (712), in enter. Longest: 30.0 s.',
	);
});

test('what the thread that has a lock does is said, but for its own waits for that lock', () => {
	const table = futex('table', { owner: { tid: 712, comm: 'writer' } });
	const own = futex('table', { owner: { tid: 70, comm: 'worker' } });
	const lock = (tid: number, object: WaitObject, ns: number) =>
		blocked(STACK_OF.lock, ns, { objects: [[object, ns]], key: { tid } });
	const flush = 'main flush | do_fsync ext4_sync_file jbd2_log_wait_commit schedule';
	const verdictWith = (flush_ns: number, rest_ns: number) =>
		said({
			threads: [thread(40 * SECOND, 0, { tid: 70 }), thread(40 * SECOND, 0, { tid: 712 })],
			blocked: [
				lock(70, table, 40 * SECOND),
				lock(712, own, 20 * SECOND),
				blocked(flush, flush_ns, { key: { tid: 712 } }),
				blocked(STACK_OF.sleep, rest_ns, { key: { tid: 712 } }),
			],
		});
	assert.match(
		verdictWith(15 * SECOND, 5 * SECOND),
		/held by writer \(712\), in enter\. Meanwhile writer \(712\) is mostly in flush\./,
	);
	// Not the larger part of its time.
	assert.doesNotMatch(verdictWith(5 * SECOND, 15 * SECOND), /mostly in flush/);
});

test('of several threads that had the GIL the one that had it most is told, and for how much', () => {
	const gil = (tid: number) => futex('GIL', { gil: true, owner: { tid, comm: `t${tid}` } });
	const wait = (object: WaitObject, ns: number) =>
		blocked(STACK_OF.lock, ns, { objects: [[object, ns]], key: { tid: 70 } });
	const text = said({
		threads: [thread(40 * SECOND, 0, { tid: 70 })],
		blocked: [
			wait(gil(5), 3 * SECOND),
			wait(gil(6), 10 * SECOND),
			wait(gil(7), 12 * SECOND),
			wait(gil(6), 5 * SECOND),
			wait(futex('GIL', { gil: true }), 10 * SECOND),
		],
	});
	assert.match(text, /interpreter \(GIL\), for 38 % of that held by t6 \(6\), in enter\./);
});

test('every kind of wait makes a sentence, as the reason, as the next one, and as what a waker did', () => {
	for (const kind of [...WAIT_KINDS, 'other: strange_wait', 'other: none'] as const) {
		const frames =
			kind === 'other: none'
				? 'main'
				: (STACK_OF[kind as keyof typeof STACK_OF] ?? 'main f | ksys_x strange_wait');
		const by = waker('was blocked', frames, { waker: nobody('[waker not seen]') });
		const first = said({
			threads: [thread(10 * SECOND), thread(10 * SECOND, 0, { tid: 72 })],
			blocked: [
				blocked(frames, 9 * SECOND, { waker: waker('ran') }),
				blocked(STACK_OF.lock, 8 * SECOND, { waker: by }),
			],
		});
		const second = said({
			threads: [thread(10 * SECOND), thread(10 * SECOND, 0, { tid: 72 })],
			blocked: [
				blocked(frames, 7 * SECOND, { waker: waker('ran') }),
				blocked(STACK_OF.lock, 8 * SECOND, { waker: by }),
			],
		});
		for (const text of [first, second]) assert.doesNotMatch(text, /for: /, text);
		if (frames !== 'main') assert.match(second, /Meanwhile server \(90\) (slept|waited) /);
	}
});

test('who was behind it, what that one did, and in how much of the time', () => {
	const meanwhile = (by: Waker) =>
		said(locked(by))
			.replace(/^.*? enter\. /, '')
			.replace(' Longest: 500 ms.', '');
	assert.equal(meanwhile(waker('ran')), 'Meanwhile server (90) ran on a CPU.');
	assert.equal(meanwhile(waker('ran', '')), 'Meanwhile server (90) ran on a CPU.');
	assert.equal(meanwhile(waker('waited for a CPU')), 'Meanwhile server (90) waited for a CPU.');
	assert.equal(
		meanwhile(waker('was blocked', STACK_OF.sleep)),
		'Meanwhile server (90) slept in nap.',
	);
	const owner = { tid: 5, comm: 'holder' };
	const share = (object: ReturnType<typeof futex>) => ({
		...{ objects: [{ object, value: 1, count: 1, variance: 0 }] },
	});
	assert.equal(
		meanwhile(waker('was blocked', STACK_OF.lock, share(futex('m', { owner })))),
		'Meanwhile server (90) waited for the lock m, held by holder (5) in enter.',
	);
	assert.equal(
		meanwhile(waker('was blocked', STACK_OF.condition, share(futex('_PyRuntime+0x8')))),
		'Meanwhile server (90) waited for the lock of the Python interpreter (GIL) in await.',
	);
	assert.equal(
		meanwhile(waker('was blocked', STACK_OF.pipe, share(pipe('read')))),
		'Meanwhile server (90) waited for data from pipe read in drink.',
	);
	for (const silent of [
		waker(undefined),
		waker('did not exist yet'),
		nobody('[not woken yet]'),
		interrupt({ context: 'softirq', irq: 'timer' }, '<softirq: timer>'),
		{ ...interrupt({ context: 'hardirq' }, '<irq>'), did: 'ran' } as const,
	])
		assert.equal(meanwhile(silent), 'Longest: 500 ms.');
	const part = (share_s: number) =>
		said({
			threads: [thread(10 * SECOND)],
			blocked: [
				blocked(STACK_OF.lock, share_s * SECOND, { waker: waker('ran'), count: 9 }),
				blocked(STACK_OF.lock, (10 - share_s) * SECOND, { count: 9 }),
			],
		});
	assert.match(part(7.9), / For 79 % of that, server \(90\) ran on a CPU\./);
	assert.match(part(8.1), / Meanwhile server \(90\) ran on a CPU\./);
});

test('who has a file lock, where the kernel tells: with its number, and as the next command', () => {
	const waits = { blocked: [blocked(STACK_OF['file lock'], 10 * SECOND, { count: 9 })] };
	const lockHolders = new Map([[70, { pid: 712, comm: 'backup\n' }]]);
	const { text, next } = verdict({ ...locked(), ...waits, lockHolders });
	assert.match(text, /for the file lock on a file, held by backup\\x0a \(712\)/);
	assert.equal(next, 'tstrace why -p 712');
	const ended = verdict({ ...locked(), ...waits, lockHolders, isThere: () => false });
	assert.equal(ended.next, 'tstrace offwaketime --hops 4 -p 70 5');
	// Of another process.
	const other = new Map([[71, { pid: 712, comm: 'backup' }]]);
	assert.doesNotMatch(verdict({ ...locked(), ...waits, lockHolders: other }).text, /held by/);
	assert.doesNotMatch(verdict({ ...locked(), lockHolders }).text, /held by/);
});

test('the next command: of who is behind it, of the disk, or of the chain', () => {
	const next = (rest: Partial<Evidence>) => verdict(rest).next;
	assert.equal(next(locked(waker('ran'))), 'tstrace why -p 90');
	// Of several processes the last one: all others waited for it.
	const last = waker('ran', '', { key: { ...FAR, pid: 95, tid: 96 } });
	assert.equal(next(locked(waker('was blocked', '', { waker: last }))), 'tstrace why -p 95');
	// Who has ended cannot be traced.
	const ended = { ...locked(waker('ran')), isThere: () => false };
	assert.equal(next(ended), 'tstrace offwaketime --hops 4 -p 70 5');
	assert.equal(next(locked()), 'tstrace offwaketime --hops 4 -p 70 5');
	const own = waker('ran', '', { key: { ...FAR, pid: 70, tid: 79 } });
	assert.equal(next(locked(own)), 'tstrace offwaketime --hops 4 -p 70 5');
	const traced = locked(waker('ran'));
	assert.equal(
		next({ ...traced, threads: [...traced.threads, thread(1, 0, { pid: 90, tid: 95 })] }),
		'tstrace offwaketime --hops 4 -p 70 5',
	);
	assert.equal(next(locked(undefined, { target: '' })), 'tstrace offwaketime --hops 4 5');
	const command = { target: '--follow -- make -j8' };
	assert.equal(
		next(locked(undefined, command)),
		'tstrace offwaketime --hops 4 --follow -- make -j8',
	);
	for (const kind of ['disk read', 'disk', 'page fault', 'swap-in', 'file server'] as const) {
		const wait = [blocked(STACK_OF[kind], 10 * SECOND, { count: 9 })];
		const command = 'tstrace offcputime --by object -p 70 5';
		assert.equal(next({ ...locked(), blocked: wait }), command, kind);
	}
	const cpu = { threads: [thread(SECOND, SECOND)], samples: [sample('main f', 99)] };
	assert.equal(next(cpu), 'tstrace profile -p 70 5');
	const ready = (kind: 'CPU quota' | 'run queue') =>
		next({ threads: [thread(SECOND)], forCpu: [forCpu(kind, SECOND)] });
	assert.equal(ready('CPU quota'), 'tstrace schedlat -p 70 5');
	assert.equal(ready('run queue'), 'tstrace schedlat -P 5 1');
});

test('waits for several files are for one disk: together they may be the largest reason', () => {
	const files = (seconds: Readonly<Record<string, number>>, rest: Partial<Evidence> = {}) =>
		said({
			threads: [thread(10 * SECOND, rest.samples ? 4 * SECOND : 0)],
			...rest,
			blocked: Object.entries(seconds).map(([path, each]) =>
				blocked(STACK_OF['disk write'], each * SECOND, {
					...{ count: 9, objects: [[file(path), each * SECOND]] },
				}),
			),
		});
	const cpu = { samples: [sample('main sum', 99)] };
	assert.match(
		files({ '/journal': 3.5, '/orders': 2.5 }, cpu),
		/waits 35 % .* written \/journal, in save\. In all, it waits 60 % for the disk\. .*Next: it runs on a CPU for 40 %\.$/,
	);
	// All waits for it are less than what runs.
	assert.match(files({ '/journal': 2.5, '/orders': 1.4 }, cpu), /runs on a CPU for 51 % /);
	assert.match(files({ '/journal': 10, '/orders': 1.1 }), /In all, it waits 100 % /);
	assert.doesNotMatch(files({ '/journal': 10, '/orders': 0.9 }), /In all/);
	assert.doesNotMatch(files({ '/journal': 10 }), /In all/);
});

test('a second reason is told if it is half as large as the first', () => {
	const second = (rest: Partial<Evidence>) =>
		/ Next: .*/.exec(
			said({
				...{ threads: [thread(30 * SECOND, rest.samples ? 6 * SECOND : 0)], ...rest },
				blocked: [blocked(STACK_OF.lock, 10 * SECOND, { count: 9 }), ...(rest.blocked ?? [])],
			}),
		)?.[0];
	const disk = (seconds: number) => ({
		blocked: [blocked(STACK_OF['disk read'], seconds * SECOND, { objects: [[file('/a'), 6e9]] })],
	});
	assert.equal(second(disk(6)), ' Next: 38 % for the disk, to read /a, in load.');
	assert.equal(
		second({ blocked: [blocked(STACK_OF.sleep, 5.01 * SECOND)] }),
		' Next: it sleeps for 33 %, in nap.',
	);
	assert.equal(second({ blocked: [blocked(STACK_OF.sleep, 4.99 * SECOND)] }), undefined);
	assert.equal(second({ samples: [sample('main f', 99)] }), ' Next: it runs on a CPU for 38 %.');
	assert.equal(
		second({ forCpu: [forCpu('preempted', 6 * SECOND)] }),
		' Next: it is ready to run, and gets no CPU, for 38 % (preempted).',
	);
	assert.equal(
		second({ forCpu: [forCpu('CPU wake-up', 6 * SECOND)] }),
		' Next: its CPU has to wake up, for 38 %.',
	);
});

test('a thread without a name has none, and the sentence goes on', () => {
	const empty = locked(waker('ran', '', { key: { ...FAR, comm: '' } }), {
		threads: [thread(10 * SECOND, 0, { tid: 70, comm: '' })],
	});
	assert.match(
		said(empty),
		/^\[no name\] \(70\) waits .* Meanwhile \[no name\] \(90\) ran on a CPU\. /,
	);
});

test('whatever was seen, the verdict reads', () => {
	fc.assert(
		fc.property(anyEvidence, (given) => {
			verdict(given);
		}),
		{ numRuns: 500 },
	);
});

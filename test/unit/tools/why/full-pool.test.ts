/** Threads of which none was ever idle: when the verdict says that a pool may be full, and when it must not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Evidence } from '../../../../src/tools/why/evidence.js';
import { verdict } from './reading.js';
import { blocked, SECOND, STACK_OF, tcp, thread, waker } from './support.js';

const FETCH = '(start_thread) take_jobs fetch | tcp_recvmsg sk_wait_data';
const FOR_WORK = '(start_thread) take_jobs (pthread_cond_wait) | futex_wait';
const TIDS = [71, 72, 73];

/** Of one thread in 10 s: waits for an answer, and for the rest one that `rest` says. */
interface Life {
	readonly tid: number;
	readonly answer_s?: number;
	readonly rest?: string;
	readonly begins?: string;
	readonly comm?: string;
}

function lived({
	tid,
	answer_s = 10,
	rest = FOR_WORK,
	begins = 'take_jobs',
	comm = 'worker',
}: Life) {
	const key = { tid, comm };
	const named = (frames: string) => frames.replace('take_jobs', begins);
	const asked = { count: 40, objects: [[tcp(), answer_s * SECOND]] as const, key };
	return [
		...(answer_s > 0 ? [blocked(named(FETCH), answer_s * SECOND, asked)] : []),
		...(answer_s < 10 ? [blocked(named(rest), (10 - answer_s) * SECOND, { count: 9, key })] : []),
	];
}

function said(lives: readonly Life[], more: Partial<Evidence> = {}) {
	const { text, rule } = verdict({
		threads: lives.map(({ tid, comm = 'worker' }) => thread(10 * SECOND, 0, { tid, comm })),
		blocked: lives.flatMap(lived),
		...more,
	});
	return { pool: /None of .*?\.(?= |$)/.exec(text)?.[0], rule };
}

const FULL = {
	pool: 'None of the 3 threads worker, which begin in take_jobs, was ever idle: if they are a pool, it is full, and more requests have to queue.',
	rule: 'full pool',
};
const NONE = { pool: undefined, rule: 'waits' };
const all = (rest: Partial<Life> = {}) => TIDS.map((tid) => ({ tid, ...rest }));

test('none of the threads that begin alike was ever idle, and they waited for answers', () => {
	assert.deepEqual(said(all()), FULL);
	// A thread has work for 98 % of the window or more.
	assert.deepEqual(said(all({ answer_s: 9.81 })), FULL);
	assert.deepEqual(said(all({ answer_s: 9.79 })), NONE);
	// The first thread of the process hands out work, and other threads do something else.
	assert.deepEqual(said([...all(), { tid: 70, answer_s: 0 }]), FULL);
	assert.deepEqual(said([...all(), { tid: 80, answer_s: 0, begins: 'flush_logs' }]), FULL);
	assert.deepEqual(said([...all(), { tid: 80, answer_s: 0, comm: 'other' }]), FULL);
});

test('one thread more that was idle, or may be of them, and the pool is not full', () => {
	assert.deepEqual(said([...all(), { tid: 74, answer_s: 0 }]), NONE);
	assert.deepEqual(said([...all().slice(1), { tid: 74, answer_s: 9 }]), NONE);
	// Its stack does not reach its first function.
	const cut = '| futex_wait';
	assert.deepEqual(said([...all(), { tid: 74, answer_s: 0, rest: cut }]), NONE);
	// It was there for half of the window.
	const late = thread(5 * SECOND, 0, { tid: 74 });
	const { blocked: of = [] } = { blocked: all().flatMap(lived) };
	const threads = [...TIDS.map((tid) => thread(10 * SECOND, 0, { tid })), late];
	assert.deepEqual(
		said([], {
			threads,
			blocked: [...of, ...lived({ tid: 74, answer_s: 5 }).slice(0, 1)],
		}),
		NONE,
	);
});

test('one thread is no pool, and of some threads of a process nobody knows how many there are', () => {
	assert.deepEqual(said([{ tid: 71 }]), NONE);
	assert.deepEqual(said(all(), { target: '-t 71,72,73' }), NONE);
	assert.deepEqual(said(all(), { target: '--comm worker' }), FULL);
});

test('a function without a name is left out', () => {
	const { pool } = said(all({ begins: 'python3.11+0x1fb3c8' }));
	assert.match(`${pool}`, /^None of the 3 threads worker was ever idle: /);
});

test('time, locks and threads of its own are nothing that more threads would get sooner', () => {
	for (const kind of ['sleep', 'lock', 'file lock', 'kernel lock'] as const) {
		const rest = STACK_OF[kind].replace('main', '(start_thread) take_jobs');
		assert.equal(said(all({ answer_s: 4, rest })).pool, undefined, kind);
		assert.equal(said(all({ answer_s: 6, rest })).rule, 'full pool', kind);
	}
});

test('who waits for a traced thread, or may have waited for work, is not busy all the time', () => {
	const by = (did: 'ran' | undefined, tid: number) => ({
		blocked: TIDS.flatMap((each) => [
			...lived({ tid: each, answer_s: 8 }).slice(0, 1),
			blocked(FOR_WORK, 2 * SECOND, {
				count: 9,
				key: { tid: each },
				waker: waker(did, '', { key: { context: 'thread', pid: 70, tid, comm: 'main' } }),
			}),
		]),
	});
	assert.equal(said(all(), by('ran', 70)).pool, FULL.pool);
	assert.equal(said(all(), by(undefined, 70)).pool, undefined);
	assert.equal(said(all(), by('ran', 71)).pool, undefined);
});

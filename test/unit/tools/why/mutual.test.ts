/** Threads of a process that wait for each other: a pool that is too small, and not work that is handed out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verdictOf } from '../../../../src/tools/why/verdict.js';
import { answerTo, blocked, SECOND, STACK_OF, tcp, thread, waker } from './support.js';

/** So many threads that use a connection for a second each, and wait for it as long as said, for thread `wakerOf`. */
function pool(waits_s: number, wakerOf: (tid: number) => number, alsoOtherwise = false) {
	const tids = [71, 72, 73, 74];
	const wakes = (tid: number) =>
		waker('ran', '', {
			key: { context: 'thread', pid: 70, tid: wakerOf(tid), comm: 'worker' },
		});
	const other_s = alsoOtherwise ? 1 : 0;
	return answerTo({
		threads: [
			...tids.map((tid) => thread((1 + waits_s + other_s) * SECOND, 0, { tid })),
			thread(10 * SECOND, 0, { tid: 80 }),
		],
		blocked: tids.flatMap((tid) => [
			blocked(STACK_OF['socket receive'], SECOND, {
				count: 9,
				objects: [[tcp(), SECOND]],
				key: { tid },
			}),
			blocked(STACK_OF.condition, waits_s * SECOND, {
				count: 9,
				key: { tid },
				waker: wakes(tid),
			}),
			...(alsoOtherwise
				? [blocked(STACK_OF.futex, SECOND, { count: 9, key: { tid }, waker: wakes(tid) })]
				: []),
		]),
	});
}
const others = (tid: number) => (tid === 74 ? 71 : tid + 1);

test('threads that wait for each other longer than they work: said besides, and the verdict is unsure', () => {
	const answer = pool(3, others);
	assert.deepEqual([answer.mutual?.waiters, answer.mutual?.total_ns], [4, 12 * SECOND]);
	const { text, confidence, because } = verdictOf(answer);
	assert.match(
		text,
		/Besides, 4 of its threads waited 12\.0 s for each other.*: if they had work, a lock or a pool that they share holds them up\./,
	);
	assert.equal(confidence, 'unsure');
	assert.ok(because.includes('threads that waited for each other may have had work'));
	assert.doesNotMatch(verdictOf(pool(0.9, others)).text, /Besides/);
});

test('one that waits for others in several ways is one thread', () => {
	const answer = pool(3, others, true);
	assert.deepEqual([answer.mutual?.waiters, answer.mutual?.total_ns], [4, 16 * SECOND]);
});

test('a thread that only hands out work is not one of those that wait', () => {
	const answer = pool(3, () => 80);
	assert.equal(answer.mutual, undefined);
	assert.doesNotMatch(verdictOf(answer).text, /Besides/);
	// Nor is one that only takes it: 74 waits for 80, the others for each other.
	const ring = pool(3, (tid) => [72, 73, 71, 80][tid - 71] as number);
	assert.deepEqual([ring.mutual?.waiters, ring.mutual?.total_ns], [3, 9 * SECOND]);
});

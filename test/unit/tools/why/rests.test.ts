/** Sleeps of the whole machine, and of threads that were chosen: rule 6 of docs/tools/why.md. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Did } from '../../../../src/aggregate/stack.js';
import type { Evidence } from '../../../../src/tools/why/evidence.js';
import { blocked, futex, nobody, partsTo, SECOND, STACK_OF, thread, waker } from './support.js';

/** Where thread 71 is while it sleeps. */
function sleepOf(rest: Partial<Evidence> = {}) {
	const { parts } = partsTo({
		target: '',
		...rest,
		threads: [thread(10 * SECOND), thread(10 * SECOND, 0, { tid: 72 })],
		blocked: [blocked(STACK_OF.sleep, 4 * SECOND, { count: 4 }), ...(rest.blocked ?? [])],
	});
	return parts.find(({ kind, row }) => kind === 'sleep' && row.key.tid === 71)?.place;
}

/** Thread 72 waits for 71, which did that meanwhile. */
const waiting = (
	stack: string,
	{ tid = 71, did = 'was blocked', meanwhile = STACK_OF.sleep }: Meanwhile = {},
) => [
	blocked(stack, 2 * SECOND, {
		count: 2,
		key: { tid: 72 },
		waker: waker(did, meanwhile, {
			key: { context: 'thread', pid: 70, tid, comm: 'worker' },
		}),
	}),
];

interface Meanwhile {
	readonly tid?: number;
	readonly did?: Did;
	readonly meanwhile?: string;
}

test('of the whole machine a sleep is idle, of threads that were chosen it is not', () => {
	assert.equal(sleepOf(), 'idle');
	assert.equal(sleepOf({ target: '-p 70' }), 'waiting');
});

test('who sleeps while another thread waits for it has work', () => {
	assert.equal(sleepOf({ blocked: waiting(STACK_OF.lock) }), 'waiting');
	assert.equal(sleepOf({ blocked: waiting(STACK_OF.condition) }), 'waiting');
	assert.equal(sleepOf({ blocked: waiting(STACK_OF.lock, { tid: 73 }) }), 'idle', 'another one');
});

test('who wakes others when it does not sleep may rest before and after', () => {
	assert.equal(sleepOf({ blocked: waiting(STACK_OF.lock, { did: 'ran' }) }), 'idle');
	const meanwhile = STACK_OF['disk read'];
	assert.equal(sleepOf({ blocked: waiting(STACK_OF.condition, { meanwhile }) }), 'idle');
});

test('who sleeps with a lock that others still wait for as the window ends has work', () => {
	const held = (tid: number, more: { readonly gil?: true } = {}) => ({
		blocked: [
			blocked(STACK_OF.lock, 3 * SECOND, {
				open: true,
				key: { tid: 72 },
				waker: nobody('[not woken yet]'),
				objects: [[futex('m', { owner: { tid, comm: 'worker' }, ...more }), 3 * SECOND]],
			}),
		],
	});
	assert.equal(sleepOf(held(71)), 'waiting');
	assert.equal(sleepOf(held(73)), 'idle');
	// Who sleeps in Python has given the GIL up.
	assert.equal(sleepOf(held(71, { gil: true })), 'idle');
	const file = (pid: number) => ({
		blocked: [blocked(STACK_OF['file lock'], SECOND, { key: { pid: 74, tid: 74 } })],
		lockHolders: new Map([[74, { pid, comm: 'worker' }]]),
	});
	assert.equal(sleepOf(file(70)), 'waiting');
	assert.equal(sleepOf(file(75)), 'idle');
});

test('a parent waits for the end of a program, whose work a sleep is not', () => {
	assert.equal(sleepOf({ blocked: waiting(STACK_OF.child) }), 'idle');
});

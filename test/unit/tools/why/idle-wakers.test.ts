/** When a wait is idle by who ended it: rule 4 of docs/tools/why.md. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Key } from '../../../../src/aggregate/row-key.js';
import type { Waker } from '../../../../src/aggregate/stack-rows.js';
import type { WaitKind } from '../../../../src/aggregate/wait-kind-rules.js';
import type { WaitObject } from '../../../../src/aggregate/wait-object.js';
import { type Fate, fateOf, isNotWoken } from '../../../../src/tools/why/idle.js';
import { interrupt, nobody, pipe, STACK_OF, stack, tcp, waker } from './support.js';

/** Of a wait for a condition variable; traced are those of these numbers. */
function fate(by: Waker | undefined, ...traced: readonly number[]): Fate {
	const isTraced = ({ tid }: Key) => traced.includes(Number(tid));
	const frames = stack(STACK_OF.condition);
	return fateOf({ frames, ...(by ? { waker: by } : {}) }, undefined, isTraced);
}

/** Who was blocked meanwhile. */
function waited(kind: WaitKind, rest: { object?: WaitObject; waker?: Waker; tid?: number } = {}) {
	const { object, tid = 91, waker: by } = rest;
	return waker('was blocked', STACK_OF[kind], {
		key: { context: 'thread', pid: 90, tid, comm: `t${tid}` },
		...(object ? { objects: [{ object, value: 1, count: 1, variance: 0 }] } : {}),
		...(by ? { waker: by } : {}),
	});
}

test('nobody, or nobody that was seen, or what the thread had to begin for: idle', () => {
	assert.equal(fate(undefined), 'idle');
	assert.equal(fate(nobody('[not woken yet]')), 'idle');
	assert.equal(fate(nobody('[waker not seen]')), 'idle');
	assert.equal(fate(waker('did not exist yet')), 'idle');
});

test('a waker that there was no room for may have done anything', () => {
	assert.equal(fate(nobody('[waker lost]')), 'undecided');
});

test('a thread that ran, or waited for a CPU, made it wait; of one that is not told of nobody knows', () => {
	assert.equal(fate(waker('ran')), 'busy');
	assert.equal(fate(waker('waited for a CPU')), 'busy');
	assert.equal(fate(waker(undefined)), 'undecided');
});

test('interrupts: of disks somebody had asked for something; of timers and the network nobody here', () => {
	assert.equal(fate(interrupt({ context: 'softirq', irq: 'block' })), 'busy');
	for (const irq of ['timer', 'network', 'scheduler'])
		assert.equal(fate(interrupt({ context: 'softirq', irq })), 'idle', irq);
	assert.equal(fate(interrupt({ context: 'hardirq', irq: 'timer' })), 'idle');
	assert.equal(fate(interrupt({ context: 'hardirq' })), 'idle');
	assert.equal(fate(interrupt({ context: 'scheduler' })), 'idle');
});

test('a waker that was blocked: as its own wait is, by the same rules', () => {
	assert.equal(fate(waited('disk read')), 'busy');
	assert.equal(fate(waited('sleep')), 'busy');
	assert.equal(fate(waited('socket accept')), 'idle');
	assert.equal(fate(waited('poll', { object: tcp() })), 'busy');
	assert.equal(fate(waited('poll', { object: tcp({ accepted: true }) })), 'idle');
	assert.equal(fate(waited('poll')), 'idle');
});

test('and so on through all of them: the last one decides', () => {
	const through = (last: Waker) =>
		waited('condition', { tid: 92, waker: waited('pipe', { object: pipe('read'), waker: last }) });
	assert.equal(fate(through(waker('ran'))), 'busy');
	assert.equal(fate(through(waker('did not exist yet'))), 'idle');
	assert.equal(fate(through(waker(undefined))), 'undecided');
	assert.equal(fate(through(nobody('[not woken yet]'))), 'idle');
	assert.equal(fate(through(interrupt({ context: 'softirq', irq: 'block' }))), 'busy');
	assert.equal(fate(through(waited('signal', { tid: 93 }))), 'idle');
	assert.equal(fate(through(waited('disk', { tid: 93 }))), 'busy');
});

test('only the largest of what a waker waited for counts', () => {
	const share = (object: WaitObject, value: number) => ({ object, value, count: 1, variance: 0 });
	const [answer, request] = [tcp(), tcp({ accepted: true })];
	const of = (...objects: readonly WaitObject[]) =>
		waker('was blocked', STACK_OF.poll, {
			objects: objects.map((object, at) => share(object, 9 - at)),
		});
	assert.equal(fate(of(answer, request)), 'busy');
	assert.equal(fate(of(request, answer)), 'idle');
});

test('what a traced thread did is told of it already, unless it was idle', () => {
	assert.equal(fate(waker('ran'), 91), 'follows');
	assert.equal(fate(waker('ran'), 92), 'busy');
	assert.equal(fate(waited('disk read'), 91), 'follows');
	assert.equal(fate(waker(undefined), 91), 'follows');
	assert.equal(fate(waited('socket accept'), 91), 'idle');
	assert.equal(fate(waker('did not exist yet'), 91), 'idle');
});

test('also behind threads that are not traced', () => {
	const behind = (last: Waker) => waited('condition', { tid: 92, waker: last });
	assert.equal(fate(behind(waker('ran')), 91), 'follows');
	assert.equal(fate(behind(waker('ran')), 92), 'follows');
	assert.equal(fate(behind(waker('ran')), 93), 'busy');
	assert.equal(fate(behind(waited('signal')), 91), 'idle');
	// Its own lock: that is told with the lock, and the thread behind it with itself.
	assert.equal(fate(waited('lock', { tid: 92, waker: waker('ran') }), 91), 'busy');
});

test('a thread that is called like nobody is somebody', () => {
	// 15 bytes: as long as a name may be.
	const named = waker('ran', 'spy', {
		key: { context: 'thread', pid: 90, tid: 91, comm: '[not woken yet]' },
	});
	assert.equal(isNotWoken(named), false);
	assert.equal(fate(named), 'busy');
	assert.equal(isNotWoken(nobody('[not woken yet]')), true);
	assert.equal(isNotWoken(nobody('[waker not seen]')), false);
});

test('chains of a thousand wakers have an end', () => {
	let last: Waker = waker('ran');
	for (let tid = 1000; tid < 2000; tid++) last = waited('condition', { tid, waker: last });
	assert.equal(fate(last), 'busy');
	assert.equal(fate(last, 91), 'follows');
});

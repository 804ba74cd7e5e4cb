/** When a wait is idle by what it was for: rules 1 to 3 of docs/tools/why.md. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WAIT_KINDS, type WaitKind } from '../../../../src/aggregate/wait-kind-rules.js';
import { waitKind } from '../../../../src/aggregate/wait-kinds.js';
import type { WaitObject } from '../../../../src/aggregate/wait-object.js';
import { type Fate, fateOf, kindOf, nameOf } from '../../../../src/tools/why/idle.js';
import { file, futex, nobody, pipe, STACK_OF, stack, tcp, unix, waker } from './support.js';

const noneTraced = () => false;
const allTraced = () => true;

/** What it is if its waker ran, and what it is if nobody ended it. */
function fates(kind: WaitKind, object?: WaitObject): readonly [ran: Fate, nobody: Fate] {
	const frames = stack(STACK_OF[kind]);
	return [
		fateOf({ frames, waker: waker('ran') }, object, noneTraced),
		fateOf({ frames }, object, noneTraced),
	];
}

/** By the waker: what ran had made it wait, and where there was nobody it was for nothing. */
const BY_WAKER = ['busy', 'idle'] as const;
const BUSY = ['busy', 'busy'] as const;
const IDLE = ['idle', 'idle'] as const;

/** Without an object. */
const OF_KINDS: Readonly<Record<WaitKind, readonly [Fate, Fate]>> = {
	'disk read': BUSY,
	'disk write': BUSY,
	disk: BUSY,
	'page fault': BUSY,
	'swap-in': BUSY,
	'memory reclaim': BUSY,
	'file lock': BUSY,
	'file server': BUSY,
	'socket receive': BY_WAKER,
	'socket send': BUSY,
	'socket accept': IDLE,
	'socket connect': BUSY,
	'unix socket': BY_WAKER,
	pipe: BY_WAKER,
	poll: BY_WAKER,
	io_uring: BY_WAKER,
	lock: BUSY,
	condition: BY_WAKER,
	futex: BY_WAKER,
	'kernel lock': BUSY,
	sleep: BUSY,
	child: BUSY,
	signal: IDLE,
	stopped: BUSY,
	event: BY_WAKER,
	terminal: IDLE,
	IPC: BY_WAKER,
	'virtual CPU': IDLE,
	'kernel thread': IDLE,
};

test('the stacks of these tests are of the kinds that they are listed for', () => {
	for (const kind of WAIT_KINDS) assert.equal(waitKind(stack(STACK_OF[kind])), kind);
});

test('of each kind of wait: always work, never, or as the waker tells', () => {
	for (const kind of WAIT_KINDS) assert.deepEqual(fates(kind), OF_KINDS[kind], kind);
});

test('a kind that has no rule is as its waker tells', () => {
	const frames = stack('main | ksys_strange strange_wait');
	assert.equal(kindOf(frames, undefined), 'other: strange_wait');
	assert.equal(fateOf({ frames, waker: waker('ran') }, undefined, noneTraced), 'busy');
	assert.equal(fateOf({ frames }, undefined, noneTraced), 'idle');
	assert.equal(fateOf({ frames: [], waker: waker('ran') }, undefined, noneTraced), 'busy');
});

test('data from a socket: a request if the other side has connected, an answer if this side has', () => {
	for (const kind of ['socket receive', 'poll'] as const) {
		assert.deepEqual(fates(kind, tcp({ accepted: true })), IDLE);
		assert.deepEqual(fates(kind, tcp()), BUSY);
		assert.deepEqual(fates(kind, tcp({ remote: '' })), IDLE);
	}
});

test('a unix socket that was accepted is a request; of another one nobody knows who connected', () => {
	for (const kind of ['unix socket', 'poll'] as const) {
		assert.deepEqual(fates(kind, unix({ accepted: true })), IDLE);
		assert.deepEqual(fates(kind, unix()), BY_WAKER);
	}
});

test('who writes into a pipe has work; who reads waits for its writer', () => {
	assert.deepEqual(fates('pipe', pipe('write')), BUSY);
	assert.deepEqual(fates('pipe', pipe('read')), BY_WAKER);
});

test('what an object is does not change a wait whose kind says all', () => {
	assert.deepEqual(fates('socket send', tcp({ accepted: true })), BUSY);
	assert.deepEqual(fates('socket connect', tcp({ remote: '' })), BUSY);
	assert.deepEqual(fates('disk read', file('/srv/a')), BUSY);
	assert.deepEqual(fates('socket accept', tcp()), IDLE);
});

test('objects that tell nothing leave it to the waker', () => {
	const event: WaitObject = { type: 'event', name: 'eventfd' };
	const unknown: WaitObject = { type: 'unknown', why: 'no room' };
	assert.deepEqual(fates('event', event), BY_WAKER);
	assert.deepEqual(fates('socket receive', unknown), BY_WAKER);
	assert.deepEqual(fates('condition', futex('jobs')), BY_WAKER);
});

test("the variable of CPython's interpreter lock makes any futex a lock, and has a name", () => {
	const gil = futex('_PyRuntime+0x5a8');
	const frames = stack(STACK_OF.condition);
	for (const each of [gil, futex('GIL', { gil: true })]) {
		assert.equal(kindOf(frames, each), 'lock');
		assert.equal(nameOf(each), 'of the Python interpreter (GIL)');
	}
	assert.equal(fateOf({ frames }, gil, noneTraced), 'busy');
	for (const other of [
		futex('GIL'),
		futex('my_PyRuntime'),
		futex('_PyRuntimes'),
		futex(''),
		tcp(),
		undefined,
	]) {
		assert.equal(kindOf(frames, other), 'condition');
		assert.equal(nameOf(other), undefined);
		assert.equal(kindOf(stack(STACK_OF.child), other), 'child');
	}
});

test('a lock is work of its own even if its waker is traced; a child, and who takes data, is told there', () => {
	const by = waker('ran');
	const fate = (kind: WaitKind, isTraced: () => boolean) =>
		fateOf({ frames: stack(STACK_OF[kind]), waker: by }, undefined, isTraced);
	for (const kind of ['lock', 'disk read', 'sleep', 'file lock', 'stopped'] as const)
		assert.equal(fate(kind, allTraced), 'busy');
	for (const kind of ['child', 'socket send', 'socket connect'] as const) {
		assert.equal(fate(kind, allTraced), 'follows');
		assert.equal(fate(kind, noneTraced), 'busy');
	}
	for (const kind of ['socket accept', 'signal'] as const)
		assert.equal(fate(kind, allTraced), 'idle');
	// It has not ended, so that nobody tells of it.
	const alone = { frames: stack(STACK_OF.child), waker: nobody('[not woken yet]') };
	assert.equal(
		fateOf(alone, undefined, ({ pid }) => pid !== undefined),
		'busy',
	);
});

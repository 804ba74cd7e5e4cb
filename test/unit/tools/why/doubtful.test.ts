/** What makes a reason another one, or a verdict less sure: many objects, waits beyond all time, sockets of no peer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fateOf } from '../../../../src/tools/why/idle.js';
import { verdictOf } from '../../../../src/tools/why/verdict.js';
import { answerTo, blocked, file, SECOND, STACK_OF, sample, tcp, thread } from './support.js';

/** A second of reading each of so many files, and two on a CPU. */
const reads = (files: number) =>
	answerTo({
		threads: [thread((files + 2) * SECOND, 2 * SECOND)],
		samples: [sample('main parse', 40)],
		blocked: Array.from({ length: files }, (_, at) =>
			blocked(STACK_OF['disk read'], SECOND, { count: 9, objects: [[file(`/f${at}`), SECOND]] }),
		),
	}).reasons.map(({ kind, object, total_ns }) => [kind, object, total_ns / SECOND]);

test('many files of one kind of waits are one reason, and a few are one each', () => {
	assert.deepEqual(reads(5), [
		['disk read', '', 5],
		['on CPU', '', 2],
	]);
	// All of the disk is more than the CPU time.
	assert.deepEqual(reads(3), [
		['disk read', '/f0', 1],
		['on CPU', '', 2],
		['disk read', '/f1', 1],
		['disk read', '/f2', 1],
	]);
});

test('waits that come to more than there was time make a verdict less sure', () => {
	const doubt = (waited_s: number) =>
		verdictOf(
			answerTo({
				threads: [thread(10 * SECOND)],
				blocked: [blocked(STACK_OF.lock, waited_s * SECOND, { count: 9 })],
			}),
		);
	assert.deepEqual(doubt(10.2).because, []);
	assert.deepEqual(doubt(12.5).because, ['waits came to 20 % more than there was time']);
	assert.equal(doubt(12.5).confidence, 'unsure');
});

test('of UDP without a peer, a port of its own choice is a server; any port may be a client', () => {
	const fate = (protocol: string, local: string) =>
		fateOf(blocked(STACK_OF.poll, 1).row, tcp({ remote: '', protocol, local }), () => false);
	assert.equal(fate('udp', '0.0.0.0:53'), 'idle');
	assert.equal(fate('udp', '0.0.0.0:32767'), 'idle');
	assert.equal(fate('udp', '0.0.0.0:32768'), 'undecided');
	assert.equal(fate('tcp', '0.0.0.0:40000'), 'idle');
});

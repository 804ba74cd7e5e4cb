import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failRun, Stop } from '../../../src/run/stop.js';

test('a request ends a wait that has no end of its own', async () => {
	const stop = new Stop();
	const waiting = stop.wait(undefined);
	setImmediate(() => stop.request());
	await waiting;
	assert.equal(stop.requested, true);
	assert.equal(stop.signal, undefined);
	await stop.wait(1000); // is over at once
	stop.close();
});

test('a signal is a request by the user; afterwards signals are left to others', async () => {
	const before = process.listenerCount('SIGTERM');
	const stop = new Stop();
	const waiting = stop.wait(1000);
	process.kill(process.pid, 'SIGTERM');
	await waiting;
	assert.equal(stop.signal, 'SIGTERM');
	stop.close();
	assert.equal(process.listenerCount('SIGTERM'), before);
});

test('periods follow each other without drift', async () => {
	const stop = new Stop();
	const begin = performance.now();
	for (let i = 0; i < 5; i++) {
		await stop.wait(0.02);
		assert.ok(performance.now() - begin >= (i + 1) * 20 - 1, 'never too early');
	}
	stop.close();
});

test('what nobody catches ends the run that goes on, and is its error', async () => {
	assert.equal(failRun(new Error('nobody')), false);
	const stop = new Stop();
	const waiting = stop.wait(undefined);
	setImmediate(() => failRun(new Error('first')));
	await waiting;
	assert.equal(stop.reason, 'failed');
	assert.equal(failRun(new Error('second')), true);
	assert.throws(() => stop.check(), /first/);
	stop.close();
	assert.equal(failRun(new Error('nobody')), false);
});

test('a signal ends what is interruptible, and not the run; the one after it is another matter', async () => {
	const stop = new Stop();
	const until = (signal: AbortSignal) =>
		new Promise<string>((resolve) => {
			// As a request would, it keeps the process waiting.
			const waiting = setInterval(() => {}, 1000);
			signal.addEventListener('abort', () => {
				clearInterval(waiting);
				resolve('ended');
			});
		});
	// The first of the run: it asks to stop as well.
	let heard = 0;
	stop.onSignal(() => heard++);
	const first = stop.interruptible(until);
	process.kill(process.pid, 'SIGTERM');
	assert.equal(await first, 'ended');
	assert.deepEqual([stop.requested, stop.signal, heard], [true, 'SIGTERM', 1]);
	// Not the first: it does nothing else.
	const second = stop.interruptible(until);
	process.kill(process.pid, 'SIGINT');
	assert.equal(await second, 'ended');
	assert.deepEqual([stop.signal, heard], ['SIGTERM', 1]);
	// Neither what throws nor what is over takes signals.
	await assert.rejects(
		stop.interruptible(() => Promise.reject(new Error('own'))),
		/own/,
	);
	stop.close();
});

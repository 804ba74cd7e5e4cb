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

/** By which a user, a terminal that goes away, a supervisor and a script end a program. */
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1'] as const) {
	test(`${signal} is a request by the user; afterwards it is left to others`, async () => {
		const before = process.listenerCount(signal);
		// What nobody listens to would end this test.
		const spare = () => undefined;
		process.on(signal, spare);
		const stop = new Stop();
		const waiting = stop.wait(1000);
		process.kill(process.pid, signal);
		await stop.heard();
		assert.equal(stop.signal, signal);
		assert.equal(stop.requested, true);
		stop.close();
		await waiting;
		process.off(signal, spare);
		assert.equal(process.listenerCount(signal), before);
	});
}

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

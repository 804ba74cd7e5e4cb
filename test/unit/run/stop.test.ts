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

test('periods follow each other without drift; one that is over before it is waited for is left out', async (t) => {
	let now_ms = 5000;
	t.mock.method(performance, 'now', () => now_ms);
	t.mock.method(globalThis, 'setTimeout', (done: () => void, time_ms: number) => {
		now_ms += time_ms;
		queueMicrotask(done);
	});
	const stop = new Stop();
	const endOfWait = async (): Promise<number> => {
		await stop.wait(1);
		return now_ms;
	};
	assert.equal(await endOfWait(), 6000);
	now_ms += 300; // a report
	assert.equal(await endOfWait(), 7000);
	now_ms += 990;
	assert.equal(await endOfWait(), 8000);
	now_ms += 2500;
	assert.equal(await endOfWait(), 11_500);
	now_ms += 200;
	assert.equal(await endOfWait(), 12_500);
	stop.close();
});

test('a period that is longer than a timer can be is waited for to its end', async (t) => {
	const [day_s, second_ms] = [86_400, 1000];
	let now_ms = 0;
	t.mock.method(performance, 'now', () => now_ms);
	const slept: number[] = [];
	// A longer one would be over at once: man of setTimeout, 2^31 - 1.
	t.mock.method(globalThis, 'setTimeout', (done: () => void, time_ms: number) => {
		assert.ok(time_ms < 2 ** 31, `${time_ms}`);
		slept.push(time_ms);
		now_ms += time_ms;
		queueMicrotask(done);
	});
	const stop = new Stop();
	await stop.wait(60 * day_s);
	assert.equal(now_ms, 60 * day_s * second_ms);
	assert.equal(slept.length, 3);
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

test('why it ended early is what was said first, and so is the error', () => {
	const stop = new Stop();
	stop.request('max_overhead');
	stop.request('nobody_left');
	assert.equal(stop.reason, 'max_overhead');
	stop.close();
	const user = new Stop();
	user.request();
	user.request('failed');
	assert.equal(user.reason, undefined);
	user.close();
	const failed = new Stop();
	failed.fail(new Error('first'));
	failed.fail(new Error('second'));
	assert.equal(failed.reason, 'failed');
	assert.throws(() => failed.check(), { message: 'first' });
	failed.close();
});

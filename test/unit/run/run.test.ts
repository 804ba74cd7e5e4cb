/** COMMAND: held until tracing has begun, run as often as was asked for, and what becomes of its status and of signals. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import tty from 'node:tty';
import type { TableFindings } from '../../../src/aggregate/report.js';
import { started } from '../../../src/run/inherited.js';
import { temporaryFolder } from '../symbolize/support.js';
import { objectsIn, Time, traced } from './traced.js';

const table = (rows: readonly object[] = []) =>
	({ kind: 'table', about: {}, rows }) as TableFindings;
const joined = (all: readonly TableFindings[]) => table(all.flatMap(({ rows }) => rows));
const shell = (text: string) => ['sh', '-c', text];

test('COMMAND begins once tracing has, and what is measured of it begins then', async (t) => {
	const time = new Time(t);
	const file = join(temporaryFolder(), 'ran');
	const released: number[] = [];
	const reader = () => ({
		begin: () => {
			assert.ok(!existsSync(file));
			time.pass(1000);
		},
		released: (at_ns: number) => {
			released.push(at_ns / 1e9);
			time.pass(2000);
		},
		read: async () => table([{ text: readFileSync(file, 'utf8') }]),
	});
	const command = shell(`echo ran > ${file}; exit 3`);
	const found = await traced(t, time, { reader, command, raw: { json: true } });
	assert.equal(found.status, 3);
	const [{ rows, duration_s, ended, command: words }] = objectsIn(found);
	assert.deepEqual([rows[0].text, duration_s, ended], ['ran\n', 2, undefined]);
	assert.deepEqual(words, ['tstrace', 'counter', ...command]);
	assert.deepEqual(released, [1]);
	assert.match(found.said, /^Tracing what there is\.\.\.$/m);
});

test('COMMAND several times: one result, of all of the time, and the first status that is not 0', async (t) => {
	const time = new Time(t);
	const file = join(temporaryFolder(), 'rounds');
	const listeners = process.listenerCount('exit');
	let round = 0;
	const reader = () => ({
		begin: () => time.pass(1000),
		released: () => time.pass(2000),
		read: async () => table([{ n: ++round }]),
		end: () => time.pass(5000),
	});
	// 0, 5, 0
	const command = shell(`echo >> ${file}; test $(wc -l < ${file}) -ne 2 || exit 5`);
	const raw = { json: true };
	const found = await traced(t, time, { reader, command, raw, times: 3, joined });
	assert.equal(found.status, 5);
	const [only, ...others] = objectsIn(found);
	assert.deepEqual(others, []);
	assert.deepEqual(only.rows, [{ n: 1 }, { n: 2 }, { n: 3 }]);
	assert.equal(only.duration_s, 18);
	assert.deepEqual(found.said.match(/^(Tracing|cost)/gm), ['Tracing', 'cost']);
	assert.equal(process.listenerCount('exit'), listeners);
});

test('what ends a round early ends all of them', async (t) => {
	const time = new Time(t);
	time.ownShare = 1000;
	let rounds = 0;
	const reader = () => ({
		released: () => time.pass(2000),
		read: async () => table([{ n: ++rounds }]),
	});
	const raw = { json: true, maxOverhead: 1 };
	const found = await traced(t, time, { reader, command: ['true'], raw, times: 3, joined });
	assert.deepEqual(
		objectsIn(found).map(({ rows, ended }) => [rows, ended]),
		[[[{ n: 1 }], 'max_overhead']],
	);
});

/** As at a terminal, or not. */
function onTerminal(t: TestContext, isTerminal: boolean): void {
	const mock = t.mock.method(tty, 'isatty', (fd: number) => fd === 0 && isTerminal);
	syncBuiltinESMExports();
	t.after(() => {
		mock.mock.restore();
		syncBuiltinESMExports();
	});
}

for (const isTerminal of [false, true]) {
	const where = isTerminal ? 'at a terminal' : 'elsewhere';
	test(`a signal before COMMAND has begun, ${where}: it never does`, async (t) => {
		const time = new Time(t);
		onTerminal(t, isTerminal);
		const file = join(temporaryFolder(), 'never');
		const reader = () => ({
			begin: () => void process.emit('SIGINT', 'SIGINT'),
			released: () => assert.fail(),
			read: async () => table(),
		});
		const { status } = await traced(t, time, { reader, command: ['touch', file], times: 3 });
		assert.equal(status, 128 + 2);
		assert.ok(!existsSync(file));
	});

	test(`a signal while COMMAND runs, ${where}: it gets it, but once`, async (t) => {
		const time = new Time(t);
		onTerminal(t, isTerminal);
		const statusAfter = async (signal: 'SIGINT' | 'SIGTERM', seconds: number) => {
			const reader = () => ({
				released: () => void setImmediate(() => process.emit(signal, signal)),
				read: async () => table(),
			});
			return (await traced(t, time, { reader, command: ['sleep', `${seconds}`] })).status;
		};
		assert.equal(await statusAfter('SIGTERM', 1000), 128 + 15);
		// From a terminal it has come by itself.
		const [seconds, status] = isTerminal ? [0.01, 0] : [1000, 128 + 2];
		assert.equal(await statusAfter('SIGINT', seconds), status);
	});
}

test('COMMAND has the descriptors that tstrace was started with, and no others', async (t) => {
	const time = new Time(t);
	const { open } = started;
	t.after(() => Object.assign(started, { open }));
	const has = async (fd: number) => {
		const command = shell(`test -e /proc/$$/fd/${fd}`);
		return (await traced(t, time, { reader: () => ({ read: async () => table() }), command }))
			.status;
	};
	Object.assign(started, { open: new Set([0, 1, 2, 3]) });
	assert.deepEqual([await has(3), await has(4)], [0, 1]);
	Object.assign(started, { open: new Set([0, 1, 2, 4]) });
	assert.deepEqual([await has(3), await has(4)], [1, 0]);
});

test('a pipe that nobody reads is not waited for once somebody wants an end', async (t) => {
	const time = new Time(t);
	const output = join(temporaryFolder(), 'pipe');
	execFileSync('mkfifo', [output]);
	const read = async () => {
		process.emit('SIGINT', 'SIGINT');
		return table();
	};
	const found = await traced(t, time, { reader: () => ({ read }), raw: { output }, interval_s: 1 });
	assert.match(`${found.error}`, /no process reads this pipe/);
});

test('with COMMAND a time is meant, and no process, also where one has that number', async (t) => {
	const reader = () => ({ read: async () => table() });
	const command = ['true', `${process.pid}`];
	const { said } = await traced(t, new Time(t), { reader, command, interval_s: process.pid });
	assert.doesNotMatch(said, /for process/);
});

/** Ctrl-C at bad moments: in start-up, while it reads what was counted, while nobody takes what it prints. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
	DETACHED,
	FullPipe,
	START_UP,
	stopIn,
	stoppedAfter,
	Target,
	TOOLS,
	untilNothingLeft,
} from './faults.js';
import { kernelObjects } from './kernel-objects.js';
import { reportsOf } from './reports.js';
import { Tracing, tstrace } from './support.js';

const SECOND_SIGNAL = 130;

for (const [tool = '', ...options] of TOOLS) {
	test(`${tool}, interrupted in every phase of its start-up, ends with a result`, async (t) => {
		for (const phase of START_UP) {
			await t.test(phase.name, async () => {
				const before = kernelObjects();
				const target = await Target.start();
				const args = [tool, ...options, '--json', '-v', '-p', `${target.pid}`];
				const tracing = Tracing.begin(args);
				await stopIn(tracing, phase);
				tracing.signal('SIGINT');
				tracing.signal('SIGCONT');
				const { status, stdout, stderr } = await tracing.end();
				assert.equal(status, 0, stderr);
				assert.ok(reportsOf(stdout).length >= 1, 'a report, if only of nothing');
				await untilNothingLeft(before);
				await target.isWhole();
			});
		}
	});

	test(`${tool}, interrupted while nobody takes its result: it waits, and all of it comes`, async () => {
		const before = kernelObjects();
		const target = await Target.start();
		const pipe = new FullPipe();
		const args = [tool, ...options, '--json', '-p', `${target.pid}`];
		const tracing = await Tracing.start(args, {}, pipe.by);
		tracing.signal('SIGINT');
		await stopIn(tracing, DETACHED);
		tracing.signal('SIGCONT');
		const { status, stdout, stderr } = await pipe.takeAll(tracing);
		assert.equal(status, 0, stderr);
		assert.equal(reportsOf(stdout)[0]?.tool, tool);
		await untilNothingLeft(before);
		await target.isWhole();
	});

	test(`${tool}, interrupted twice while nobody takes its result, leaves at once`, async () => {
		const before = kernelObjects();
		const target = await Target.start();
		const pipe = new FullPipe();
		const args = [tool, ...options, '--json', '-p', `${target.pid}`];
		const tracing = await Tracing.start(args, {}, pipe.by);
		tracing.signal('SIGINT');
		await stopIn(tracing, DETACHED);
		tracing.signal('SIGINT');
		tracing.signal('SIGCONT');
		assert.equal((await tracing.end()).status, SECOND_SIGNAL);
		pipe.close();
		await untilNothingLeft(before);
		await target.isWhole();
	});
}

test('a result every moment that nobody takes: Ctrl-C ends it, and what comes is whole', async () => {
	const before = kernelObjects();
	const pipe = new FullPipe();
	const tracing = await Tracing.start(['syscount', '--json', '0.1'], {}, pipe.by);
	// Statistics are on for a moment only; it goes on though it is stuck in its first result.
	await stopIn(tracing, { name: 'statistics', reached: (_, held) => held.statistics });
	tracing.signal('SIGCONT');
	await stopIn(tracing, { name: 'none', reached: (_, held) => !held.statistics });
	tracing.signal('SIGINT');
	tracing.signal('SIGCONT');
	const { status, stdout, stderr } = await pipe.takeAll(tracing);
	assert.equal(status, 0, stderr);
	assert.ok(reportsOf(stdout).length >= 1);
	await untilNothingLeft(before);
});

/** What it says while COMMAND is held: before it loads, when it has, and before it lets COMMAND go. */
const HELD = ['runqlat: times waits ', 'runqlat: loaded ', 'Tracing '] as const;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
	test(`${signal} before COMMAND has begun: it never does`, async () => {
		const folder = mkdtempSync(join(tmpdir(), 'tstrace-'));
		const trace = join(folder, 'began');
		try {
			for (const said of HELD) {
				const before = kernelObjects();
				const tracing = await stoppedAfter(said, ['runqlat', '-v', '--', 'touch', trace]);
				tracing.signal(signal);
				tracing.signal('SIGCONT');
				const { status, stderr } = await tracing.end();
				assert.equal(status, 128 + constants.signals[signal], stderr);
				assert.ok(!existsSync(trace), `COMMAND ran, though the signal came after ${said}`);
				await untilNothingLeft(before);
			}
			// That it would, if nothing happened:
			assert.equal(tstrace(['runqlat', '-q', '--', 'touch', trace]).status, 0);
			assert.ok(existsSync(trace));
		} finally {
			rmSync(folder, { recursive: true });
		}
	});
}

/** Ctrl-C at bad moments: in start-up, while it reads what was counted, while nobody takes what it prints. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as read } from 'node:timers/promises';
import {
	DETACHED,
	FullPipe,
	type Phase,
	START_UP,
	stopIn,
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

/** Whether COMMAND still waits to be let go, in the shell that is to become it. */
function isHeld(tracing: Tracing): boolean {
	const children = readFileSync(`/proc/${tracing.pid}/task/${tracing.pid}/children`, 'utf8');
	return (
		children !== '' &&
		readFileSync(`/proc/${children.trim()}/cmdline`, 'utf8').includes('read -r go')
	);
}

/** Starts it, and stops it in a phase of its start-up while COMMAND is held; it may take several tries. */
async function stopWhileHeld(args: readonly string[], phase: Phase): Promise<Tracing> {
	for (let tries = 0; tries < 50; tries++) {
		const tracing = Tracing.begin(args);
		await stopIn(tracing, phase);
		// So that all it has said is read: it says "Tracing" before it lets COMMAND go.
		await read();
		await read();
		if (isHeld(tracing) && !tracing.stderr.includes('Tracing ')) return tracing;
		await tracing.end('SIGKILL');
	}
	throw new Error(`COMMAND was never held when ${phase.name}`);
}

/** A COMMAND that does not end by itself, nor tstrace with it: no phase passes while one looks away. */
const STAYS = ['sh', '-c', 'touch "$0"; read -r end'];

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
	test(`${signal} before COMMAND has begun: it never does`, async () => {
		const folder = mkdtempSync(join(tmpdir(), 'tstrace-'));
		const trace = join(folder, 'began');
		try {
			for (const phase of START_UP.slice(1, 4)) {
				const before = kernelObjects();
				rmSync(trace, { force: true });
				const tracing = await stopWhileHeld(['runqlat', '-v', '--', ...STAYS, trace], phase);
				rmSync(trace, { force: true });
				tracing.signal(signal);
				tracing.signal('SIGCONT');
				const { status, stderr } = await tracing.end();
				assert.equal(status, 128 + constants.signals[signal], stderr);
				assert.ok(!existsSync(trace), `COMMAND ran, though the signal came when ${phase.name}`);
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

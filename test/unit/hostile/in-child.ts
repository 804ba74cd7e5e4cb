/**
 * Runs parsers over files in a process of its own, since a hang and a full heap cannot be caught. Each job is a
 * test file of its own, so that they run side by side.
 */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Message } from './child.js';

/** No step takes one on an idle machine; what is not bounded takes hours. */
const HANG_MS = 120_000;
const HEAP_MIB = 256;
/** The heap, and buffers of 64 MiB, the largest part of a file that is read at once, some at a time. */
const PEAK_MIB = 1024;

const CHILD = fileURLToPath(new URL('child.js', import.meta.url));

/** A test: each parser ends as it is documented, soon, in little memory. `least`: how many steps the job has. */
export function testJob(job: string, least: number): void {
	test(`${job}: every parser ends as it is documented, soon, in bounded memory`, async (t) => {
		// Ours, as a child that is killed cannot remove it.
		const folder = mkdtempSync(join(tmpdir(), 'tstrace-hostile-'));
		t.after(() => rmSync(folder, { recursive: true }));
		const { failures, steps, peak_kb } = await run(job, folder);
		assert.deepEqual(failures, []);
		assert.ok(steps > least, `${steps} steps`);
		assert.ok(peak_kb < PEAK_MIB * 1024, `${peak_kb} kB`);
	});
}

interface Result {
	readonly failures: readonly string[];
	readonly steps: number;
	readonly peak_kb: number;
}

function run(job: string, folder: string): Promise<Result> {
	const execArgv = [`--max-old-space-size=${HEAP_MIB}`, '--enable-source-maps'];
	const child = fork(CHILD, [job, folder], {
		execArgv,
		stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
	});
	const failures: string[] = [];
	let [steps, peak_kb, stderr] = [0, 0, ''];
	let step: string | undefined = 'the start';
	return new Promise((resolve) => {
		const hang = setTimeout(() => {
			failures.push(`${step}: hangs`);
			child.kill('SIGKILL');
		}, HANG_MS);
		child.stderr?.on('data', (data) => {
			stderr += data;
		});
		child.on('message', (message: Message) => {
			hang.refresh();
			peak_kb = message.peak_kb ?? peak_kb;
			if (message.failure !== undefined) {
				failures.push(message.failure);
				return;
			}
			step = message.step;
			steps++;
		});
		child.on('close', (code, signal) => {
			clearTimeout(hang);
			if (step !== undefined) failures.push(`${step}: ends with ${signal ?? code} ${stderr}`);
			resolve({ failures, steps, peak_kb });
		});
	});
}

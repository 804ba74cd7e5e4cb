/** SIGUSR1 opens node's debugger to every user of the machine, unless somebody sees to it. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { test } from 'node:test';
import { untilNothingLeft } from './faults.js';
import { kernelObjects } from './kernel-objects.js';
import { reportsOf } from './reports.js';
import { hasEnded, Tracing, until } from './support.js';

const SIGUSR1_STATUS = 138;

/** Whether a process listens to anybody: its sockets, among those that listen (man 5 proc_pid_net). */
function listens(pid: number): boolean {
	const listening = ['tcp', 'tcp6'].flatMap((name) =>
		readFileSync(`/proc/${pid}/net/${name}`, 'utf8')
			.split('\n')
			.map((line) => line.trim().split(/\s+/))
			.flatMap((fields) => (fields[3] === '0A' ? [`socket:[${fields[9]}]`] : [])),
	);
	return readdirSync(`/proc/${pid}/fd`).some((fd) => {
		try {
			return listening.includes(readlinkSync(`/proc/${pid}/fd/${fd}`));
		} catch {
			return false;
		}
	});
}

for (const args of [['runqlat'], ['profile'], ['flamegraph', '-'], ['doctor']]) {
	test(`SIGUSR1 again and again while ${args[0]} starts: nobody can debug it`, async () => {
		for (let i = 0; i < 5; i++) {
			const tracing = Tracing.begin(args);
			// It is node by now; the shell before it has no debugger.
			await until(
				() => !readFileSync(`/proc/${tracing.pid}/cmdline`, 'utf8').startsWith('/bin/sh'),
			);
			let ended = false;
			const ending = tracing.end().then((finished) => {
				ended = true;
				return finished;
			});
			while (!ended) {
				tracing.signal('SIGUSR1');
				try {
					assert.ok(!listens(tracing.pid));
				} catch (error) {
					if (error instanceof assert.AssertionError) throw error;
				}
				await new Promise(setImmediate);
			}
			assert.doesNotMatch((await ending).stderr, /Debugger listening/);
		}
	});
}

test('SIGUSR1 ends a run with its result, as SIGTERM does', async () => {
	const objects = kernelObjects();
	const tracing = await Tracing.start(['runqlat', '--json']);
	const { status, stdout, stderr } = await tracing.end('SIGUSR1');
	assert.equal(status, 0, stderr);
	assert.equal(reportsOf(stdout).length, 1);
	assert.doesNotMatch(stderr, /[Dd]ebugger/);
	await untilNothingLeft(objects);
});

test('SIGUSR1 is handed on to COMMAND', async () => {
	const tracing = await Tracing.start(['runqlat', '--json', '--', 'sleep', '1000']);
	const children = readFileSync(`/proc/${tracing.pid}/task/${tracing.pid}/children`, 'utf8');
	const { status, stdout } = await tracing.end('SIGUSR1');
	assert.equal(status, SIGUSR1_STATUS);
	assert.equal(reportsOf(stdout).length, 1);
	assert.ok(hasEnded(Number(children.trim())));
});

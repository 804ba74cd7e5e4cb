/** Stacks as programs keep them: whatever else is walked and kept at the same time, each is the one that was. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { usersOfPlaces } from './held-maps.js';
import { ALL, leakReport, leaksOf } from './leaks.js';
import { otherLosses, unseenIn } from './reports.js';
import { stackReport, sumOf, withFrame } from './stacks.js';
import { Tracing, tstrace, Workload } from './support.js';

const PATHS = resolve('build/workloads/paths');
/** As test/workloads/paths.c has it. */
const PATH_BITS = 15;

test('stacks of two CPUs: none is kept where the other CPU has its own', async () => {
	// More than a block of frames holds, on each.
	const COUNT = 400;
	const workloads = await Promise.all(
		[0, 1].map((cpu) =>
			Workload.startBy('taskset', '-c', `${cpu}`, PATHS, `${cpu * 1000}`, `${COUNT}`),
		),
	);
	const pids = workloads.map(({ pid }) => pid);
	const tracing = await Tracing.start(['offcputime', '--exact', '--json', '-p', pids.join()]);
	const slept = await Promise.all(workloads.map((workload) => workload.work()));
	const { stacks, lost } = stackReport(await tracing.end('SIGINT'));
	for (const workload of workloads) await workload.end();
	assert.deepEqual(otherLosses(lost), {});
	for (const [cpu, pid] of pids.entries()) {
		const own = stacks.filter(({ key }) => key.pid === pid);
		const paths = withFrame(withFrame(own, 'path_ends'), 'do_nanosleep').map(({ frames }) => {
			const main = frames.indexOf('main');
			const bits = frames.slice(main + 1, main + 1 + PATH_BITS);
			return bits.reduce((sum, name, bit) => sum + (name === 'one' ? 2 ** bit : 0), 0);
		});
		const wrong = paths.filter((path) => path < cpu * 1000 || path >= cpu * 1000 + COUNT);
		assert.deepEqual(wrong, []);
		assert.equal(new Set(paths).size, paths.length);
		const [due = 0] = slept[cpu] ?? [];
		assert.ok(due > 0.9 * COUNT && paths.length >= due - unseenIn(lost), `${paths.length}`);
	}
});

test('a walk that interrupts others has a place of its own, and gives back what it has taken', async () => {
	const workload = await Workload.start('leaks', 'all');
	const tracing = await Tracing.start(['memleak', '--json', '-p', `${workload.pid}`]);
	// All but the last, as walks do that are interrupted.
	const TAKEN = [1, 1, 1];
	usersOfPlaces(tracing.pid, TAKEN);
	await workload.work();
	const users = usersOfPlaces(tracing.pid);
	const { stacks, lost } = leakReport(await tracing.end('SIGINT'));
	await workload.end();
	assert.deepEqual(leaksOf(stacks), ALL);
	assert.deepEqual(lost, {});
	assert.equal(users.length, TAKEN.length + 1);
	for (const [place, cpus] of users.entries())
		for (const each of cpus) assert.equal(each, TAKEN[place] ?? 0, JSON.stringify(users));
});

test('a program that becomes another one, with other functions at the same addresses: each has its own', () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-alike-'));
	try {
		// Of the same name, too.
		const programs = ['one', 'other'].map((name) => {
			mkdirSync(join(folder, name));
			const program = join(folder, name, 'alike');
			copyFileSync(`build/workloads/alike-${name}`, program);
			return program;
		});
		const args = ['offcputime', '--exact', '--json', '--state', 'S', '--', ...programs];
		const { stacks, lost } = stackReport(tstrace(args));
		for (const name of ['wait_as_one', 'wait_as_other']) {
			const count = sumOf(withFrame(stacks, name), 'count');
			assert.ok(count <= 5 && count >= 5 - unseenIn(lost), `${name}: ${count}`);
		}
	} finally {
		rmSync(folder, { recursive: true });
	}
});

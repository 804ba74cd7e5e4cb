/** What nobody expects: an error in a timer, in the reading of a ring, while it is all closed. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Target, untilNothingLeft } from './faults.js';
import { kernelObjects } from './kernel-objects.js';
import { reportsOf } from './reports.js';
import { hasEnded, importing, Tracing, Workload } from './support.js';

/** Part of the stack in which it fails, and what then runs there. */
const PLACES = [
	{ at: 'EventRows.drain', args: ['runqlat', '--slower', '1'] },
	{ at: '#batches', args: ['timehist'] },
	{ at: 'Sideband.drain', args: ['profile', '--json', '-F', '999'] },
	{ at: 'Sideband.drain', args: ['offcputime', '--json'] },
	{ at: 'listOnTimeout', args: ['memleak', '--json'] },
	{ at: 'listOnTimeout', args: ['syscount', '--json'] },
] as const;

for (const { at, args } of PLACES) {
	const [tool] = args;
	const failing = { ...importing('throws'), THROWS_IN: at };

	test(`${tool}: an error in ${at} ends the run, with its result and one line`, async () => {
		const objects = kernelObjects();
		const storm = await Workload.start('storm');
		storm.begin();
		const tracing = Tracing.begin([...args, '-p', `${storm.pid}`], failing);
		const { status, stdout, stderr } = await tracing.end();
		await storm.end();
		assert.equal(status, 1, stderr);
		assert.match(stderr, new RegExp(`^tstrace ${tool}: thrown by the test\n$`, 'm'));
		assert.doesNotMatch(stderr, /^ +at /m);
		if ((args as readonly string[]).includes('--json'))
			assert.equal(reportsOf(stdout).at(-1)?.ended, 'failed');
		await untilNothingLeft(objects);
	});

	test(`${tool}: an error in ${at} ends COMMAND, too`, async () => {
		const objects = kernelObjects();
		const command = ['sh', '-c', 'while :; do sleep 0.001; done'];
		const tracing = await Tracing.start([...args, '--follow', '--', ...command], failing);
		const children = readFileSync(`/proc/${tracing.pid}/task/${tracing.pid}/children`, 'utf8');
		assert.equal((await tracing.end()).status, 1);
		assert.ok(hasEnded(Number(children.trim())));
		await untilNothingLeft(objects);
	});
}

test('a file that cannot be closed: its error is told, and all else is released', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-throw-'));
	try {
		const objects = kernelObjects();
		const target = await Target.start();
		const path = join(folder, 'result');
		const failing = { ...importing('throws'), CLOSE_FAILS: path };
		const args = ['profile', '--json', '-o', path, '-p', `${target.pid}`, '0.2'];
		const { status, stderr } = await Tracing.begin(args, failing).end();
		assert.equal(status, 1);
		assert.match(stderr, /^tstrace profile: cannot write to .*result: EIO\n$/m);
		assert.equal(reportsOf(readFileSync(path, 'utf8')).length, 1);
		await untilNothingLeft(objects);
		await target.isWhole();
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test('a sampler that cannot be closed: the result is there, COMMAND ends, one line', async () => {
	const failing = { ...importing('throws'), CLOSE_FAILS: 'anon_inode:[perf_event]' };
	const tracing = await Tracing.start(['profile', '--json', '--', 'sleep', '1000'], failing);
	const children = readFileSync(`/proc/${tracing.pid}/task/${tracing.pid}/children`, 'utf8');
	const { status, stderr } = await tracing.end('SIGTERM');
	assert.equal(status, 1, stderr);
	assert.match(stderr, /^tstrace profile: thrown\n$/m);
	assert.ok(hasEnded(Number(children.trim())));
});

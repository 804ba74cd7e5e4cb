/** schedlat: a process that has ended, and that nobody waits for, is counted once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { hasEnded, Tracing, until, Workload } from './support.js';
import { schedstat } from './times.js';

/** Its standard input never ends, and its parent reads from another one. */
const HOG = 'build/workloads/hog < /dev/zero & read line';
const ENOUGH_NS = 1e8;

test('interval by interval, a zombie has what it ran until it ended, and nothing afterwards', async () => {
	const tracing = await Tracing.start(['schedlat', '--json', '0.3']);
	const hog = await Workload.startBy('sh', '-c', HOG);
	const reports = () => tracing.stdout.split('\n').length - 1;
	const further = async (count: number) => {
		const before = reports();
		await until(() => reports() >= before + count);
	};
	await further(2);
	const { run_ns } = schedstat(hog.pid);
	await until(() => schedstat(hog.pid).run_ns >= run_ns + ENOUGH_NS);
	process.kill(hog.pid, 'SIGKILL');
	await until(() => hasEnded(hog.pid));
	await further(4);
	const all_ns = schedstat(hog.pid).run_ns;
	const { stdout } = await tracing.end('SIGINT');
	await hog.end();
	const runtimes = reportsOf(stdout)
		.flatMap(({ rows }) => rows)
		.filter(({ key }) => (key as { tid?: number } | undefined)?.tid === hog.tid)
		.map(({ runtime }) => Number(runtime));
	const sum_ns = runtimes.reduce((sum, each) => sum + each, 0);
	const off = Math.abs(sum_ns - all_ns) / all_ns;
	assert.ok(off <= 0.01, `${runtimes} ns are not the ${all_ns} ns that it ran`);
});

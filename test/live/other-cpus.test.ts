/** `-C`: what happens on other CPUs is not counted, whatever a tool counts. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { sawSomething } from './reports.js';
import { Tracing, Workload } from './support.js';

const THREADS = '200';
/** Tools, and what they are to count: all of it happens on CPU 0. */
const CASES: ReadonlyArray<readonly [tool: string, workload: string]> = [
	['offcputime --exact --no-edges --state S', 'churn'],
	['offcputime --exact --no-edges --state R', 'churn'],
	['offwaketime --exact --no-edges --hops 2', 'churn'],
	['syscount', 'churn'],
	['memleak', 'leaks'],
	['memleak --growth', 'churn'],
	['memleak --comm churn', 'churn'],
];

for (const [tool, name] of CASES) {
	test(`${tool}: what happens on CPU 0 is told by -C 0, and not by -C 1`, async () => {
		const words = name === 'leaks' ? ['many', THREADS] : [THREADS];
		const path = resolve('build/workloads', name);
		const workload = await Workload.startBy('taskset', '-c', '0', path, ...words);
		const whose = tool.includes('--comm') ? [] : ['-p', `${workload.pid}`];
		const trace = (cpu: string) =>
			Tracing.start([...tool.split(' '), '--json', '-C', cpu, ...whose]);
		const [there, elsewhere] = [await trace('0'), await trace('1')];
		await workload.work();
		const [seen, other] = [await there.end('SIGINT'), await elsewhere.end('SIGINT')];
		await workload.end();
		assert.deepEqual([seen.status, other.status], [0, 0], seen.stderr + other.stderr);
		assert.ok(sawSomething(seen.stdout), seen.stdout);
		assert.ok(!sawSomething(other.stdout), other.stdout);
	});
}

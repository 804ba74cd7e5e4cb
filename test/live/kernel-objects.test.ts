/** Whom the tests of what is left take for their own. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { isOurs } from './kernel-objects.js';
import { Workload } from './support.js';

const CALLS = resolve('build/workloads/calls');

for (const [where, by] of [
	['in another folder', ['env', '-C', '/']],
	['in another root', ['unshare', '--root', '/', '--wd', '/']],
	['in a PID namespace', ['unshare', '--pid', '--fork', '--kill-child', 'env', '-C', '/']],
	['without an environment', ['env', '-i']],
] as const) {
	test(`whoever we start is ours, ${where}`, async () => {
		const [file, ...words] = by;
		const workload = await Workload.startBy(file, ...words, CALLS, 'missing', '1');
		assert.ok(isOurs(workload.starter));
		await workload.end();
	});
}

test('whoever started us is not ours', () => {
	assert.ok(!isOurs(process.ppid));
	assert.ok(isOurs(process.pid));
});

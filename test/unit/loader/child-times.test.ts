/** The CPU time of children, beside what the kernel says elsewhere. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { childTimes } from '../../../src/loader/child-times.js';

/** man 5 proc_pid_stat: cutime and cstime, in hundredths of a second. */
function timesOfProc() {
	const fields = readFileSync('/proc/self/stat', 'utf8')
		.replace(/^.*\) /s, '')
		.split(' ');
	return { user_s: Number(fields[13]) / 100, system_s: Number(fields[14]) / 100 };
}

test('what children took in user space and in the kernel, in seconds', () => {
	const before = { own: childTimes(), proc: timesOfProc() };
	const isEnough = (part: 'user_s' | 'system_s') => timesOfProc()[part] >= before.proc[part] + 0.1;
	while (!isEnough('system_s'))
		spawnSync('dd', ['if=/dev/zero', 'of=/dev/null', 'bs=64k', 'count=50000', 'status=none']);
	while (!isEnough('user_s'))
		spawnSync('sh', ['-c', 'i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done']);
	const after = { own: childTimes(), proc: timesOfProc() };
	for (const part of ['user_s', 'system_s'] as const) {
		const own_s = after.own[part] - before.own[part];
		const proc_s = after.proc[part] - before.proc[part];
		// A hundredth at either end.
		assert.ok(Math.abs(own_s - proc_s) <= 0.021, `${part}: ${own_s}, not ${proc_s}`);
	}
});

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
	// Some tenths of a second, most of them in the kernel.
	spawnSync('dd', ['if=/dev/zero', 'of=/dev/null', 'bs=64k', 'count=400000', 'status=none']);
	spawnSync('sh', ['-c', 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done']);
	const after = { own: childTimes(), proc: timesOfProc() };
	for (const part of ['user_s', 'system_s'] as const) {
		const own_s = after.own[part] - before.own[part];
		const proc_s = after.proc[part] - before.proc[part];
		assert.ok(proc_s >= 0.05, `${part}: ${proc_s}`);
		// A hundredth at either end.
		assert.ok(Math.abs(own_s - proc_s) <= 0.021, `${part}: ${own_s}, not ${proc_s}`);
	}
});

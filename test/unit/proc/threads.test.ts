import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { commsOf, keptComm, processesThere, threadsThere } from '../../../src/proc/threads.js';

test('names as the kernel keeps them, though /proc shows more of kernel threads', () => {
	const kept = {
		nginx: 'nginx',
		'php-fpm': 'php-fpm',
		'kworker/0:1': 'kworker/0:1',
		'kworker/0:1-events': 'kworker/0:1',
		'kworker/u8:2+flush-8:0': 'kworker/u8:2',
		'kworker/0:0H-kblockd': 'kworker/0:0H',
		'kworker/R-rcu_gp': 'kworker/R-rcu_g',
		'kworker/R-kblockd-kblockd': 'kworker/R-kbloc',
		rcu_tasks_trace_kthread: 'rcu_tasks_trace',
		'': '',
	};
	for (const [shown, comm] of Object.entries(kept)) assert.equal(keptComm(shown), comm, shown);
});

test('this process is there, with its threads', () => {
	const comm = readFileSync('/proc/self/comm', 'utf8').trimEnd();
	assert.ok([...processesThere()].some((each) => each.id === process.pid && each.comm === comm));
	const own = [...threadsThere([process.pid])];
	assert.ok(own.some(({ id }) => id === process.pid));
	assert.ok(commsOf(own).has(comm));
	assert.deepEqual([...threadsThere([0])], []);
});

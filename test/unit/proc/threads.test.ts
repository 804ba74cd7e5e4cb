import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
	commOf,
	commsOf,
	keptComm,
	processesThere,
	processIds,
	threadIds,
	threadsOf,
	threadsThere,
} from '../../../src/proc/threads.js';
import { fakeProc, NOBODY } from './fake-proc.js';

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

const [FIRST, SECOND, OTHER] = [NOBODY, NOBODY + 2, NOBODY + 10];

test('names are of threads, whole; numbers are in their order', (t) => {
	const folder = `/proc/${FIRST}`;
	fakeProc(t, {
		folders: {
			'/proc': ['self', `${OTHER}`, '1000', '999', `${FIRST}`, 'cpuinfo'],
			[`${folder}/task`]: [`${SECOND}`, `${FIRST}`],
		},
		files: {
			[`${folder}/comm`]: 'main\n',
			[`${folder}/task/${FIRST}/comm`]: 'main\n',
			[`${folder}/task/${SECOND}/comm`]: ' a b \n',
		},
	});
	assert.deepEqual(processIds(), [999, 1000, FIRST, OTHER]);
	assert.deepEqual(threadIds(FIRST), [FIRST, SECOND]);
	assert.deepEqual(
		[...threadsThere([FIRST])],
		[
			{ id: FIRST, comm: 'main' },
			{ id: SECOND, comm: ' a b ' },
		],
	);
	assert.equal(commOf(FIRST), 'main');
	// Only what /proc shows of kernel threads is longer.
	assert.deepEqual([...commsOf([{ id: 1, comm: 'kworker/0:1-events' }])], ['kworker/0:1']);
});

test('threads that were chosen, and all of each process that was, each once', (t) => {
	fakeProc(t, { folders: { [`/proc/${FIRST}/task`]: [`${SECOND}`, `${FIRST}`] } });
	assert.deepEqual(threadsOf({ pids: [FIRST], tids: [OTHER, SECOND] }), [OTHER, SECOND, FIRST]);
	assert.deepEqual(threadsOf({ tids: [OTHER] }), [OTHER]);
	assert.deepEqual(threadsOf({ pids: [FIRST, OTHER] }), [FIRST, SECOND]);
});

test('a name of 15 bytes is whole, and of a longer one no more is kept', () => {
	assert.equal(keptComm('fifteen-letters'), 'fifteen-letters');
	// 16 bytes in 15 letters.
	assert.equal(keptComm('fifteen-letterü'), 'fifteen-letter\ufffd');
});

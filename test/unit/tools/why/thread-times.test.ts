/** What threads did within a window. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ThreadAccount } from '../../../../src/tools/why/thread-accounts.js';
import { timeWithin } from '../../../../src/tools/why/thread-times.js';

const account = (times: Pick<ThreadAccount, 'born_ns' | 'at_ns' | 'run_ns'>): ThreadAccount => ({
	...{ kernelPid: 5, pid: 6, tid: 7, comm: 'worker', traced: true, preempted: false },
	...{ ready_ns: 0, read_bytes: 0, written_bytes: 0 },
	...times,
});

test('what a thread ran within a window, of what is known for a longer or a shorter time', () => {
	const window = { begin_ns: 1000, end_ns: 2000 };
	const last = account({ born_ns: 10, at_ns: 2200, run_ns: 650 });
	const who = { pid: 6, tid: 7, comm: 'worker' };
	// Asked 100 ns after the window began and 200 after it ended: 550 ns in 1,100 are 500 in 1,000.
	assert.deepEqual(timeWithin(window, { at_ns: 1100, run_ns: 100 }, last), {
		...who,
		life_ns: 1000,
		run_ns: 500,
	});
	// It ran all the time; no more than there was.
	assert.equal(timeWithin(window, { at_ns: 1100, run_ns: -500 }, last)?.run_ns, 1000);
	// Born within it, and ended.
	const brief = { ...last, born_ns: 1500, at_ns: 1800, run_ns: 120 };
	assert.deepEqual(timeWithin(window, undefined, brief), { ...who, life_ns: 300, run_ns: 120 });
	// Before and after it.
	assert.equal(timeWithin(window, undefined, { ...last, at_ns: 900 }), undefined);
	assert.equal(timeWithin(window, undefined, { ...last, born_ns: 2100 }), undefined);
});

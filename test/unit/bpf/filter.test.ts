/** Those that were chosen by number, as /proc tells of them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import {
	byNumber,
	type Filter,
	namedProcesses,
	processOf,
	requireSubjects,
	subjectsEnded,
} from '../../../src/bpf/filter.js';
import { threadIds } from '../../../src/proc/threads.js';
import { withFiles } from '../loader/replaced.js';

const NOBODY: Filter = {
	pids: [],
	tids: [],
	comms: [],
	cgroups: [],
	cpus: [],
	userThreads: false,
	kernelThreads: false,
	follow: false,
};

test('tracing goes on as long as one of those that were chosen lives', () => {
	const ended = spawnSync(process.execPath, ['--version']).pid;
	for (const kind of ['pids', 'tids'] as const) {
		const haveEnded = (...numbers: readonly number[]) =>
			subjectsEnded({ ...NOBODY, [kind]: numbers });
		assert.equal(haveEnded(process.pid), false);
		assert.equal(haveEnded(ended), true);
		assert.equal(haveEnded(ended, process.pid), false);
		assert.equal(haveEnded(process.pid, ended), false);
		assert.equal(haveEnded(ended, ended), true);
	}
	// Kinds of filters narrow each other: when all of one kind have ended, nothing is left.
	assert.equal(subjectsEnded({ ...NOBODY, pids: [process.pid], tids: [ended] }), true);
	assert.equal(subjectsEnded({ ...NOBODY, comms: ['bash'] }), false, 'who has a name may come');
});

/** A thread of this process that is not its first. */
function anotherThread(): number {
	return threadIds(process.pid).find((tid) => tid !== process.pid) ?? assert.fail();
}

test('the processes that are meant: by their numbers, by threads of theirs, and COMMAND', () => {
	const ended = spawnSync(process.execPath, ['--version']).pid;
	const named = (filter: Partial<Filter>, command?: number) =>
		namedProcesses({ filter: { ...NOBODY, ...filter }, command, words: [] });
	assert.deepEqual(named({}), []);
	assert.deepEqual(named({ comms: ['node'] }), []);
	assert.deepEqual(named({ pids: [1, 2], tids: [anotherThread(), ended] }, 3), [
		1,
		2,
		process.pid,
		3,
	]);
	assert.deepEqual(named({ pids: [process.pid], tids: [process.pid] }, process.pid), [process.pid]);
	assert.equal(processOf(anotherThread()), process.pid);
	assert.equal(processOf(ended), undefined);
	for (const [filter, isByNumber] of [
		[{}, false],
		[{ comms: ['x'], cpus: [1] }, false],
		[{ pids: [1] }, true],
		[{ tids: [1] }, true],
	] as const)
		assert.equal(byNumber({ ...NOBODY, ...filter }), isByNumber);
});

test('a number that is no process is said to be what it is', () => {
	const require = (filter: Partial<Filter>) => () => requireSubjects({ ...NOBODY, ...filter });
	const [own, thread] = [process.pid, anotherThread()];
	const ended = spawnSync(process.execPath, ['--version']).pid;
	require({ pids: [own], tids: [own, thread] })();
	assert.throws(require({ pids: [own, thread] }), {
		message: `${thread} is a thread of process ${own}: give -t ${thread} for this thread, or -p ${own} for the process`,
	});
	for (const filter of [{ pids: [own, ended] }, { tids: [own, ended] }])
		assert.throws(require(filter), {
			message: `there is no process or thread ${ended}: it has ended, or is in another PID namespace`,
		});
	// One that has ended, and that nobody has waited for, can be sent a signal still.
	const zombie = { [`/proc/${own}/stat`]: `${own} (node) Z 1 1` };
	assert.throws(() => withFiles(zombie, require({ tids: [own] })), {
		message: /^there is no process or thread/,
	});
	// It is there, but /proc does not show it.
	const hidden = new Error('ENOENT');
	const files = { [`/proc/${own}/stat`]: hidden };
	assert.throws(() => withFiles(files, require({ tids: [own] })), {
		message: new RegExp(`^process ${own} is hidden from you: /proc is mounted with hidepid; `),
	});
});

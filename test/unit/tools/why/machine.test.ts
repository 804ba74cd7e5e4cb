/** Who had the CPUs and disks of a machine besides those who are traced. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MachineEvidence, machineOf } from '../../../../src/tools/why/machine.js';
import type { ThreadAccount } from '../../../../src/tools/why/thread-accounts.js';
import { SECOND } from './support.js';

const MIB = 1 << 20;

function account(tid: number, rest: Partial<ThreadAccount> = {}): ThreadAccount {
	return {
		...{ kernelPid: tid, born_ns: tid, at_ns: 1, run_ns: 0, pid: tid, tid, comm: `c${tid}` },
		...{ traced: false, ready_ns: 0, preempted: false, read_bytes: 0, written_bytes: 0 },
		...rest,
	};
}

function machine(rest: Partial<MachineEvidence>) {
	const none = { begin: [], end: [], ended: [], own_ns: 0 };
	return machineOf({ cpus: 4, tracer: 3, time: { busy_ns: 0, stolen_ns: 0 }, ...none, ...rest });
}

test('a process is the sum of its threads since the window began, named as its first one', () => {
	const inside = { pid: 5, comm: 'pool' };
	const { others } = machine({
		begin: [
			account(5, { run_ns: 3 * SECOND, read_bytes: 7 * MIB, comm: 'server' }),
			account(6, { ...inside, run_ns: SECOND, written_bytes: MIB }),
		],
		end: [
			account(6, { ...inside, run_ns: 1.5 * SECOND, written_bytes: 4 * MIB }),
			account(5, { run_ns: 5 * SECOND, read_bytes: 9 * MIB, comm: 'server' }),
			// It began within the window.
			account(7, { ...inside, run_ns: SECOND, read_bytes: 100 }),
			// It did nothing.
			account(8),
		],
	});
	assert.deepEqual(others, [
		{
			...{ pid: 5, disk_pid: 5, comm: 'server', processes: 1, run_ns: 3.5 * SECOND },
			...{ read_bytes: 2 * MIB + 100, written_bytes: 3 * MIB },
		},
	]);
});

test('a number that is used again is another thread', () => {
	const [first] = machine({
		begin: [account(5, { run_ns: 8 * SECOND })],
		end: [account(5, { born_ns: 6, run_ns: 9 * SECOND })],
	}).others;
	assert.equal(first?.run_ns, 9 * SECOND);
});

test('processes of one name are one line, by the one that ran longest, and the one that used disks most; those outside have no number', () => {
	const { others } = machine({
		end: [
			account(5, { comm: 'cc1', run_ns: SECOND, read_bytes: 3 }),
			account(6, { comm: 'cc1', run_ns: 2 * SECOND, written_bytes: 2 }),
			account(7, { comm: 'as', run_ns: 4 * SECOND }),
			account(1007, { pid: 0, tid: 0, comm: 'far', run_ns: 0.5 * SECOND }),
			account(1008, { pid: 0, tid: 0, comm: 'away', run_ns: 0.2 * SECOND }),
		],
	});
	const none = { read_bytes: 0, written_bytes: 0, processes: 1 };
	// Number 6 ran longer, and 5 read more than 6 wrote.
	const cc1 = { pid: 6, disk_pid: 5, comm: 'cc1', processes: 2 };
	assert.deepEqual(others, [
		{ ...none, pid: 7, disk_pid: 7, comm: 'as', run_ns: 4 * SECOND },
		{ ...cc1, run_ns: 3 * SECOND, read_bytes: 3, written_bytes: 2 },
		{ ...none, pid: 0, disk_pid: 0, comm: 'far', run_ns: 0.5 * SECOND },
		{ ...none, pid: 0, disk_pid: 0, comm: 'away', run_ns: 0.2 * SECOND },
	]);
});

test("a traced process is none of the others, and its bytes count once: its first thread's, and of one that ended", () => {
	const traced = { traced: true };
	const { own, others } = machine({
		begin: [
			account(5, { ...traced, read_bytes: MIB }),
			account(6, { ...traced, pid: 5, read_bytes: 2 * MIB }),
			account(9, { ...traced, written_bytes: MIB }),
		],
		end: [account(5, { ...traced, read_bytes: 9 * MIB, run_ns: SECOND })],
		ended: [
			// What it read is in what its process's first thread has.
			account(6, { ...traced, pid: 5, read_bytes: 7 * MIB }),
			// The process as a whole ended.
			account(9, { ...traced, written_bytes: 4 * MIB }),
		],
	});
	assert.deepEqual(own, { read_bytes: 8 * MIB, written_bytes: 3 * MIB });
	assert.deepEqual(others, []);
});

test('a process of which one thread is traced is traced, whichever thread comes last', () => {
	const [first, second] = [account(5, { traced: true, read_bytes: 4 }), account(6, { pid: 5 })];
	const ran = { ...second, run_ns: SECOND };
	for (const end of [
		[first, ran],
		[ran, first],
	]) {
		const { own, others } = machine({ end });
		assert.deepEqual([own.read_bytes, others], [4, []]);
	}
});

test('CPU time that nobody has who is known is of others that ended; it is never below nothing', () => {
	const end = [account(5, { run_ns: 2 * SECOND })];
	const time = { busy_ns: 7 * SECOND, stolen_ns: SECOND };
	const { ended_ns, stolen_ns } = machine({ end, time, own_ns: SECOND });
	assert.deepEqual([ended_ns, stolen_ns], [4 * SECOND, SECOND]);
	assert.deepEqual(
		machine({ end: [...end, account(3, { run_ns: 1.5 * SECOND })], time, own_ns: SECOND }),
		{
			...{ cpus: 4, tracer_ns: 1.5 * SECOND, ended_ns: 2.5 * SECOND, stolen_ns: SECOND },
			own: { read_bytes: 0, written_bytes: 0 },
			others: machine({ end }).others,
		},
	);
	assert.equal(machine({ end, time, own_ns: 6 * SECOND }).ended_ns, 0);
});

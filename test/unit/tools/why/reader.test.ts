/** What `why` makes of what programs tell of a window: whose time it is, what of it counts, and what else the machine did. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { off_cpu as layout } from '../../../../src/generated/off_cpu.js';
import { onlineCpus } from '../../../../src/perf/cpus.js';
import { recordOf } from '../../waits/wait-record.js';
import { structs } from '../structs.js';
import { type Account, account, BEGIN_NS, END_NS, keyOf, reading, S } from './window.js';

const { stack_key } = layout.structs;
const { COUNT_ONE } = layout.enums.stack_constant;
const { WAIT_BLOCKED, WAIT_FOR_CPU } = layout.enums.wait_record_type;

test('whose time it is: of threads that were traced at some time, what of it is within the window, and how much of that they ran', async (t) => {
	const { found, attached } = reading(t, {
		begin: [
			account(70, { born_ns: S, at_ns: 9 * S, run_ns: 3 * S }),
			account(71, { born_ns: S, at_ns: BEGIN_NS, run_ns: 0 }),
			account(99, { born_ns: S, at_ns: BEGIN_NS, run_ns: 5 * S, traced: 0 }),
		],
		end: [
			account(70, { born_ns: S, at_ns: 20 * S, run_ns: 3 * S + 5.5 * S }),
			// Renamed: it is traced no more.
			account(71, { born_ns: S, at_ns: END_NS, run_ns: S, traced: 0 }),
			account(73, { born_ns: 16 * S, at_ns: END_NS, run_ns: 2 * S }),
			account(99, { born_ns: S, at_ns: END_NS, run_ns: 9 * S, traced: 0 }),
		],
		ended: [account(72, { born_ns: 12 * S, at_ns: 15 * S, run_ns: S })],
	});
	const { found: answer } = await found();
	assert.deepEqual(attached, ['account_ended']);
	assert.equal(answer.window_ns, 10 * S);
	assert.deepEqual(
		answer.threads.map(({ tid, comm, life_ns, run_ns }) => [tid, comm, life_ns, run_ns]),
		[
			// Of the 5.5 s in the 11 s between the two accounts.
			[70, 'thread 70', 10 * S, 5 * S],
			[71, 'thread 71', 10 * S, S],
			[73, 'thread 73', 4 * S, 2 * S],
			[72, 'thread 72', 3 * S, S],
		],
	);
	assert.deepEqual(answer.target, '-p 70');
	assert.deepEqual(answer.lockHolders.get(70)?.pid, 1);
});

test('what a thread has last is told by when that was, and not by who tells it', async (t) => {
	const { found } = reading(t, {
		end: [account(70, { born_ns: 11 * S, at_ns: END_NS, run_ns: 4 * S })],
		// It took the place of the first thread, which ended.
		ended: [account(70, { born_ns: 11 * S, at_ns: 13 * S, run_ns: S, comm: 'before' })],
	});
	const { found: answer } = await found();
	assert.deepEqual(
		answer.threads.map(({ comm, life_ns, run_ns }) => [comm, life_ns, run_ns]),
		[['thread 70', 9 * S, 4 * S]],
	);
});

test('what else the machine did in the window: other processes, tstrace, what has ended, and the hypervisor', async (t) => {
	const own = process.pid;
	const { found } = reading(t, {
		begin: [
			account(70, { born_ns: S, at_ns: BEGIN_NS, run_ns: 100 * S }),
			account(99, { born_ns: S, at_ns: BEGIN_NS, run_ns: 50 * S, traced: 0, read_bytes: 5 }),
			account(own, { born_ns: S, at_ns: BEGIN_NS, run_ns: 7 * S, traced: 0 }),
		],
		end: [
			account(70, { born_ns: S, at_ns: END_NS, run_ns: 102 * S, written_bytes: 3 }),
			account(99, { born_ns: S, at_ns: END_NS, run_ns: 54 * S, traced: 0, read_bytes: 9 }),
			account(own, { born_ns: S, at_ns: END_NS, run_ns: 8 * S, traced: 0 }),
		],
		ended: [account(72, { born_ns: 12 * S, at_ns: 15 * S, run_ns: S, written_bytes: 4 })],
		...{ busy: 1100, stolen: 30 },
	});
	const { machine } = (await found()).found;
	assert.deepEqual(machine, {
		...{ cpus: onlineCpus().length, tracer_ns: S, stolen_ns: 0.3 * S },
		// Of 11 s, 2 and 1 of those that are traced, 4 of another one, and 1 of tstrace.
		ended_ns: 3 * S,
		own: { read_bytes: 0, written_bytes: 7 },
		others: [
			{
				...{ pid: 99, disk_pid: 99, comm: 'thread 99', processes: 1, run_ns: 4 * S },
				...{ read_bytes: 4, written_bytes: 0 },
			},
		],
	});
});

test('who waits for a CPU as the window ends has waited up to then, and not for longer than the window', async (t) => {
	const at = { born_ns: S, at_ns: BEGIN_NS };
	const end = (tid: number, more: Account) => account(tid, { born_ns: S, at_ns: END_NS, ...more });
	const { found } = reading(t, {
		begin: [account(70, at), account(71, at), account(72, at), account(73, at)],
		end: [
			end(70, { ready_ns: 18 * S, preempted: 1 }),
			end(71, { ready_ns: 4 * S }),
			end(72, { ready_ns: 0 }),
			end(99, { ready_ns: 11 * S, traced: 0 }),
			// It has got another name, and is traced no more.
			end(73, { ready_ns: 12 * S, traced: 0 }),
		],
		waits: [
			recordOf({
				type: WAIT_FOR_CPU,
				pid: 1072,
				counts: 1,
				begin_ns: 11 * S,
				end_ns: 12 * S,
				weighed_ns: S,
				count: COUNT_ONE,
			}),
		],
	});
	const { found: answer, worst } = await found();
	assert.deepEqual(
		answer.account
			.filter(({ place }) => place === 'runnable')
			.map(({ kind, total_ns }) => [kind, total_ns]),
		[
			['run queue', 11 * S],
			['preempted', 2 * S],
		],
	);
	assert.deepEqual(
		worst.map(({ tid, begin_ns, end_ns }) => [tid, begin_ns, end_ns]),
		[
			[71, 0, 10 * S],
			[70, 8 * S, 10 * S],
			[72, S, 2 * S],
		],
	);
});

/** One wait that ended. */
const blocked = (tid: number, begin_ns: number, end_ns: number, counts = 1) => {
	const wait = { type: WAIT_BLOCKED, pid: 1000 + tid, counts, begin_ns, end_ns };
	const bytes = recordOf({ ...wait, weighed_ns: end_ns - begin_ns, count: COUNT_ONE });
	const { offset, size } = layout.structs.wait_record.fields.key;
	bytes.set(new Uint8Array(structs(stack_key, [keyOf(tid)]).buffer).subarray(0, size), offset);
	return bytes;
};

test('waits and samples: how long each wait was, that some go on, and how many samples there are', async (t) => {
	const times = { born_ns: S, at_ns: BEGIN_NS };
	const last = { born_ns: S, at_ns: END_NS };
	const key = new Uint8Array(structs(stack_key, [keyOf(71)]).buffer);
	const parts = new Uint8Array(BigUint64Array.of(3n * BigInt(S), 0n, 0n, 0n).buffer);
	const { found } = reading(t, {
		begin: [account(70, times), account(71, times)],
		end: [account(70, { ...last, run_ns: 5 * S }), account(71, last)],
		// The first is of one that may wake others.
		waits: [
			blocked(99, 11 * S, 19 * S, 0),
			blocked(70, 8 * S, 11 * S),
			blocked(70, 12 * S, 14 * S),
		],
		open: [{ key, parts, tid: 71 }],
		samples: [[70, 6]],
	});
	const { found: answer, worst, stacks, about } = await found();
	assert.deepEqual(about, { sampled_hz: 199 });
	assert.equal(answer.samples, 6);
	const running = answer.account.find(({ place }) => place === 'running');
	assert.deepEqual([running?.total_ns, running?.count], [5 * S, 6]);
	// Of the first wait only what is in the window: 1 s, 2 s, and 3 s that go on.
	const idle = answer.account.filter(({ place }) => place === 'idle' || place === 'waiting');
	assert.equal(
		idle.reduce((sum, { total_ns }) => sum + total_ns, 0),
		6 * S,
	);
	assert.equal(Math.max(...idle.map(({ durations }) => durations.max)), 3 * S);
	assert.ok(worst.every(({ begin_ns, end_ns }) => begin_ns >= 0 && end_ns <= 10 * S));
	assert.equal(
		stacks.reduce((sum, { value }) => sum + value, 0),
		11 * S,
	);
	assert.deepEqual(new Set(stacks.map(({ key: { pid } }) => pid)), new Set([70, 71]));
});

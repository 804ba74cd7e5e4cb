/** The answer for programs, and all of the window as stacks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { apartOf } from '../../../../src/aggregate/row-key.js';
import type { Evidence } from '../../../../src/tools/why/evidence.js';
import { answerJson } from '../../../../src/tools/why/json.js';
import { verdictOf } from '../../../../src/tools/why/verdict.js';
import { windowRows } from '../../../../src/tools/why/window-rows.js';
import { anyEvidence } from './any-evidence.js';
import {
	answerTo,
	blocked,
	file,
	forCpu,
	interrupt,
	MS,
	partsTo,
	SECOND,
	STACK_OF,
	sample,
	thread,
	waker,
	weighed,
} from './support.js';

function jsonOf(rest: Partial<Evidence>): Record<string, unknown> {
	const answer = answerTo(rest);
	return JSON.parse(JSON.stringify(answerJson(answer, verdictOf(answer), [])));
}

const key = (tid: number, comm: string) => ({ context: 'thread', pid: 90, tid, comm });
const GIVEN: Partial<Evidence> = {
	threads: [
		thread(8 * SECOND, 1.5 * SECOND),
		thread(4 * SECOND, 0.5 * SECOND, { pid: 60, tid: 61, comm: 'own' }),
	],
	samples: [sample('main calc', 3), sample('main', 1, { pid: 60, tid: 61, comm: 'own' })],
	blocked: [
		blocked(STACK_OF['disk read'], 3 * SECOND, {
			count: 12.34,
			variance: 9e12,
			durations: [weighed([200 * MS, 11], [800 * MS, 1.34])],
			objects: [[file('/data'), 3 * SECOND]],
			waker: waker('was blocked', STACK_OF['file lock'], {
				key: key(91, 'first'),
				objects: [{ object: file('/lock'), value: 1, count: 1, variance: 0 }],
				waker: waker('ran', 'main hold', { key: key(92, 'last') }),
			}),
		}),
		blocked(STACK_OF['socket accept'], 2.5 * SECOND),
		blocked(STACK_OF.condition, 0.75 * SECOND, {
			waker: waker('ran', '', { key: { context: 'thread', pid: 60, tid: 61, comm: 'own' } }),
		}),
		blocked(STACK_OF.lock, SECOND, {
			waker: interrupt({ context: 'softirq', irq: 'timer' }, '<softirq: timer>'),
		}),
	],
};

test('sums, each another one, add up to the wall-clock time', () => {
	const { wall_ns, working_ns, idle_ns, following_ns, not_seen_ns, ...rest } = jsonOf(GIVEN);
	assert.equal(wall_ns, 12 * SECOND);
	assert.equal(working_ns, 6 * SECOND);
	assert.equal(idle_ns, 2.5 * SECOND);
	assert.equal(following_ns, 0.75 * SECOND);
	assert.equal(not_seen_ns, 2.75 * SECOND);
	const { window_ns, threads, samples, rule, confidence, because, next } = rest;
	assert.deepEqual([window_ns, threads, samples, rule], [10 * SECOND, 2, 4, 'waits']);
	assert.deepEqual([confidence, next], ['unsure', 'tstrace offcputime --by object -p 70 5']);
	assert.deepEqual(because, ['of 31 % of the time nothing was seen']);
	assert.match(
		rest.verdict as string,
		/^worker \(71\), a thread of worker \(70\), waits 50 % .*\.$/,
	);
});

test('a line of the account has shares of wall-clock time, a reason of working time', () => {
	const { account, reasons } = jsonOf(GIVEN) as {
		account: Record<string, unknown>[];
		reasons: Record<string, unknown>[];
	};
	assert.deepEqual(account[0], {
		...{ place: 'waiting', kind: 'disk_read', object: '/data', share: 0.25 },
		...{ total_ns: 3 * SECOND, error_ns: 3 * MS, count: 12.3 },
		...{ p50: 200_278_015, p99: 800 * MS, max: 800 * MS },
	});
	const [first] = reasons;
	const { frames, ended_by, threads, functions, function: name, ...line } = first ?? {};
	assert.deepEqual(line, { ...account[0], share: 0.5, ended_by_share: 1 });
	assert.deepEqual(frames, ['main', 'load', 'ksys_read', 'vfs_read', 'io_schedule']);
	assert.deepEqual([name, functions], ['load', [{ name: 'load', total_ns: 3 * SECOND }]]);
	assert.deepEqual(threads, [{ pid: 70, tid: 71, comm: 'worker', total_ns: 3 * SECOND }]);
	assert.deepEqual(ended_by, [
		{
			...{ comm: 'first', pid: 90, tid: 91, did: 'blocked', kind: 'file_lock', object: '/lock' },
			...{ function: 'guard', frames: ['main', 'guard', 'fcntl_setlk'] },
		},
		{
			...{ comm: 'last', pid: 90, tid: 92, did: 'ran' },
			...{ function: 'hold', frames: ['main', 'hold'] },
		},
	]);
	const unseen = account.filter(({ place }) => place === 'not_seen');
	assert.deepEqual(
		unseen.map(({ total_ns }) => total_ns),
		[2.75 * SECOND],
	);
	const follows = account.filter(({ for_traced }) => for_traced === true);
	assert.deepEqual(
		follows.map(({ kind, total_ns }) => [kind, total_ns]),
		[['condition', 0.75 * SECOND]],
	);
	const lock = reasons.find(({ kind }) => kind === 'lock');
	assert.deepEqual(lock?.ended_by, [
		{ comm: '<softirq: timer>', did: null, function: '', frames: [] },
	]);
});

test('what else the machine did: each value is in its own field', () => {
	const other = (n: number) => ({
		...{
			pid: 300 + n,
			disk_pid: 200 + n,
			comm: `other-${n}`,
			processes: 40 + n,
			run_ns: 5000.4 - n,
		},
		...{ read_bytes: 600 + n, written_bytes: 700 + n },
	});
	const others = Array.from({ length: 21 }, (_, n) => other(n));
	const times = { tracer_ns: 12.3, ended_ns: 23.4, stolen_ns: 34.5 };
	const own = { read_bytes: 45, written_bytes: 56 };
	const { machine } = jsonOf({ machine: { cpus: 3, ...times, own, others } });
	assert.deepEqual(machine, {
		...{ cpus: 3, tracer_ns: 12, others_ended_ns: 23, stolen_ns: 35 },
		...{ read_bytes: 45, written_bytes: 56 },
		// Those with most CPU time; in whole nanoseconds.
		others: others.slice(0, 20).map((each, n) => ({ ...each, run_ns: 5000 - n })),
	});
});

test('chains are those of the first reason; sufferers are all that waited with work to do', () => {
	const { chains, sufferers } = jsonOf(GIVEN) as {
		chains: { total_ns: number; links: { comm: string }[] }[];
		sufferers: unknown;
	};
	assert.deepEqual(
		chains.map(({ total_ns, links }) => [total_ns, links.map(({ comm }) => comm)]),
		[[3 * SECOND, ['first', 'last']]],
	);
	assert.deepEqual(sufferers, [{ pid: 70, tid: 71, comm: 'worker', total_ns: 4 * SECOND }]);
});

test('what every waker did has a name', () => {
	const did = (by: ReturnType<typeof waker>) => {
		const { reasons } = jsonOf({
			threads: [thread(SECOND)],
			blocked: [blocked(STACK_OF.lock, SECOND, { waker: by })],
		}) as { reasons: { ended_by: { did: unknown }[] }[] };
		return reasons[0]?.ended_by[0]?.did;
	};
	assert.equal(did(waker('was blocked', STACK_OF.lock)), 'blocked');
	assert.equal(did(waker('ran')), 'ran');
	assert.equal(did(waker('waited for a CPU')), 'waited_for_cpu');
	assert.equal(did(waker('did not exist yet')), 'not_born');
	assert.equal(did(waker(undefined)), null);
});

test('a window of nothing is numbers, too', () => {
	const { verdict, account, reasons, chains, sufferers, wall_ns } = jsonOf({ window_ns: 0 });
	assert.equal(verdict, 'No thread of the target was there while tstrace looked.');
	assert.deepEqual([account, reasons, chains, sufferers, wall_ns], [[], [], [], [], 0]);
});

/** All numbers in a value that JSON.stringify gets, before it makes null of what is none. */
function numbersIn(value: unknown): number[] {
	if (typeof value === 'number') return [value];
	if (typeof value !== 'object' || value === null) return [];
	return Object.values(value).flatMap(numbersIn);
}

test('whatever was seen: every number is one, and none is below 0', () => {
	fc.assert(
		fc.property(anyEvidence, (given) => {
			const answer = answerTo(given);
			const numbers = numbersIn(answerJson(answer, verdictOf(answer), []));
			assert.ok(numbers.every((each) => Number.isFinite(each) && each >= 0));
		}),
		{ numRuns: 300 },
	);
});

test('stacks are all parts, the largest first, and the place is what they begin with', () => {
	const given: Partial<Evidence> = {
		...GIVEN,
		forCpu: [forCpu('run queue', 0.25 * SECOND, { count: 3 })],
	};
	const rows = windowRows(partsTo(given));
	assert.deepEqual(
		rows.map(({ key, value, count, parts }) => [apartOf(key)[0], key.tid, value, count, parts]),
		[
			['waiting: disk read', 71, 3 * SECOND, 12.34, [3 * SECOND]],
			['idle: socket accept', 71, 2.5 * SECOND, 1, [2.5 * SECOND]],
			['running: in its own code', 71, 1.5 * SECOND, 3, [1.5 * SECOND]],
			['waiting: lock', 71, SECOND, 1, [SECOND]],
			['waiting: condition', 71, 0.75 * SECOND, 1, [0.75 * SECOND]],
			['running: in its own code', 61, 0.5 * SECOND, 1, [0.5 * SECOND]],
			['runnable: run queue', 71, 0.25 * SECOND, 3, [0.25 * SECOND]],
		],
	);
	assert.equal(rows[0]?.variance, 9e12);
	assert.deepEqual(Object.keys(rows[0]?.key ?? {}), ['place', 'kind', 'pid', 'tid', 'comm']);
	assert.equal(rows[0]?.waker?.key.comm, 'first');
	assert.deepEqual(rows[6]?.frames, rows[2]?.frames);
});

test('what only the reader needs is no part of a stack', () => {
	const { row, ...rest } = blocked(STACK_OF.lock, SECOND);
	const given = { ...rest, row: { ...row, sources: [5], details: { a: 1 } } };
	const [only] = windowRows(partsTo({ threads: [thread(SECOND)], blocked: [given] }));
	assert.equal(only?.value, SECOND);
	assert.ok(only && !('sources' in only) && !('details' in only));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerOf } from '../../../../src/tools/why/answer.js';
import { answerJson } from '../../../../src/tools/why/json.js';
import { partsOf } from '../../../../src/tools/why/parts.js';
import { accountObject } from '../../../../src/tools/why/places.js';
import { verdictOf } from '../../../../src/tools/why/verdict.js';
import { LongestWaits, MOST_WORST, worstWaits } from '../../../../src/tools/why/worst.js';
import { durationsOf, evidence, seenOf, WINDOW } from './answers.js';

const MS = 1e6;
const lengths = (spans: readonly { begin_ns: number; end_ns: number }[]) =>
	spans.map(({ begin_ns, end_ns }) => (end_ns - begin_ns) / MS);

test('of each stack and each thread the longest are kept, whatever comes', () => {
	const longest = new LongestWaits();
	for (let i = 1; i <= 500; i++) {
		const length_ns = ((i * 7) % 501) * MS;
		longest.blocked(3, { begin_ns: i * MS, end_ns: i * MS + length_ns });
		longest.forCpu(5, 'preempted', { begin_ns: i * MS, end_ns: i * MS + 2 * length_ns });
	}
	assert.deepEqual(lengths(longest.blockedAt(3)), [500, 499, 498, 497, 496, 495, 494, 493]);
	assert.deepEqual(lengths(longest.forCpuOf(5, 'preempted')).slice(0, 2), [1000, 998]);
	assert.deepEqual(longest.blockedAt(4), []);
	assert.deepEqual(longest.forCpuOf(5, 'run queue'), []);
	// 7 times 143 is 500 more than 501.
	assert.equal(longest.blockedAt(3)[0]?.begin_ns, 143 * MS);
});

test('waits that were sampled are none of the longest', () => {
	const longest = new LongestWaits();
	longest.blocked(3, { begin_ns: 0, end_ns: MS - 1 });
	assert.deepEqual(longest.blockedAt(3), []);
	longest.blocked(3, { begin_ns: 0, end_ns: MS });
	assert.equal(longest.blockedAt(3).length, 1);
});

test('waits of threads with work, the longest first, from where the window begins', () => {
	const worst = worstWaits(partsOf(evidence()).parts, seenOf());
	assert.deepEqual(
		worst.map(({ begin_ns, end_ns, tid, part: { place, kind } }) => [
			...[begin_ns / MS, end_ns / MS, tid, place, kind],
		]),
		[
			// It began before the window.
			[0, 350, 12, 'waiting', 'disk write'],
			[800, 1100, 12, 'waiting', 'sleep'],
			[100, 300, 12, 'waiting', 'disk write'],
			[600, 700, 12, 'waiting', 'disk write'],
			[1200, 1230, 12, 'runnable', 'run queue'],
			[1300, 1320, 12, 'runnable', 'run queue'],
		],
	);
	assert(worst.every(({ isOpen }) => !isOpen));
});

test('a wait that ended after the window is as long as it was within it', () => {
	const seen = seenOf();
	const { end_ns } = WINDOW;
	seen.longest.blocked(8, { begin_ns: end_ns - 250 * MS, end_ns: end_ns + 500 * MS });
	const worst = worstWaits(partsOf(evidence()).parts, seen);
	const sleeps = worst.filter(({ part: { kind } }) => kind === 'sleep');
	assert.deepEqual(
		sleeps.map(({ begin_ns, end_ns: to_ns }) => [begin_ns / MS, to_ns / MS]),
		[
			[800, 1100],
			[1750, 2000],
		],
	);
});

test('what still waits as the window ends is up to its end', () => {
	const given = evidence();
	const [commit, sleep, accept] = given.blocked;
	assert(commit && sleep && accept);
	const open = { ...sleep, open: true, row: { ...sleep.row, sources: [9] } };
	const parts = partsOf({ ...given, blocked: [commit, open, accept] }).parts;
	const found = worstWaits(parts, seenOf()).filter(({ isOpen }) => isOpen);
	assert.deepEqual(
		found.map(({ begin_ns, end_ns, part }) => [begin_ns / MS, end_ns / MS, part.kind]),
		[[1700, 2000, 'sleep']],
	);
});

test('an idle wait that may be what is wrong is told, no other idle one', () => {
	const { parts } = partsOf(evidence());
	const stayed = parts.find(({ kind }) => kind === 'socket accept');
	assert(stayed);
	const worst = worstWaits(parts, { ...seenOf(), stayed });
	assert.deepEqual(
		worst
			.slice(0, 2)
			.map(({ begin_ns, end_ns, tid, isOpen }) => [...[begin_ns / MS, end_ns / MS, tid, isOpen]]),
		[
			[0, 2000, 11, true],
			[0, 350, 12, false],
		],
	);
	assert.equal(worst.length, 7);
});

test('of chains that begin at the same stack a wait is in the one with waits of its length', () => {
	const given = evidence();
	const [commit] = given.blocked;
	assert(commit?.row.waker);
	const { waker } = commit.row;
	const by = (comm: string) => ({ ...waker, key: { ...waker.key, comm } });
	const { objects: _, ...plain } = commit.row;
	const long = { ...plain, value: 350 * MS, count: 1, sources: [0], waker: by('long') };
	const short = { ...plain, value: 300 * MS, count: 2, sources: [1], waker: by('short') };
	const durations = [durationsOf(350 * MS, 200 * MS, 100 * MS)];
	const blocked = [short, long].map((row) => ({ row, durations, open: false }));
	const parts = partsOf({ ...given, blocked, forCpu: [] }).parts;
	const worst = worstWaits(parts, { ...seenOf(), numbers: [7, 7] });
	assert.deepEqual(
		worst.map(({ begin_ns, end_ns, part }) => [(end_ns - begin_ns) / MS, part.row.waker?.key.comm]),
		[
			// Of 400 ms, all before the window with it: no row has so much.
			[350, 'long'],
			[200, 'short'],
			[100, 'short'],
		],
	);
});

test('a wait is for what it was for, though another object was waited for at the same place', () => {
	const given = evidence();
	const [commit] = given.blocked;
	assert(commit);
	const file = (path: string) => ({ type: 'file', path }) as const;
	const [journal, table] = [file('/srv/journal'), file('/srv/table')];
	const objects = [
		{ object: journal, value: 400 * MS, count: 1, variance: 0 },
		{ object: table, value: 300 * MS, count: 2, variance: 0 },
	];
	const blocked = [{ ...commit, row: { ...commit.row, objects, sources: [0, 1] } }];
	const seen = seenOf();
	// Of 300 ms: as long as both for the table together, and nearer to that for the journal.
	const worst = worstWaits(partsOf({ ...given, blocked, forCpu: [] }).parts, {
		...{ ...seen, numbers: [7, 8], objects: [journal, table] },
	});
	const found = worst.map(({ begin_ns, end_ns, part }) => [
		(end_ns - begin_ns) / MS,
		accountObject(part),
	]);
	assert.deepEqual(found, [
		[350, '/srv/journal'],
		[300, '/srv/table'],
		[200, '/srv/journal'],
		[100, '/srv/journal'],
	]);
});

test('the same wait over and over leaves room for others, and all have an end', () => {
	const given = evidence();
	const [commit] = given.blocked;
	assert(commit);
	const seen = seenOf();
	const blocked = Array.from({ length: 30 }, (_, i) => ({
		...commit,
		row: { ...commit.row, key: { pid: 11, tid: 100 + (i >> 1), comm: 'many' }, sources: [i] },
	}));
	const numbers = blocked.map((_, i) => 50 + i);
	for (const number of numbers) {
		for (let i = 0; i < 10; i++) {
			const begin_ns = WINDOW.begin_ns + i * 100 * MS;
			seen.longest.blocked(number, { begin_ns, end_ns: begin_ns + (2 + i) * MS });
		}
	}
	const worst = worstWaits(partsOf({ ...given, blocked }).parts, { ...seen, numbers });
	assert.equal(worst.length, MOST_WORST);
	const ofFirst = worst.filter(({ tid }) => tid === 100);
	// Of two stacks 8 each: 11, 11, 10, 10, … ms; but no more than 50 in all, over 15 threads.
	assert.deepEqual(lengths(ofFirst), [11, 11, 10, 10]);
	const few = worstWaits(partsOf({ ...given, blocked: blocked.slice(0, 2) }).parts, {
		...seen,
		numbers,
	}).filter(({ tid }) => tid === 100);
	assert.deepEqual(lengths(few), [11, 11, 10, 10, 9, 9, 8, 8]);
});

test('JSON has them in seconds of the window', () => {
	const parts = partsOf(evidence());
	const answer = answerOf(evidence(), parts);
	const { worst } = answerJson(answer, verdictOf(answer), worstWaits(parts.parts, seenOf()));
	const all = worst as readonly object[];
	assert.equal(all.length, 6);
	assert.deepEqual(all[2], {
		begin_s: 0.1,
		duration_ns: 200 * MS,
		tid: 12,
		comm: 'server',
		kind: 'disk_write',
		object: '/srv/journal',
	});
});

/** Chains of waits where one could take a wait for another's, or miss one: order, births, numbers, what is forgotten. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BlockedWait, Chains } from '../../../src/aggregate/chains.js';

const [A, B, C] = [1, 2, 3];
type Stretch = readonly [begin_ns: number, end_ns: number];

/** An exact wait of `pid`, ended by `wakerPid`; its key is the number of its thread. */
function blocked(
	pid: number,
	[begin_ns, end_ns]: Stretch,
	wakerPid: number,
	rest: Partial<BlockedWait> = {},
): BlockedWait {
	const exact = { weighed_ns: end_ns - begin_ns, count: 1, variance: 0, wakerBorn_ns: 0 };
	return { pid, begin_ns, end_ns, key: pid, wakerPid, ...exact, counts: pid === A, ...rest };
}

function forCpu(pid: number, [begin_ns, end_ns]: Stretch, weighed_ns = end_ns - begin_ns) {
	return { pid, begin_ns, end_ns, weighed_ns, variance: 0 };
}

function chainsOf(feed: (chains: Chains) => void) {
	const all = new Chains({ followed: 8, maxChains: 100 });
	feed(all);
	return all.chains();
}
const partsOf = (feed: (chains: Chains) => void) =>
	Object.fromEntries(
		chainsOf(feed).map(({ keys, did, value_ns }) => [
			`${keys.join(' ← ')}: ${did ?? '?'}`,
			value_ns,
		]),
	);

test('a wait that began while a waker waited for a CPU, and was blocked no more', () => {
	const parts = partsOf((all) => {
		all.waitedForCpu(forCpu(B, [50, 60]));
		all.wasBlocked(blocked(B, [10, 50], 0));
		all.wasBlocked(blocked(A, [55, 100], B));
	});
	assert.deepEqual(parts, { '1: waited for a CPU': 5, '1: ran': 40 });
});

test("what happened in a waker's wait that stands for others is not what happened in those", () => {
	const parts = partsOf((all) => {
		all.wasBlocked(blocked(C, [100, 120], 0));
		all.wasBlocked(blocked(B, [100, 130], C, { weighed_ns: 60, variance: 9 }));
		all.wasBlocked(blocked(A, [100, 200], B));
	});
	assert.deepEqual(parts, { '1 ← 2: ?': 60, '1: ran': 40 });
});

test('a waker of a waker has its own birth; none ran that was born after the wait', () => {
	const parts = partsOf((all) => {
		all.wasBlocked(blocked(B, [100, 160], C, { wakerBorn_ns: 140 }));
		all.wasBlocked(blocked(A, [100, 200], B));
	});
	assert.deepEqual(parts, { '1 ← 2: did not exist yet': 40, '1 ← 2: ran': 20, '1: ran': 40 });
	const reused = partsOf((all) => all.wasBlocked(blocked(A, [100, 200], B, { wakerBorn_ns: 250 })));
	assert.deepEqual(reused, { '1: did not exist yet': 100 });
});

test('numbers side by side are no other number', () => {
	const parts = partsOf((all) => {
		for (const [own, waker] of [
			[1, 23],
			[12, 3],
		] as const) {
			const begin_ns = 1000 * own;
			const within: Stretch = [begin_ns, begin_ns + 50];
			all.wasBlocked(blocked(B, within, 0, { key: waker }));
			all.wasBlocked(blocked(A, [begin_ns, begin_ns + 50], B, { key: own }));
		}
	});
	assert.deepEqual(parts, { '1 ← 23: ?': 50, '12 ← 3: ?': 50 });
});

test('parts of a wait are parts of one wait, also where their sum had to be made smaller', () => {
	const chains = chainsOf((all) => {
		all.waitedForCpu(forCpu(B, [105, 106], 130));
		all.wasBlocked(blocked(A, [100, 200], B));
	});
	assert.deepEqual(
		chains.map(({ did, value_ns, count }) => [did, value_ns, count]),
		[['waited for a CPU', 100, 1]],
	);
});

test('as the oldest wait of a thread is forgotten, its others are not, and nothing takes its place', () => {
	const kept = 1 << 17;
	const parts = partsOf((all) => {
		all.wasBlocked(blocked(B, [0, 10], 0));
		all.wasBlocked(blocked(B, [20, 30], 0));
		// Then the wait that is told is kept where the oldest was.
		for (let i = 0; i < kept - 2; i++) all.wasBlocked(blocked(C, [100 + i, 101 + i], 0));
		all.wasBlocked(blocked(A, [15, 200_015], B));
	});
	assert.deepEqual(parts, { '1 ← 2: ?': 10, '1: ran': 199_990 });
});

test('of all waits that are handed over together, a million others are looked at; and then of the next', () => {
	const all = new Chains({ followed: 8, maxChains: 100 });
	// All of them are later than what A waited, so that nothing but the looking at takes time.
	for (let i = 0; i < 5000; i++) all.wasBlocked(blocked(B, [1000 + i, 1001 + i], 0));
	const tell = (times: number) => {
		for (let i = 0; i < times; i++) all.wasBlocked(blocked(A, [0, 10], B));
		return all.takeCut();
	};
	assert.equal(tell(199), 0);
	assert.equal(tell(1), 1, 'nobody knows whether there were more');
	assert.equal(tell(3), 3);
	assert.equal(all.takeCut(), 0, 'those were told of already');
	all.begin();
	assert.equal(tell(1), 0);
});

test('what was lost long ago says nothing new about what was lost since', () => {
	const parts = partsOf((all) => {
		all.forget(150);
		all.forget(120);
		all.wasBlocked(blocked(A, [130, 200], B));
		all.wasBlocked(blocked(A, [150, 160], B));
	});
	assert.deepEqual(parts, { '1: ?': 70, '1: ran': 10 });
});

test('of a waker that began to be when all was over, nothing else is told', () => {
	const parts = partsOf((all) => {
		all.wasBlocked(blocked(A, [100, 200], B, { wakerBorn_ns: 250 }));
		all.wasBlocked(blocked(A, [300, 400], B));
	});
	assert.deepEqual(parts, { '1: did not exist yet': 100, '1: ran': 100 });
});

test('errors of sampled waits add up, and those of parts are as large as what the wait counts as', () => {
	const [sum] = chainsOf((all) => {
		for (const variance of [4, 9])
			all.wasBlocked(blocked(A, [100, 200], 0, { weighed_ns: 1000, variance }));
	});
	assert.deepEqual([sum?.value_ns, sum?.variance], [2000, 13]);
	const parts = chainsOf((all) => {
		all.waitedForCpu({ ...forCpu(B, [110, 150], 40), variance: 16 });
		// It counts as half of what it is.
		all.wasBlocked(blocked(A, [100, 200], B, { weighed_ns: 50 }));
	});
	assert.deepEqual(
		parts.map(({ did, value_ns, variance }) => [did, value_ns, variance]),
		[
			['waited for a CPU', 20, 4],
			['ran', 30, 4],
		],
	);
});

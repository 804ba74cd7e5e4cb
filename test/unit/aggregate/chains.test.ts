/** What wakers did while others waited for them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Chain } from '../../../src/aggregate/chain-sums.js';
import { type BlockedWait, Chains } from '../../../src/aggregate/chains.js';
import { scaledUncertainty, uncertaintyOfSum } from '../../../src/aggregate/variance.js';

const [A, B, C, D] = [1, 2, 3, 4];

/** A wait of `pid`, exact unless the rest says otherwise; its key is the number of its thread. */
function blocked(
	pid: number,
	[begin_ns, end_ns]: readonly [number, number],
	wakerPid: number,
	rest: Partial<BlockedWait> = {},
): BlockedWait {
	const weighed_ns = end_ns - begin_ns;
	const exact = { weighed_ns, count: 1, variance: 0, wakerBorn_ns: 0, counts: pid === A };
	return { pid, begin_ns, end_ns, key: pid, wakerPid, ...exact, ...rest };
}

const forCpu = (
	pid: number,
	[begin_ns, end_ns]: readonly [number, number],
	weighed_ns = end_ns - begin_ns,
	variance = 0,
) => ({ pid, begin_ns, end_ns, weighed_ns, variance });

function chainsOf(
	feed: (chains: Chains) => void,
	{ followed = 8, maxChains = 100 }: { followed?: number; maxChains?: number } = {},
): { parts: Record<string, number>; chains: Chain[]; cut: number } {
	const all = new Chains({ followed, maxChains });
	feed(all);
	const chains = all.chains();
	const parts = Object.fromEntries(
		chains.map(({ keys, did, value_ns }) => [`${keys.join(' ← ')}: ${did ?? '?'}`, value_ns]),
	);
	return { parts, chains, cut: all.takeCut() };
}

test('a waker ran for what it neither was blocked nor waited for a CPU, and the parts add up', () => {
	const { parts, chains } = chainsOf((all) => {
		all.waitedForCpu(forCpu(B, [130, 140]));
		all.wasBlocked(blocked(B, [110, 130], 0));
		all.waitedForCpu(forCpu(B, [150, 155]));
		all.wasBlocked(blocked(A, [100, 200], B));
	});
	assert.deepEqual(parts, {
		'1 ← 2: ?': 20,
		'1: waited for a CPU': 15,
		'1: ran': 65,
	});
	assert.equal(
		chains.reduce((sum, { count }) => sum + count, 0),
		1,
	);
});

test("only what lies within the wait is the waker's part of it", () => {
	const { parts } = chainsOf((all) => {
		all.wasBlocked(blocked(B, [10, 90], 0));
		all.waitedForCpu(forCpu(B, [115, 120]));
		all.wasBlocked(blocked(B, [95, 115], 0));
		all.wasBlocked(blocked(B, [180, 190], 0));
		all.wasBlocked(blocked(A, [100, 185], B));
	});
	assert.deepEqual(parts, { '1 ← 2: ?': 15 + 5, '1: waited for a CPU': 5, '1: ran': 60 });
});

test('waits of wakers are told by their wakers, as far as each lies in the wait above it', () => {
	const { parts } = chainsOf((all) => {
		// D computes; C waits for D, B for C, and A for B; each began at another time.
		all.wasBlocked(blocked(D, [0, 20], 0));
		all.wasBlocked(blocked(C, [10, 60], D));
		all.wasBlocked(blocked(B, [30, 70], C));
		all.wasBlocked(blocked(A, [40, 100], B));
	});
	assert.deepEqual(parts, {
		// C was blocked until 60, for D, which ran from 40 to then.
		'1 ← 2 ← 3: ran': 20,
		'1 ← 2: ran': 10,
		'1: ran': 30,
	});
});

test('no more wakers are told of than are followed', () => {
	const feed = (all: Chains) => {
		all.wasBlocked(blocked(D, [0, 50], 0));
		all.wasBlocked(blocked(C, [0, 60], D));
		all.wasBlocked(blocked(B, [0, 70], C));
		all.wasBlocked(blocked(A, [0, 80], B));
	};
	assert.deepEqual(chainsOf(feed, { followed: 1 }).parts, { '1 ← 2: ?': 70, '1: ran': 10 });
	assert.deepEqual(chainsOf(feed, { followed: 2 }).parts, {
		'1 ← 2 ← 3: ?': 60,
		'1 ← 2: ran': 10,
		'1: ran': 10,
	});
});

test('who ended a wait is no reason to go in circles', () => {
	const { parts } = chainsOf((all) => {
		all.wasBlocked(blocked(C, [0, 30], B));
		all.wasBlocked(blocked(B, [0, 50], C));
		all.wasBlocked(blocked(A, [0, 60], B));
	});
	assert.deepEqual(parts, { '1 ← 2 ← 3: ?': 30, '1 ← 2: ran': 20, '1: ran': 10 });
});

test('interrupts, and wakers of sampled waits, are not asked what they did', () => {
	const { parts, chains } = chainsOf((all) => {
		all.wasBlocked(blocked(B, [0, 9], 0));
		all.wasBlocked(blocked(A, [0, 10], 0));
		const sampled = { weighed_ns: 1000, count: 100, variance: 9e5 };
		all.wasBlocked(blocked(A, [20, 30], B, { ...sampled, key: 7 }));
	});
	assert.deepEqual(parts, { '1: ?': 10, '7: ?': 1000 });
	assert.equal(chains[1]?.count, 100);
	assert.equal(chains[1]?.variance, 9e5);
});

test('before a waker was born it did nothing; and what another thread of its number did is not its own', () => {
	const { parts } = chainsOf((all) => {
		all.wasBlocked(blocked(B, [110, 130], 0));
		all.wasBlocked(blocked(B, [150, 160], 0));
		all.wasBlocked(blocked(A, [100, 200], B, { wakerBorn_ns: 140 }));
	});
	assert.deepEqual(parts, { '1: did not exist yet': 40, '1 ← 2: ?': 10, '1: ran': 50 });
});

test('on a machine that has been up for a year exact waits are followed, though doubles round their times', () => {
	const year_ns = 365 * 86_400 * 1e9;
	const { parts } = chainsOf((all) => {
		for (let i = 0; i < 100; i++) {
			const begin_ns = year_ns + i * 1_000_003;
			const odd = { weighed_ns: 1001 };
			all.wasBlocked(blocked(C, [begin_ns, begin_ns + 999], 0, { weighed_ns: 999 }));
			all.wasBlocked(blocked(B, [begin_ns, begin_ns + 1001], C, odd));
			all.wasBlocked(blocked(A, [begin_ns, begin_ns + 1001], B, odd));
		}
	});
	assert.deepEqual(
		Object.keys(parts).filter((chain) => chain.startsWith('1 ← 2: ?')),
		[],
	);
});

test('of a time in which waits were lost nobody can say that a thread ran', () => {
	const { parts } = chainsOf((all) => {
		all.forget(150);
		all.wasBlocked(blocked(B, [160, 170], 0));
		all.wasBlocked(blocked(A, [100, 200], B));
		all.wasBlocked(blocked(A, [210, 220], B));
	});
	assert.deepEqual(parts, { '1 ← 2: ?': 10, '1: ?': 90, '1: ran': 10 });
});

test('waits that were lost before a waker was born were none of its own', () => {
	const { parts } = chainsOf((all) => {
		all.forget(150);
		all.wasBlocked(blocked(A, [100, 200], B, { wakerBorn_ns: 160 }));
	});
	assert.deepEqual(parts, { '1: did not exist yet': 60, '1: ran': 40 });
});

test('a wait of no length counts as one', () => {
	const { chains } = chainsOf((all) =>
		all.wasBlocked(blocked(A, [100, 100], B, { key: 5, weighed_ns: 0 })),
	);
	assert.deepEqual(chains, []);
	const beside = chainsOf((all) => {
		all.wasBlocked(blocked(A, [100, 100], 0));
		all.wasBlocked(blocked(A, [100, 110], 0));
	});
	assert.deepEqual(
		beside.chains.map(({ value_ns, count }) => [value_ns, count]),
		[[10, 2]],
	);
});

test('however much there is to look at, it ends, and is counted', () => {
	const { parts, cut } = chainsOf((all) => {
		for (let i = 0; i < 12_000; i++) all.wasBlocked(blocked(B, [i * 10, i * 10 + 1], 0));
		all.wasBlocked(blocked(A, [0, 120_000], B));
	});
	assert.deepEqual(parts, { '1 ← 2: ?': 10_000, '1: ?': 110_000 });
	assert.equal(cut, 1);
});

test('sampled waits of a waker count for what they stand for; what is too much is taken from all parts', () => {
	const wait = (all: Chains) => {
		all.waitedForCpu(forCpu(B, [110, 111], 40));
		all.wasBlocked(blocked(A, [100, 200], B));
	};
	assert.deepEqual(chainsOf(wait).parts, { '1: waited for a CPU': 40, '1: ran': 60 });
	const tooMuch = chainsOf((all) => {
		all.waitedForCpu(forCpu(B, [105, 106], 90));
		wait(all);
	});
	assert.deepEqual(tooMuch.parts, { '1: waited for a CPU': 100 });
	const later = chainsOf((all) => {
		all.waitedForCpu(forCpu(B, [105, 106], 90));
		wait(all);
		all.wasBlocked(blocked(A, [300, 400], B));
	});
	assert.deepEqual(later.parts, { '1: waited for a CPU': 130, '1: ran': 70 });
});

test('the error of what was sampled of a waker is that of its part, and of the rest', () => {
	const { chains } = chainsOf((all) => {
		all.waitedForCpu(forCpu(B, [110, 111], 40, 25));
		all.waitedForCpu(forCpu(B, [120, 121]));
		all.wasBlocked(blocked(A, [100, 200], B));
	});
	const variances = Object.fromEntries(chains.map(({ did, variance }) => [did, variance]));
	assert.deepEqual(variances, { 'waited for a CPU': 25, ran: 25 });
	// Of a wait that began before the stretch, only as much as lies in it.
	const half = chainsOf((all) => {
		all.waitedForCpu(forCpu(B, [90, 110], 20, 400));
		all.wasBlocked(blocked(A, [100, 200], B));
	});
	assert.deepEqual(half.parts, { '1: waited for a CPU': 10, '1: ran': 90 });
	assert.deepEqual(
		half.chains.map(({ variance }) => variance),
		[100, 100],
	);
});

test('parts of a wait err against each other: together they are exact', () => {
	const { chains } = chainsOf((all) => {
		all.waitedForCpu(forCpu(B, [110, 111], 20, 25));
		all.wasBlocked(blocked(B, [115, 116], 0, { weighed_ns: 30, variance: 64 }));
		all.wasBlocked(blocked(A, [100, 200], B));
	});
	const of = (...dids: readonly (string | undefined)[]) =>
		uncertaintyOfSum(chains.filter(({ did }) => dids.includes(did))).variance;
	assert.deepEqual(
		[of('waited for a CPU'), of(undefined), of('ran'), of('waited for a CPU', undefined)],
		[25, 64, 89, 89],
	);
	// What one of the sampled parts has too much, the others have too little.
	assert.equal(of('ran', 'waited for a CPU'), 64);
	assert.equal(of('ran', undefined), 25);
	assert.equal(of('ran', 'waited for a CPU', undefined), 0);
	assert.equal(uncertaintyOfSum(chains.map((chain) => scaledUncertainty(chain, 2))).variance, 0);
});

test('what is left by rounding is no error', () => {
	const { chains } = chainsOf((all) => {
		for (let i = 0; i < 50; i++) {
			const [at_ns, variance] = [1e12 + i * 1e7, (1e6 / (i + 3)) ** 2 / 7];
			all.waitedForCpu(forCpu(B, [at_ns + 10, at_ns + 1000.1], 1e6 / (i + 3), variance));
			all.wasBlocked(blocked(B, [at_ns + 2e5, at_ns + 2.1e5], 0, { weighed_ns: 3e5, variance }));
			all.wasBlocked(blocked(A, [at_ns, at_ns + 2e6], B));
		}
	});
	assert.deepEqual(uncertaintyOfSum(chains), { variance: 0 });
	assert.deepEqual(uncertaintyOfSum(chains.toReversed()), { variance: 0 });
});

test('where by chance nothing is left for the rest, no part is said to be exact', () => {
	const { parts, chains } = chainsOf((all) => {
		all.waitedForCpu(forCpu(B, [110, 111], 120, 900));
		all.wasBlocked(blocked(A, [100, 200], B));
	});
	assert.deepEqual(parts, { '1: waited for a CPU': 100 });
	const scale = (100 / 120) ** 2;
	assert.equal(chains[0]?.variance, 900 * scale);
	// Exactly nothing is left of the rest, and its error is as large.
	const none = chainsOf((all) => {
		all.waitedForCpu(forCpu(B, [110, 111], 100, 900));
		all.wasBlocked(blocked(A, [100, 200], B));
	});
	assert.equal(none.chains[0]?.variance, 900);
});

test('parts of a wait of which not all is known do not make up for those of another', () => {
	const { chains } = chainsOf((all) => {
		const wait = (at: number) => {
			all.waitedForCpu(forCpu(B, [at + 10, at + 11], 20, 25));
			all.wasBlocked(blocked(A, [at, at + 100], B));
		};
		wait(100);
		all.forget(350);
		wait(300);
	});
	const of = (did: string) => uncertaintyOfSum(chains.filter((each) => each.did === did)).variance;
	assert.deepEqual([of('waited for a CPU'), of('ran')], [50, 25]);
	const known = chains.filter(({ did }) => did !== undefined);
	assert.equal(uncertaintyOfSum(known).variance, 25);
	assert.equal(uncertaintyOfSum(chains).variance, 0);
});

test('waits that count tell what the user asked for; others do not', () => {
	const { parts } = chainsOf((all) => {
		all.wasBlocked(blocked(B, [0, 40], 0));
		all.wasBlocked(blocked(A, [0, 50], B, { counts: false }));
	});
	assert.deepEqual(parts, {});
});

test('what has no room is told without its wakers, and counted: chains_cut', () => {
	const { parts, cut } = chainsOf(
		(all) => {
			for (const key of [10, 20, 30]) all.wasBlocked(blocked(B, [key, key + 5], 0, { key }));
			all.wasBlocked(blocked(A, [0, 40], B));
		},
		{ maxChains: 2 },
	);
	assert.deepEqual(parts, { '1 ← 30: ?': 5, '1 ← 20: ?': 5, '1: ?': 5, '1: ran': 25 });
	assert.equal(cut, 1);
});

test('the waits of hours take no more room; what is forgotten is not said to have run', () => {
	const { parts } = chainsOf((all) => {
		all.wasBlocked(blocked(B, [0, 1000], 0));
		for (let i = 0; i < 1 << 17; i++) all.wasBlocked(blocked(C, [i, i + 1], 0));
		all.wasBlocked(blocked(B, [2000, 2010], 0));
		all.wasBlocked(blocked(A, [0, 3000], B));
	});
	assert.deepEqual(parts, { '1 ← 2: ?': 10, '1: ?': 2990 });
});

/** The buckets of src/aggregate against those of bpf/lib, by running the latter. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BUCKETS, bucketOf, lowOf } from '../../src/aggregate/buckets.js';
import { PROT, SharedMapping } from '../../src/loader/memory.js';
import { BpfObject } from '../../src/loader/object.js';
import { randomFrom } from '../random.js';
import { callable } from './program-as-function.js';

const LAYOUT = {
	name: 'buckets',
	structs: {},
	enums: {},
	sections: {},
	maps: {},
	programs: ['bucket_of'],
} as const;

test('the kernel and user space put every value in the same bucket', () => {
	const object = new BpfObject(`build/test-bpf/${process.arch}/buckets.bpf.o`, LAYOUT);
	try {
		object.load(['bucket_of']);
		const inKernel = callable(object, 'bucket_of', 1);
		for (let bucket = 0; bucket < BUCKETS; bucket++) {
			for (const value of [lowOf(bucket), lowOf(bucket + 1) - 1]) {
				assert.equal(inKernel(BigInt(value)), bucketOf(value), `${value}`);
			}
		}
		fc.assert(
			fc.property(fc.maxSafeInteger().map(Math.abs), (value) => {
				assert.equal(inKernel(BigInt(value)), bucketOf(value), `${value}`);
			}),
			{ numRuns: 2000 },
		);
		assert.equal(inKernel(2n ** 64n - 1n), BUCKETS - 1);
	} finally {
		object.close();
	}
});

const SAMPLING = {
	name: 'sampling',
	structs: {},
	enums: {},
	sections: {},
	maps: { results: { keySize: 4, valueSize: 24 } },
	programs: ['sample'],
} as const;

/** Waits as services have them: most short, some long, over six powers of ten. */
function durations(random: () => number, count: number): number[] {
	return Array.from({ length: count }, () => Math.ceil(10 ** (3 + (random() / 2 ** 32) * 4.5)));
}

type Sample = (
	duration_ns: number,
	random: number,
) => { readonly ns: number; readonly count: number; readonly doubt: number } | undefined;

const PERIOD_NS = 1_000_000;
const ONE = 256;

/** Lets `use` call the kernel's sample_by_duration. */
function withSampling(use: (sample: Sample) => void): void {
	const object = new BpfObject(`build/test-bpf/${process.arch}/sampling.bpf.o`, SAMPLING);
	try {
		object.load(['sample']);
		const call = callable(object, 'sample', 3);
		const memory = new SharedMapping(object.map('results').fd, 24, PROT.read, 0);
		const sampled = new BigUint64Array(memory.buffer, 0, 3);
		use((duration_ns, random) => {
			if (!call(BigInt(duration_ns), BigInt(PERIOD_NS), BigInt(random))) return undefined;
			const [ns = 0, count = 0, doubt = 0] = Array.from(sampled, Number);
			return { ns, count: count / ONE, doubt: doubt / ONE };
		});
		memory.unmap();
	} finally {
		object.close();
	}
}

test('sampling by duration: sums are unbiased, and the error is what is stated', () => {
	const RUNS = 100;
	const WAITS = 400;
	const waits = durations(randomFrom(4711), WAITS);
	const truth = waits.reduce((sum, each) => sum + each, 0);
	const deviations: number[] = [];
	let counts = 0;
	withSampling((sample) => {
		for (let seed = 1; seed <= RUNS; seed++) {
			const random = randomFrom(seed);
			let sum = 0;
			let doubt = 0;
			for (const wait of waits) {
				const sampled = sample(wait, random());
				if (!sampled) continue;
				sum += sampled.ns;
				counts += sampled.count;
				doubt += sampled.doubt;
			}
			deviations.push((sum - truth) / (PERIOD_NS * Math.sqrt(doubt)));
		}
	});
	const beyond = (errors: number) =>
		deviations.filter((deviation) => Math.abs(deviation) > errors).length;
	const mean = deviations.reduce((sum, each) => sum + each, 0) / RUNS;
	// Seeded, so that it comes out the same each time. In a normal distribution 32 of 100 lie
	// beyond one standard error, 5 beyond two; the mean of 100 is within 0.3 of nothing.
	assert.ok(Math.abs(mean) < 0.3, `mean ${mean}`);
	assert.ok(beyond(1) > 15 && beyond(1) < 50, `${beyond(1)} beyond one error`);
	assert.ok(beyond(2) <= 12, `${beyond(2)} beyond two errors`);
	assert.equal(beyond(3), 0);
	// How many waits there were is estimated too.
	assert.ok(Math.abs(counts / RUNS / WAITS - 1) < 0.2, `${counts / RUNS} of ${WAITS}`);
});

for (const [what, from, to] of [
	['short', 0.02, 0.2],
	['middling', 0.3, 0.7],
	['nearly a period long', 0.85, 0.999],
] as const) {
	test(`the error that is stated of ${what} waits is the one they have`, () => {
		const random = randomFrom(7);
		const waits = Array.from({ length: 4000 }, () =>
			Math.round(PERIOD_NS * (from + (random() / 2 ** 32) * (to - from))),
		);
		// Of a wait that counts as a period with probability d / period, and as nothing otherwise.
		const variance = waits.reduce((sum, each) => sum + each * (PERIOD_NS - each), 0);
		let doubt = 0;
		withSampling((sample) => {
			for (const wait of waits) doubt += sample(wait, random())?.doubt ?? 0;
		});
		const ratio = (PERIOD_NS * Math.sqrt(doubt)) / Math.sqrt(variance);
		assert.ok(ratio < 1.3 && ratio > 1 / 1.3, `${ratio.toFixed(2)} of what it is`);
	});
}

test('what lasts a period is always kept, and every wait without one', () => {
	const object = new BpfObject(`build/test-bpf/${process.arch}/sampling.bpf.o`, SAMPLING);
	try {
		object.load(['sample']);
		const sample = callable(object, 'sample', 3);
		const worst = 2n ** 32n - 1n;
		assert.equal(sample(1_000_000n, 1_000_000n, worst), 1);
		assert.equal(sample(999_999n, 1_000_000n, worst), 0);
		assert.equal(sample(999_999n, 1_000_000n, 0n), 1);
		assert.equal(sample(0n, 1_000_000n, 0n), 0);
		assert.equal(sample(0n, 0n, worst), 1);
		assert.equal(sample(2n ** 63n, 1_000_000_000n, worst), 1);
	} finally {
		object.close();
	}
});

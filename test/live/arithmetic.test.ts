/** The buckets of src/aggregate against those of bpf/lib, by running the latter. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BUCKETS, bucketOf, lowOf } from '../../src/aggregate/buckets.js';
import { PROT, SharedMapping } from '../../src/loader/memory.js';
import { BpfObject } from '../../src/loader/object.js';
import { callable } from './support-run.js';

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

/** Marsaglia, "Xorshift RNGs" (2003): 32 bits, the same for a seed on every machine. */
function randomFrom(seed: number): () => number {
	let x = (seed * 2_654_435_761 + 1) >>> 0 || 1;
	return () => {
		x ^= x << 13;
		x ^= x >>> 17;
		x ^= x << 5;
		x >>>= 0;
		return x;
	};
}

/** Waits as services have them: most short, some long, over six powers of ten. */
function durations(random: () => number, count: number): number[] {
	return Array.from({ length: count }, () => Math.ceil(10 ** (3 + (random() / 2 ** 32) * 4.5)));
}

test('sampling by duration: sums are unbiased, and the error is what is stated', () => {
	const PERIOD_NS = 1_000_000;
	const RUNS = 100;
	const WAITS = 400;
	const object = new BpfObject(`build/test-bpf/${process.arch}/sampling.bpf.o`, SAMPLING);
	try {
		object.load(['sample']);
		const sample = callable(object, 'sample', 3);
		const results = object.map('results');
		const memory = new SharedMapping(results.fd, 24, PROT.read, 0);
		const sampled = new BigUint64Array(memory.buffer, 0, 3);
		const waits = durations(randomFrom(4711), WAITS);
		const truth = waits.reduce((sum, each) => sum + each, 0);
		const deviations: number[] = [];
		let counts = 0;
		for (let seed = 1; seed <= RUNS; seed++) {
			const random = randomFrom(seed);
			let sum = 0;
			let doubt = 0;
			for (const wait of waits) {
				if (!sample(BigInt(wait), BigInt(PERIOD_NS), BigInt(random()))) continue;
				const [weighed = 0n, count = 0n, doubtful = 0n] = sampled;
				sum += Number(weighed);
				counts += Number(count) / 256;
				doubt += Number(doubtful) / 256;
			}
			deviations.push((sum - truth) / (PERIOD_NS * Math.sqrt(doubt)));
		}
		memory.unmap();
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
	} finally {
		object.close();
	}
});

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

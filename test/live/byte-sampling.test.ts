/** Sampling by bytes: the kernel's own arithmetic, with random numbers that are seeded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PROT, SharedMapping } from '../../src/loader/memory.js';
import { BpfObject } from '../../src/loader/object.js';
import { chanceTable } from '../../src/tools/memleak/byte-sampling.js';
import { randomFrom } from '../random.js';
import { callable } from './program-as-function.js';

const LAYOUT = {
	name: 'byte_sampling',
	structs: {},
	enums: {},
	sections: {
		'.rodata': {
			size: 1028,
			fields: { chances: { offset: 0, size: 1028 } },
		},
		'.bss': { size: 16, fields: { sample_bytes: { offset: 8, size: 8 } } },
	},
	maps: { results: { keySize: 4, valueSize: 16 } },
	programs: ['sample'],
} as const;

const SAMPLE_BYTES = 4096;
const ONE = 256;

type Sample = (size: number, random: number) => { bytes: number; count: number } | undefined;

/** Of bpf/lib/memleak/byte_sampling.h: points of the table for each mean distance. */
const CHANCE_STEPS = 16;
const WHOLE = 2 ** 32;

/** What an allocation of `size` bytes counts as if it is kept, and how likely that is. */
interface ByteSample {
	/** p */
	readonly chance: number;
	/** size / p */
	readonly weight_bytes: number;
	/** 1 / p */
	readonly count: number;
	/** Of the sum: size² · (1 - p) / p², its share of the estimated variance. */
	readonly variance_bytes2: number;
}

/** The kernel's arithmetic, with the table's straight lines, for sizes in bytes. */
function byteSample(size: number, sample_bytes: number, table: Uint32Array): ByteSample {
	const place = (Math.max(1, size) * CHANCE_STEPS) / sample_bytes;
	const cell = Math.floor(place);
	const low = table[cell];
	const high = table[cell + 1];
	if (sample_bytes === 0 || low === undefined || high === undefined) {
		return { chance: 1, weight_bytes: size, count: 1, variance_bytes2: 0 };
	}
	const chance = Math.floor(low + (high - low) * (place - cell)) / WHOLE;
	const variance_bytes2 = (size * size * (1 - chance)) / (chance * chance);
	return { chance, weight_bytes: size / chance, count: 1 / chance, variance_bytes2 };
}

/** Lets `use` call the kernel's sample_by_bytes. */
function withKernel(use: (sample: Sample) => void): void {
	const object = new BpfObject(`build/test-bpf/${process.arch}/byte_sampling.bpf.o`, LAYOUT);
	try {
		const chances = object.constantBytes('chances');
		for (const [i, chance] of chanceTable().entries()) chances.setUint32(i * 4, chance, true);
		object.load(['sample']);
		object.setVariable('sample_bytes', SAMPLE_BYTES);
		const call = callable(object, 'sample', 2);
		const memory = new SharedMapping(object.map('results').fd, 16, PROT.read, 0);
		const weight = new BigUint64Array(memory.buffer, 0, 2);
		use((size, random) => {
			if (!call(BigInt(size), BigInt(random))) return undefined;
			return { bytes: Number(weight[0]), count: Number(weight[1]) / ONE };
		});
		memory.unmap();
	} finally {
		object.close();
	}
}

test('99 of 100 seeded runs: bytes and counts within three standard errors', () => {
	const random = randomFrom(4711);
	// Most small, some large, over five powers of ten.
	const sizes = Array.from({ length: 1000 }, () => Math.ceil(10 ** ((random() / 2 ** 32) * 5)));
	const truth = sizes.reduce((sum, size) => sum + size, 0);
	const deviations: number[] = [];
	let counted = 0;
	withKernel((sample) => {
		for (let seed = 1; seed <= 100; seed++) {
			const next = randomFrom(seed);
			let sum = 0;
			let variance = 0;
			for (const size of sizes) {
				const weight = sample(size, next());
				if (!weight) continue;
				sum += weight.bytes;
				counted += weight.count;
				// As src/tools/memleak/outstanding.ts states the error.
				variance += weight.bytes * (weight.bytes - size);
			}
			deviations.push((sum - truth) / Math.sqrt(variance));
		}
	});
	const beyond = (errors: number) => deviations.filter((each) => Math.abs(each) > errors).length;
	const mean = deviations.reduce((sum, each) => sum + each, 0) / deviations.length;
	assert.ok(beyond(3) <= 1, `${beyond(3)} beyond three errors`);
	// Errors that are stated too large would hold, too.
	assert.ok(beyond(1) > 15 && beyond(1) < 50, `${beyond(1)} beyond one error`);
	assert.ok(Math.abs(mean) < 0.3, `mean ${mean}`);
	assert.ok(Math.abs(counted / 100 / sizes.length - 1) < 0.1, `${counted / 100}`);
});

test('the chance is what user space says, to the last random number', () => {
	const table = chanceTable();
	withKernel((sample) => {
		for (const size of [0, 1, 255, 256, 257, 4095, 4096, 4097, 65_535]) {
			const { chance, weight_bytes, count } = byteSample(size, SAMPLE_BYTES, table);
			const below = Math.round(chance * 2 ** 32);
			assert.equal(sample(size, below), undefined, `${size}`);
			const weight = sample(size, below - 1);
			assert.ok(weight, `${size}`);
			assert.ok(Math.abs(weight.bytes - weight_bytes) <= 1, `${size}`);
			assert.ok(Math.abs(weight.count - count) <= 1 / ONE, `${size}`);
		}
		for (const size of [65_536, 2 ** 40]) {
			assert.deepEqual(sample(size, 2 ** 32 - 1), { bytes: size, count: 1 });
		}
	});
});

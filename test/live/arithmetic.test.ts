/** The buckets of src/aggregate against those of bpf/lib, by running the latter. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import koffi from 'koffi';
import { BUCKETS, bucketOf, lowOf } from '../../src/aggregate/buckets.js';
import { errnoName, libbpf } from '../../src/loader/ffi.js';
import { BpfObject } from '../../src/loader/object.js';

const LAYOUT = {
	name: 'buckets',
	structs: {},
	enums: {},
	sections: {},
	maps: {},
	programs: ['bucket_of'],
} as const;

/** struct bpf_test_run_opts of libbpf's bpf.h: size, context, its size, result. */
const OPTS_BYTES = 80;
const AT = { size: 0, context: 32, contextSize: 48, result: 56 } as const;

test('the kernel and user space put every value in the same bucket', () => {
	const testRun = koffi
		.load('libbpf.so.1')
		.func('int bpf_prog_test_run_opts(int fd, void *opts)') as (
		fd: number,
		opts: Uint8Array,
	) => number;
	const object = new BpfObject(`build/test-bpf/${process.arch}/buckets.bpf.o`, LAYOUT);
	try {
		object.load(['bucket_of']);
		const fd = libbpf().bpf_program__fd(object.program('bucket_of').pointer);
		const context = new BigUint64Array(1);
		const opts = new DataView(new ArrayBuffer(OPTS_BYTES));
		opts.setBigUint64(AT.size, BigInt(OPTS_BYTES), true);
		opts.setBigUint64(AT.context, koffi.address(context), true);
		opts.setUint32(AT.contextSize, 8, true);
		const inKernel = (value: bigint): number => {
			context[0] = value;
			const result = testRun(fd, new Uint8Array(opts.buffer));
			assert.equal(result, 0, errnoName(result));
			return opts.getUint32(AT.result, true);
		};
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

/** Runs a BPF program of test/bpf once, as a function: BPF_PROG_TEST_RUN. */
import assert from 'node:assert/strict';
import { failure } from '../../src/loader/ffi.js';
import { koffi } from '../../src/loader/koffi.js';
import type { ObjectLayout } from '../../src/loader/layout.js';
import type { BpfObject } from '../../src/loader/object.js';

/** struct bpf_test_run_opts of libbpf's bpf.h: size, context, its size, result. */
const OPTS_BYTES = 80;
const AT = { size: 0, context: 32, contextSize: 48, result: 56 } as const;

/** A loaded program as a function of up to eight numbers, each a u64; returns what it returns. */
export function callable<L extends ObjectLayout>(
	object: BpfObject<L>,
	program: L['programs'][number],
	numbers: number,
): (...values: readonly bigint[]) => number {
	const testRun = koffi()
		.load('libbpf.so.1')
		.func('int bpf_prog_test_run_opts(int fd, void *opts)') as (
		fd: number,
		opts: Uint8Array,
	) => number;
	const { fd } = object.program(program);
	const context = new BigUint64Array(numbers);
	const opts = new DataView(new ArrayBuffer(OPTS_BYTES));
	opts.setBigUint64(AT.size, BigInt(OPTS_BYTES), true);
	opts.setBigUint64(AT.context, koffi().address(context), true);
	opts.setUint32(AT.contextSize, numbers * 8, true);
	return (...values) => {
		context.set(values);
		const result = testRun(fd, new Uint8Array(opts.buffer));
		assert.equal(result, 0, failure(result));
		return opts.getUint32(AT.result, true);
	};
}

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { countOwnFrames, isTracersOwn, KernelSymbols } from '../../../src/symbolize/kernel.js';

const KALLSYMS = `0000000000000000 A fixed_percpu_data
ffffffff81000000 T _text
ffffffff81000000 T startup_64
ffffffff81000100 t do_one
ffffffff81000200 T __x64_sys_read
ffffffff81000200 t __do_sys_read
ffffffff81000200 T sys_read
ffffffff81000300 D some_data
ffffffffc0001000 t ext4_read	[ext4]
ffffffffc0000000 t xfs_read	[xfs]
ffffffffc0002000 t bpf_prog_0123456789abcdef_runqlat_switch	[bpf]
`;
const symbols = (text: string) => new KernelSymbols(Buffer.from(text));
const kernel = (low: number) => low - 2 ** 32;

test('names of the kernel, its modules and BPF programs; of aliases the best known', () => {
	const table = symbols(KALLSYMS);
	assert.equal(table.hidden, false);
	assert.equal(table.nameOf(kernel(0x81000000)), 'startup_64');
	assert.equal(table.nameOf(kernel(0x810000ff)), 'startup_64');
	assert.equal(table.nameOf(kernel(0x81000100)), 'do_one');
	assert.equal(table.nameOf(kernel(0x81000234)), 'sys_read');
	assert.equal(table.nameOf(kernel(0xc0000123)), 'xfs_read');
	assert.equal(table.nameOf(kernel(0xc0001000)), 'ext4_read');
	assert.equal(table.nameOf(kernel(0xc0002010)), 'bpf_prog_0123456789abcdef_runqlat_switch');
	assert.equal(table.nameOf(kernel(0x80ffffff)), undefined);
	assert.equal(table.nameOf(kernel(0xbf000000)), undefined, 'far from everything');
	assert.equal(table.nameOf(0x1000), undefined);
});

test('the range of a function ends where the next symbol begins', () => {
	const table = symbols(KALLSYMS);
	const start = kernel(0x81000200);
	assert.deepEqual(table.range('__do_sys_read'), { start, end: kernel(0x81000300) });
	assert.deepEqual(table.range('sys_read'), { start, end: kernel(0x81000300) });
	assert.equal(table.range('sys'), undefined);
});

test('zeros for all addresses: hidden', () => {
	const table = symbols('0000000000000000 T _text\n0000000000000000 T startup_64\n');
	assert.equal(table.hidden, true);
	assert.equal(table.nameOf(kernel(0x81000000)), undefined);
	assert.equal(symbols('').hidden, false);
});

test('the running kernel: every function is found in its own range', () => {
	const table = new KernelSymbols(readFileSync('/proc/kallsyms'));
	for (const name of ['schedule', 'do_exit', 'ksys_read']) {
		const range = table.range(name);
		if (!range) assert.fail(`${name} is not there`);
		assert.equal(table.nameOf(range.start), name);
		assert.equal(table.nameOf(range.end - 1), name);
	}
});

test("the tracer's own frames, at the leaf", () => {
	assert.equal(isTracersOwn('bpf_prog_0123_x'), true);
	assert.equal(isTracersOwn('__schedule'), false);
	const stack = ['bpf_prog_0123_x', 'bpf_trace_run4', '__traceiter_sched_switch', '__schedule'];
	assert.equal(countOwnFrames(stack), 3);
	assert.equal(countOwnFrames(['__schedule', 'schedule']), 0);
	assert.equal(countOwnFrames(['unknown_helper', ...stack]), 4);
	const deep = [...new Array(30).fill('do_work'), 'bpf_prog_0123_of_somebody'];
	assert.equal(countOwnFrames(deep), 0, "somebody's program that was running is no machinery");
});

test('any text: names or nothing', () => {
	fc.assert(
		fc.property(fc.uint8Array({ maxLength: 400 }), fc.integer(), (bytes, address) => {
			symbols(`${KALLSYMS}${Buffer.from(bytes).toString('latin1')}`).nameOf(address);
			new KernelSymbols(Buffer.from(bytes)).nameOf(address);
		}),
	);
	for (let length = 0; length < KALLSYMS.length; length++) {
		const name = symbols(KALLSYMS.slice(0, length)).nameOf(kernel(0x81000000));
		assert.ok(name === undefined || KALLSYMS.includes(name));
	}
});

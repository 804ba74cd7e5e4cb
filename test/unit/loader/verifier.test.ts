import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainLoadFailure } from '../../../src/loader/verifier.js';

const LOG = `libbpf: prog 'switch_sched_info': BPF program load failed: Permission denied
libbpf: prog 'switch_sched_info': -- BEGIN PROG LOAD LOG --
0: R1=ctx() R10=fp0
12: (79) r1 = *(u64 *)(r0 +0)
R0 invalid mem access 'map_value_or_null'
processed 12 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0
-- END PROG LOAD LOG --
libbpf: prog 'switch_sched_info': failed to load: -13
libbpf: failed to load object 'runqlat.bpf'
`;

test("the verifier's verdict in one line, its log as the detail", () => {
	const error = explainLoadFailure('runqlat', 'EACCES', LOG);
	assert.match(
		error.message,
		/^the kernel's verifier refused BPF program switch_sched_info \(EACCES\): R0 invalid mem access 'map_value_or_null'; this is .* -v shows$/,
	);
	assert.equal(error.detail, LOG);
});

test('of several tries the last one counts, and of libbpf its last line', () => {
	const before = LOG.replaceAll('map_value_or_null', 'scalar');
	const { message } = explainLoadFailure('runqlat', 'EACCES', before + LOG);
	assert.match(message, /: R0 invalid mem access 'map_value_or_null'; /);
	const lines = "libbpf: first\nlibbpf: map 'x': failed to create\n\n";
	const error = explainLoadFailure('runqlat', 'E2BIG', lines);
	assert.equal(
		error.message,
		"cannot load the BPF object runqlat (E2BIG): map 'x': failed to create",
	);
});

test('statistics behind the verdict are none, in whichever form a kernel writes them', () => {
	// kernel/bpf/verifier.c, print_verification_stats, with BPF_LOG_STATS; of two functions 5.10 writes "0+8".
	for (const depth of ['24', '0+8']) {
		const log = LOG.replace(
			'processed 12',
			`verification time 161 usec\nstack depth ${depth}\nprocessed 12`,
		);
		const { message } = explainLoadFailure('runqlat', 'EACCES', log);
		assert.match(message, /\(EACCES\): R0 invalid mem access 'map_value_or_null'; /);
	}
});

test('a failure before any program: the last thing libbpf said', () => {
	const log = "libbpf: map 'losses': failed to create: Operation not permitted(-1)\n";
	assert.match(explainLoadFailure('runqlat', 'EPERM', log).message, /^cannot load .*forbids BPF/);
	assert.match(explainLoadFailure('runqlat', 'E2BIG', log).message, /failed to create/);
});

test('a map that there was no descriptor for, and that could not be made without BTF either', () => {
	const log =
		'libbpf: Error in bpf_create_map_xattr(off_cpus):Too many open files(-24). Retrying without BTF.\n' +
		"libbpf: map 'off_cpus': failed to create: Invalid argument(-22)\n";
	assert.match(explainLoadFailure('offcputime', 'EINVAL', log).message, /too many open files/);
});

test('signals all the time are no defect of a program', () => {
	const log =
		"libbpf: prog 'memleak_last': BPF program load failed: Resource temporarily unavailable\n";
	const { message } = explainLoadFailure('memleak', 'EAGAIN', log);
	assert.match(message, /interrupted at BPF program memleak_last \(EAGAIN\): .*try again$/);
});

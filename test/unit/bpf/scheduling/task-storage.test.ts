/** Whether task storage can be used in the scheduler, by kernels' types and CPUs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { taskStorageMissing } from '../../../../src/bpf/scheduling/task-storage.js';
import { Btf } from '../../../../src/loader/btf.js';
import { BtfBuilder, INT, STRUCT, TYPEDEF } from '../../loader/btf-builder.js';

/** By release: where the memory for task storage comes from. */
const KERNELS = {
	'5.10': {},
	'6.1': { task: 'bpf_storage', map: 'cache_idx' },
	'6.12': { task: 'bpf_storage', map: 'selem_ma' },
	'6.18': { task: 'bpf_storage', map: 'selem_ma', sched_exit_tp: true },
	'6.19': { task: 'bpf_storage', map: 'use_kmalloc_nolock', sched_exit_tp: true },
	'7.2': { task: 'bpf_storage', map: 'cache_idx', sched_exit_tp: true },
} as const;

interface Types {
	readonly task?: string;
	readonly map?: string;
	readonly sched_exit_tp?: true;
}

function btfOf({ task = 'pid', map, sched_exit_tp }: Types): Btf {
	const b = new BtfBuilder();
	const int = b.type('int', INT, 4, [32]);
	b.type('task_struct', STRUCT, 4, [b.string(task), int, 0], 1);
	if (map) b.type('bpf_local_storage_map', STRUCT, 4, [b.string(map), int, 0], 1);
	if (sched_exit_tp) b.type('btf_trace_sched_exit_tp', TYPEDEF, int);
	return new Btf(b.build());
}

/** /proc/cpuinfo of x86-64 and of arm64. */
const WIDE = ['flags\t\t: fpu sse3 cx16 sse4_1\n', 'Features\t: fp asimd atomics cpuid\n'];
const NARROW = ['flags\t\t: fpu cx8 sse3\n', 'Features\t: fp asimd cpuid\nmodel: cx16\n'];

function missing(release: keyof typeof KERNELS, cpuInfo: string, realtime?: string) {
	const kernel = { version: '#1 SMP', realtime, btf: btfOf(KERNELS[release]) };
	return taskStorageMissing(kernel, cpuInfo);
}

test('task storage is used since 6.4, on every CPU that has what the kernel needs for it', () => {
	for (const cpu of [...WIDE, ...NARROW]) {
		assert.match(missing('5.10', cpu) ?? '', /no task_struct\.bpf_storage/);
		assert.match(missing('6.1', cpu) ?? '', /before 6\.4/);
		for (const release of ['6.12', '6.18'] as const)
			assert.equal(missing(release, cpu), undefined, `${release} ${cpu}`);
	}
	for (const release of ['6.19', '7.2'] as const) {
		for (const cpu of WIDE) assert.equal(missing(release, cpu), undefined, `${release} ${cpu}`);
		for (const cpu of NARROW) assert.match(missing(release, cpu) ?? '', /16 bytes/, release);
	}
});

test('under PREEMPT_RT there is no task storage while it got no memory with preemption off', () => {
	const [cpu = ''] = WIDE;
	for (const release of ['6.12', '6.18', '7.2'] as const)
		assert.equal(missing(release, cpu, '1\n'), undefined, release);
	assert.match(missing('6.19', cpu, '1\n') ?? '', /PREEMPT_RT/);
});

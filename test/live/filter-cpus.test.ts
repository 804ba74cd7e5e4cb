/** Filters by CPU, of more CPUs than any machine has: user space sets the bits, the kernel's code reads them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FilteredLayout, FilterSets } from '../../src/bpf/filter.js';
import { BpfObject } from '../../src/loader/object.js';
import { callable } from './program-as-function.js';
import { sectionOf, testObject } from './test-object.js';

/** The most that a kernel can be built for: arch/x86/Kconfig, NR_CPUS_RANGE_END. */
const CPUS = 8192;

const SETS = ['filter_tgids', 'filter_tids', 'filter_comms', 'filter_cgroups'] as const;

/** Whether the kernel's filter has each CPU, where these were asked for. */
function chosenAmong(cpus: readonly number[]): number[] {
	const layout = {
		name: 'filter_cpus',
		structs: {},
		enums: {},
		sections: {
			'.rodata': sectionOf('filter_cpus', '.rodata'),
			'.bss': sectionOf('filter_cpus', '.bss'),
		},
		maps: {},
		programs: ['has_cpu'],
	};
	const object = new BpfObject(testObject('filter_cpus'), layout as unknown as FilteredLayout);
	try {
		const nothing = { pids: [], tids: [], comms: [], cgroups: [] };
		const filter = { ...nothing, cpus, userThreads: false, kernelThreads: false, follow: false };
		new FilterSets(object, filter, undefined).configure();
		object.load(['has_cpu'], SETS);
		const hasCpu = callable(object, 'has_cpu', 1);
		return Array.from({ length: CPUS + 1 }, (_, cpu) => cpu).filter((cpu) => hasCpu(BigInt(cpu)));
	} finally {
		object.close();
	}
}

for (const cpus of [
	[0],
	[31],
	[32],
	[63],
	[64],
	[127, 128],
	[0, 1, 33, 66, 95, 96, 1000],
	[CPUS - 1],
	Array.from({ length: 48 }, (_, i) => 2 * i + 1),
]) {
	test(`CPUs ${cpus.slice(0, 8).join()}: these are chosen, and no others`, () => {
		assert.deepEqual(chosenAmong(cpus), cpus);
	});
}

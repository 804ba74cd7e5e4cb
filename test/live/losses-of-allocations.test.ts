/** Allocations that are lost as programs interrupt each other, or too many threads allocate: in memleak's programs. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { indexesOf } from '../../src/bpf/calls/calls.js';
import { memleak } from '../../src/generated/memleak.js';
import { u32Key } from '../../src/loader/map.js';
import type { BpfObject } from '../../src/loader/object.js';
import { UserProbes } from '../../src/loader/probes.js';
import { readHeapFile } from '../../src/tools/memleak/heap/files.js';
import { lostWhile, takeScratch } from './lost-while.js';
import { Workload } from './support.js';

const MEMLEAK = ['memleak', memleak] as const;
const CALLS = 97;

test('allocations_nested: memory of the kernel, where each CPU is in a walk already', async () => {
	const workload = await Workload.start('calls', 'missing', `${CALLS}`);
	const lost = await lostWhile(
		MEMLEAK,
		{ programs: ['memleak_cache_alloc'], prepare: takeScratch },
		[workload.pid],
		() => workload.work(),
	);
	await workload.end();
	// Each call has room for its path, at least.
	const { allocations_nested = 0, ...others } = lost;
	assert.ok(allocations_nested >= CALLS, `${allocations_nested}`);
	assert.deepEqual(others, {});
});

test('allocations_nested: calls that make a process grow, where each CPU is in a walk already', async () => {
	const workload = await Workload.start('calls', 'missing', `${CALLS}`);
	const lost = await lostWhile(
		MEMLEAK,
		{
			programs: ['memleak_call'],
			// The call that this workload makes in a known number.
			constants: { mmap_nr: indexesOf('openat')[0] ?? -1 },
			prepare: takeScratch,
		},
		[workload.pid],
		() => workload.work(),
	);
	await workload.end();
	assert.deepEqual(lost, { allocations_nested: CALLS });
});

const ALLOCATOR = resolve('build/workloads/endless');
/** As bpf/lib/memleak/heap_call.h packs it: the first argument is the size. */
const SIZE_FIRST = 1n;

function probeMalloc(
	object: BpfObject<typeof memleak>,
	probes: UserProbes,
	pid: number,
	programs: readonly ('memleak_entry' | 'memleak_return')[],
): void {
	const { functions } = readHeapFile(ALLOCATOR, 'je_');
	const { offset = 0 } = functions.find(({ of }) => of.name.endsWith('malloc')) ?? {};
	// For kernels that hand over no cookie.
	const signature = new Uint8Array(new BigUint64Array([SIZE_FIRST]).buffer);
	object.map('signatures').update(u32Key(offset % 4096), signature);
	for (const name of programs)
		probes.attach({
			program: object.program(name),
			returns: name === 'memleak_return',
			path: ALLOCATOR,
			pid,
			points: [{ offset, cookie: SIZE_FIRST }],
		});
}

for (const { cause, what, programs, room, full, prepare } of [
	{
		cause: 'allocations_nested',
		what: 'where each CPU is in a walk already',
		programs: ['memleak_return', 'memleak_entry'],
		room: { heap_calls: 16 },
		full: [],
		prepare: takeScratch,
	},
	{
		cause: 'allocating_threads_full',
		what: 'of a thread that has no room',
		programs: ['memleak_entry'],
		room: { heap_calls: 1 },
		full: ['heap_calls'],
		prepare: () => undefined,
	},
] as const) {
	test(`${cause}: a process's own allocations, ${what}`, async () => {
		const TIMES = 23;
		const workload = await Workload.start('endless', '0');
		const probes = new UserProbes(undefined);
		const lost = await lostWhile(
			MEMLEAK,
			{ programs: [], loadedOnly: programs, room, full, prepare },
			[workload.pid],
			async (object) => {
				probeMalloc(object, probes, workload.pid, programs);
				for (let i = 0; i < TIMES; i++) await workload.work();
				probes.close();
			},
		);
		await workload.end();
		assert.deepEqual(lost, { [cause]: TIMES });
	});
}

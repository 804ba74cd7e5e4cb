/** System calls that are lost where tables are full: in the programs of syscount and trace. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { syscount } from '../../src/generated/syscount.js';
import { trace } from '../../src/generated/trace.js';
import { type BpfMap, u32Key } from '../../src/loader/map.js';
import { lostWhile, takeScratch, wantCalls } from './lost-while.js';
import { needs, Workload } from './support.js';

const SYSCOUNT = ['syscount', syscount] as const;
const TRACE = ['trace', trace] as const;
const RING = needs('a ring buffer');
const CALLS = 97;

/** In struct call_place of bpf/lib/syscount/times.h, and in struct call_slot of bpf/lib/trace/records.h. */
const PLACE_REGISTERS_AT = 0;
const SLOT_SINCE_AT = 8;

/** Takes all places of a table: this word of each says that it is another thread's. */
function takeAll(map: BpfMap, at: number): void {
	const value = new Uint8Array(map.valueSize);
	value[at] = 1;
	for (let key = 0; key < map.maxEntries; key++) map.update(u32Key(key), value);
}

async function ofCalls<R>(kind: string, use: (workload: Workload) => Promise<R>): Promise<R> {
	const workload = await Workload.start('calls', kind, `${CALLS}`);
	const result = await use(workload);
	await workload.end();
	return result;
}

test('wait_table_full: calls whose place is taken, with no room for the time when they began', async () => {
	const lost = await ofCalls('missing', (workload) =>
		lostWhile(
			SYSCOUNT,
			{
				programs: ['syscount_enter'],
				constants: { filter_calls: true },
				room: { calls_displaced: 1 },
				full: ['calls_displaced'],
				configure: (object) => wantCalls(object, 'openat'),
				prepare: (object) => takeAll(object.map('call_places'), PLACE_REGISTERS_AT),
			},
			[workload.pid],
			() => workload.work(),
		),
	);
	assert.deepEqual(lost, { wait_table_full: CALLS });
});

test(
	'wait_table_full: calls to be traced, where other threads have all the places',
	RING,
	async () => {
		const lost = await ofCalls('missing', (workload) =>
			lostWhile(
				TRACE,
				{
					programs: ['trace_enter', 'trace_exit'],
					constants: { filter_calls: true },
					configure: (object) => wantCalls(object, 'openat'),
					prepare: (object) => takeAll(object.map('call_slots_of_threads'), SLOT_SINCE_AT),
				},
				[workload.pid],
				() => workload.work(),
			),
		);
		assert.deepEqual(lost, { wait_table_full: CALLS });
	},
);

test(
	'wait_table_full: signals to be traced, where other threads have all the places',
	RING,
	async () => {
		const lost = await ofCalls('signals', (workload) =>
			lostWhile(
				TRACE,
				{
					programs: ['trace_signal'],
					prepare: (object) => takeAll(object.map('call_slots_of_threads'), SLOT_SINCE_AT),
				},
				[workload.pid],
				() => workload.work(),
			),
		);
		assert.deepEqual(lost, { wait_table_full: CALLS });
	},
);

test('stack_walk_failed: stacks of calls, where each CPU is in a walk already', RING, async () => {
	const lost = await ofCalls('missing', (workload) =>
		lostWhile(
			TRACE,
			{
				programs: ['trace_enter', 'trace_exit', 'trace_exit_stack'],
				constants: { filter_calls: true, with_stacks: true },
				room: { records: 1 << 16 },
				configure: (object) => wantCalls(object, 'openat'),
				prepare: takeScratch,
			},
			[workload.pid],
			() => workload.work(),
		),
	);
	assert.deepEqual(lost, { stack_walk_failed: CALLS });
});

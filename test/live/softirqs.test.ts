/** What softirqs serve: the programs know them by number, the kernel says their names in that order. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { interrupt } from '../../src/generated/common.js';
import type { ObjectLayout } from '../../src/loader/layout.js';
import { BpfObject } from '../../src/loader/object.js';
import { callable } from './program-as-function.js';
import { testObject } from './test-object.js';

const {
	INTERRUPT_OTHER: OTHER,
	INTERRUPT_TIMER: TIMER,
	INTERRUPT_NETWORK: NETWORK,
	INTERRUPT_BLOCK: BLOCK,
	INTERRUPT_TASKLET: TASKLET,
	INTERRUPT_BALANCE: BALANCE,
	INTERRUPT_RCU: RCU,
} = interrupt;

/** By the names of /proc/softirqs: kernel/softirq.c, softirq_to_name. */
const SERVED: Readonly<Record<string, number>> = {
	HI: TASKLET,
	TIMER,
	NET_TX: NETWORK,
	NET_RX: NETWORK,
	BLOCK,
	IRQ_POLL: BLOCK,
	TASKLET,
	SCHED: BALANCE,
	HRTIMER: TIMER,
	RCU,
};

test('each softirq of this kernel is shown as what it serves', () => {
	const names = readFileSync('/proc/softirqs', 'utf8').match(/\w+(?=:)/g) ?? [];
	assert.deepEqual(names.toSorted(), Object.keys(SERVED).toSorted());
	const layout = {
		name: 'interrupts',
		structs: {},
		enums: {},
		sections: {},
		maps: {},
		programs: ['served_by'],
	} as const satisfies ObjectLayout;
	const object = new BpfObject(testObject('interrupts'), layout);
	try {
		object.load(['served_by']);
		const servedBy = callable(object, 'served_by', 1);
		for (const [number, name] of names.entries())
			assert.equal(servedBy(BigInt(number)), SERVED[name], name);
		assert.equal(servedBy(BigInt(names.length)), OTHER);
	} finally {
		object.close();
	}
});

/** Rows of timehist's JSON: of a time slice, exactly what is known of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as event from '../../../../src/tools/timehist/event-fields.js';
import { TimehistFormatter } from '../../../../src/tools/timehist/lines.js';

const VIEW = {
	...{ next: false, stacks: false, maxStack: 0, lines: true, summary: false, visual: 0 },
	...{ wallClock: false, nameWidth: 30 },
};

/** A time slice that ended: it had waited 3, been runnable for 2 of it, and ran for 7 ns. */
function slice(flags: number): DataView {
	const record = new DataView(new ArrayBuffer(event.BYTES));
	record.setUint8(event.FIELDS.type.offset, event.SWITCH);
	record.setUint8(event.FIELDS.flags.offset, flags);
	for (const [field, ns] of [
		['wait_ns', 3],
		['latency_ns', 2],
		['run_ns', 7],
	] as const)
		record.setBigUint64(event.FIELDS[field].offset, BigInt(ns), true);
	return record;
}

test('a row has those of wait, delay and run time that are known, and no others', () => {
	const { WAIT_UNKNOWN: wait, LATENCY_UNKNOWN: delay, RUN_UNKNOWN: run } = event;
	const formatter = new TimehistFormatter(VIEW, false);
	const none: readonly number[] = [];
	for (const unknown of [none, [wait], [delay], [run], [wait, delay], [delay, run], [wait, run]]) {
		const { wait_ns, delay_ns, run_ns } = formatter.row(
			slice(unknown.reduce((all, flag) => all | flag, 0)),
			0,
		);
		assert.deepEqual(
			[wait_ns, delay_ns, run_ns],
			[
				unknown.includes(wait) ? undefined : 3,
				unknown.includes(delay) ? undefined : 2,
				unknown.includes(run) ? undefined : 7,
			],
		);
	}
});

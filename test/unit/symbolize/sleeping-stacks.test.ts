/** Stacks of threads that sleep, where they cannot be walked. What they are where they can: test/live/sleeping.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProcessHistory } from '../../../src/symbolize/processes.js';
import { SleepingStacks } from '../../../src/symbolize/sleeping-stacks.js';
import { END } from '../../../src/unwind/step.js';

const NOW_NS = Number(process.hrtime.bigint());
/** Above any process number. */
const NOBODY = 4_194_305;

function walked(pid: number, registers: { ip: number; sp: number; fp: number }, known = true) {
	const history = new ProcessHistory();
	const sleeping = new SleepingStacks();
	try {
		if (known) history.snapshot(process.pid);
		const space = history.at(process.pid, NOW_NS);
		return sleeping.walk(pid, space, registers, 127);
	} finally {
		sleeping.close();
		history.close();
	}
}

const HIGH = 2 ** 46;

test('a kernel thread has no user stack', () => {
	assert.deepEqual(walked(process.pid, { ip: 0, sp: 0, fp: 0 }).addresses, []);
});

test('the leaf alone: of a process that is gone or not known, of 32-bit code, with registers that lie', () => {
	const leaf = { ip: HIGH, sp: HIGH, fp: HIGH };
	for (const { addresses, end } of [
		walked(NOBODY, leaf),
		walked(process.pid, leaf, false),
		walked(process.pid, { ip: 0x8048000, sp: 0xffff0000, fp: 0xffff0000 }),
		walked(process.pid, leaf),
		walked(process.pid, { ip: HIGH, sp: Number.MAX_SAFE_INTEGER, fp: Number.MAX_SAFE_INTEGER }),
	]) {
		assert.equal(addresses.length, 1);
		assert.notEqual(end, END.whole);
	}
});

import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { CostMeter, OwnAverage, ownTime_ns } from '../../../src/loader/cost.js';
import { libbpf } from '../../../src/loader/ffi.js';

const MS = 1e6;

/** Looks at given times, in ms, with so much CPU time taken until then. */
function averageOf(...looks: ReadonlyArray<readonly [at_ms: number, own_ms: number]>): OwnAverage {
	const left = looks.map(([at_ms, own_ms]) => ({ at_ns: at_ms * MS, own_ns: own_ms * MS }));
	return new OwnAverage(() => left.shift() ?? assert.fail('no more looks'));
}

test('the first second counts as a whole one: what starts up is no burst', () => {
	const average = averageOf([0, 100], [50, 140], [2000, 200]);
	assert.equal(average.look_pct(), 4);
	assert.equal(average.look_pct(), 5);
});

test('tstrace is looked at over the last five seconds', () => {
	const average = averageOf([0, 0], [1000, 900], [4000, 900], [6500, 1450]);
	assert.equal(average.look_pct(), 90);
	assert.equal(average.look_pct(), 22.5);
	assert.equal(average.look_pct(), 10, 'from 1000 to 6500');
});

test('after a change nothing counts that was before', () => {
	const average = averageOf([0, 0], [1000, 900], [1000, 900], [3000, 920]);
	average.look_pct();
	average.startOver();
	assert.equal(average.look_pct(), 1);
});

test('without programs there is the CPU time of our own, and no cost of theirs', () => {
	const meter = new CostMeter([]);
	assert.equal(meter.begin(), false);
	assert.ok(meter.end().own_pct >= 0);
	const own = { own_ns: 1e7, own_pct: 0.5, unmeasured: undefined };
	assert.deepEqual(meter.estimate(2e9, 1e7), { programs: undefined, ...own });
});

/** Two programs, of which the first is led to by a trap of 30 ns; and a clock. */
function measured(t: TestContext, unmeasured?: string) {
	const machine = {
		at_ns: 1_000_000n,
		first: [100, 1000],
		second: [7, 50],
		statistics: [] as number[],
	};
	t.mock.method(process.hrtime, 'bigint', () => machine.at_ns);
	t.mock.method(libbpf(), 'bpf_enable_stats', () => {
		machine.statistics.push(openSync('/dev/null', 'r'));
		return machine.statistics.at(-1);
	});
	const program = (name: 'first' | 'second', missed: number) => ({
		info: () => ({ runs: machine[name][0], time_ns: machine[name][1], missed }),
	});
	const metered = [
		{ program: program('first', 3) as never, trap_ns: 30 },
		{ program: program('second', 4) as never, trap_ns: 0 },
	];
	return { machine, meter: new CostMeter(metered, unmeasured) };
}

test('what programs took while it was measured stands for all of the time', (t) => {
	const { machine, meter } = measured(t);
	assert.equal(meter.begin(), true);
	assert.equal(meter.begin(), true);
	assert.equal(machine.statistics.length, 1, 'on is on');
	Object.assign(machine, { at_ns: 1_010_000n, first: [110, 5000], second: [27, 2050] });
	assert.equal(meter.end().programs_pct, 63);
	for (const fd of machine.statistics) assert.throws(() => closeSync(fd), /EBADF/);
	const own = { own_ns: 5000, own_pct: 5, unmeasured: undefined };
	const first = { bpf_runs: 300, bpf_ns: 60_000, cpu_pct: 60, trap_ns: 3000, trap_pct: 3 };
	assert.deepEqual(meter.estimate(100_000, 5000), { programs: first, ...own });
	// What they do while it is not measured does not count.
	Object.assign(machine, { at_ns: 2_000_000n, first: [999, 99_999], second: [99, 9999] });
	meter.begin();
	Object.assign(machine, { at_ns: 2_030_000n, first: [1009, 101_999] });
	assert.equal(Math.round(meter.end().programs_pct * 100), 767);
	const both = { bpf_runs: 100, bpf_ns: 20_000, cpu_pct: 20, trap_ns: 1500, trap_pct: 1.5 };
	assert.deepEqual(meter.estimate(100_000, 5000), { programs: both, ...own });
	assert.equal(meter.estimate(0, 0).own_pct, 0);
	assert.equal(meter.missed(), 7);
});

test('where it is not to be measured, the statistics stay off, and it is told why', (t) => {
	const { machine, meter } = measured(t, 'it stops all CPUs');
	assert.equal(meter.begin(), false);
	assert.deepEqual(machine.statistics, []);
	const { programs, unmeasured } = meter.estimate(1e9, 0);
	assert.deepEqual([programs, unmeasured], [undefined, 'it stops all CPUs']);
});

test('statistics are off when the meter is closed while it measures', (t) => {
	const { machine, meter } = measured(t);
	meter.begin();
	meter.close();
	for (const fd of machine.statistics) assert.throws(() => closeSync(fd), /EBADF/);
	meter.close();
	assert.equal(meter.end().programs_pct, 0);
});

test('the CPU time of our own is that in user space and in the kernel, in ns', (t) => {
	t.mock.method(process, 'cpuUsage', () => ({ user: 3_000_000, system: 500_000 }));
	assert.equal(ownTime_ns(), 3.5e9);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onlineCpus, PerCpuEvents, parseCpuList, quietCpus } from '../../../src/perf/cpus.js';
import { PerfOpenError } from '../../../src/perf/open.js';
import { errorOf, withFiles } from '../loader/replaced.js';

test('lists of CPUs', () => {
	assert.deepEqual(parseCpuList('0-3,8,10-11\n'), [0, 1, 2, 3, 8, 10, 11]);
	assert.deepEqual(parseCpuList('0\n'), [0]);
	assert.deepEqual(parseCpuList('\n'), []);
});

const CPUS = '/sys/devices/system/cpu';

test('CPUs that somebody keeps quiet: by either way to do so, each once, in order', () => {
	const quiet = (isolated: string | Error, nohz_full: string | Error) =>
		withFiles({ [`${CPUS}/isolated`]: isolated, [`${CPUS}/nohz_full`]: nohz_full }, quietCpus);
	assert.deepEqual(quiet('10-11,3\n', '2-3\n'), [2, 3, 10, 11]);
	assert.deepEqual(quiet('\n', '  (null)\n'.trimStart()), []);
	// Kernels before 4.6, and those without CONFIG_NO_HZ_FULL.
	assert.deepEqual(quiet('5\n', errorOf('ENOENT')), [5]);
	assert.deepEqual(withFiles({ [`${CPUS}/online`]: '0-1,4\n' }, onlineCpus), [0, 1, 4]);
});

/** CPUs that come and go, and what is open on them. */
class Machine {
	readonly log: string[] = [];
	readonly failing = new Map<number, Error>();

	constructor(public cpus: number[]) {}

	events(cpus?: number[]): PerCpuEvents<{ close(): void }> {
		return new PerCpuEvents((cpu) => this.#open(cpu), {
			...(cpus && { cpus }),
			online: () => this.cpus,
		});
	}

	#open(cpu: number): { close(): void } {
		const error = this.failing.get(cpu);
		if (error) throw error;
		this.log.push(`open ${cpu}`);
		return { close: () => this.log.push(`close ${cpu}`) };
	}
}

test('one on each CPU, as they come and go', () => {
	const machine = new Machine([0, 1]);
	const events = machine.events();
	assert.deepEqual([...events.open.keys()], [0, 1]);
	events.refresh();
	assert.deepEqual([...events.open.keys()], [0, 1]);
	machine.cpus = [0, 2, 3];
	events.refresh();
	assert.deepEqual([...events.open.keys()], [0, 2, 3]);
	events.close();
	events.close();
	assert.deepEqual(machine.log, [
		...['open 0', 'open 1', 'close 1', 'open 2', 'open 3'],
		...['close 0', 'close 2', 'close 3'],
	]);
});

test('of those chosen, the ones that are online', () => {
	const machine = new Machine([0, 1, 2]);
	const events = machine.events([2, 7]);
	machine.cpus = [0, 7];
	events.refresh();
	assert.deepEqual([...events.open.keys()], [7]);
	assert.deepEqual(machine.log, ['open 2', 'close 2', 'open 7']);
});

test('a CPU that goes while it is being opened is tried again', () => {
	const machine = new Machine([0, 1]);
	machine.failing.set(1, new PerfOpenError('CPU 1 is offline', 'ENODEV'));
	const events = machine.events();
	assert.deepEqual([...events.open.keys()], [0]);
	machine.failing.clear();
	events.refresh();
	assert.deepEqual([...events.open.keys()], [0, 1]);
});

test('when one cannot be opened, the others are closed', () => {
	const machine = new Machine([0, 1]);
	machine.failing.set(1, new PerfOpenError('not allowed', 'EACCES'));
	assert.throws(() => machine.events(), /not allowed/);
	assert.deepEqual(machine.log, ['open 0', 'close 0']);
});

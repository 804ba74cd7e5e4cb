/** Samples of processes: which events are opened for them, and which records are delivered. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { type TestContext, test } from 'node:test';
import { perf_event_attr, uapi } from '../../../src/generated/uapi.js';
import { libc } from '../../../src/loader/ffi.js';
import { koffi } from '../../../src/loader/koffi.js';
import { SAMPLE_TYPE } from '../../../src/perf/attributes.js';
import { canReadLost } from '../../../src/perf/events.js';
import { eventOf } from '../../../src/perf/names.js';
import { PerfRing } from '../../../src/perf/ring.js';
import { PerfRings, type TimedRecord } from '../../../src/perf/rings.js';
import { Sampler, type SamplerOptions } from '../../../src/perf/sampler.js';
import { type Asked, FakeEvents } from './fake-events.js';
import { FakeRing, PAGE_BYTES } from './fake-ring.js';

const DUMMY = 9;

/** The events that are opened besides those whose rings they use; and where the output of each goes. */
function machine(t: TestContext) {
	const kernel = new FakeEvents(t);
	t.mock.method(PerfRing, 'map', () => new PerfRing(new FakeRing(2 ** 18), PAGE_BYTES));
	const outputs = new Map<number, number>();
	t.mock.method(libc(), 'ioctl', (fd: number, request: number, to: number) => {
		if (request === uapi.IOC_SET_OUTPUT) outputs.set(fd, to);
		return 0;
	});
	const isSampling = ({ config }: Asked) => config !== DUMMY;
	return { kernel, outputs, sampling: () => kernel.asked.filter(isSampling) };
}

const US: SamplerOptions = {
	...{ tids: [process.pid], event: eventOf('cpu-clock'), period: 1_000_003 },
	...{ kernel: 'yes', online: () => [0, 1], cpus: [0, 1] },
};

test('an event of each thread on each CPU, which writes to the ring there', (t) => {
	const { kernel, outputs, sampling } = machine(t);
	const sampler = new Sampler(US);
	assert.deepEqual(
		sampling().map(({ pid, cpu, type, config }) => [pid, cpu, type, config]),
		[
			[process.pid, 0, 1, 0],
			[process.pid, 1, 1, 0],
		],
	);
	for (const [fd, to] of outputs) {
		const [event, owner] = [kernel.open.get(fd), kernel.open.get(to)];
		assert.deepEqual([owner?.config, owner?.pid, owner?.cpu], [DUMMY, 0, event?.cpu]);
	}
	assert.equal(outputs.size, 2);
	sampler.close();
	assert.equal(kernel.open.size, 0);
});

test('how to sample: by period or by frequency, who inherits it, and how deep stacks are', (t) => {
	const { sampling } = machine(t);
	const flagsOf = (options: Partial<SamplerOptions>) => {
		new Sampler({ ...US, ...options } as SamplerOptions);
		return sampling().at(-1) ?? assert.fail();
	};
	const { fields } = perf_event_attr;
	const usual = flagsOf({});
	const sideband = ['mmap', 'mmap2', 'comm', 'comm_exec', 'task', 'sample_id_all', 'use_clockid'];
	const own = ['inherit', 'exclude_idle', 'exclude_hv'];
	assert.deepEqual([...usual.flags].sort(), [...sideband, ...own].sort());
	const numberAt = ({ attributes }: Asked, { offset }: { offset: number }) =>
		Number(attributes.getBigUint64(offset, true));
	assert.equal(numberAt(usual, fields.sample_period), 1_000_003);
	assert.equal(numberAt(usual, fields.sample_type), SAMPLE_TYPE);
	// Else nobody could tell what was lost.
	const losses = canReadLost() ? uapi.FORMAT_LOST : 0;
	assert.equal(numberAt(usual, fields.read_format), losses);
	const often = flagsOf({ period: undefined, frequency_hz: 997 } as never);
	assert.ok(often.flags.includes('freq'));
	assert.equal(numberAt(often, fields.sample_period), 997);
	const wide = flagsOf({ systemWide: true });
	assert.deepEqual([wide.pid, wide.flags.includes('inherit')], [-1, false]);
	// arm64's counters refuse it.
	assert.ok(!flagsOf({ event: eventOf('cycles') }).flags.includes('exclude_idle'));
	const deep = flagsOf({ maxStack: 99 });
	assert.equal(deep.attributes.getUint16(fields.sample_max_stack.offset, true), 99);
	const held = flagsOf({ fromExec: true });
	assert.ok(held.flags.includes('disabled') && held.flags.includes('enable_on_exec'));
});

test('the kernel is sampled if it may be, where that is what was asked for', (t) => {
	const { kernel, sampling } = machine(t);
	const withoutKernel = ['exclude_kernel', 'exclude_callchain_kernel'];
	const excludes = () =>
		sampling().map(({ flags }) => withoutKernel.filter((flag) => flags.includes(flag)));
	const sampler = new Sampler({ ...US, kernel: 'no' });
	assert.equal(sampler.kernelIncluded, false);
	assert.deepEqual(excludes(), [withoutKernel, withoutKernel]);
	kernel.asked.length = 0;
	let errno = 'EPERM';
	kernel.refuses = ({ flags }) => (flags.includes('exclude_kernel') ? undefined : errno);
	new Sampler({ ...US, kernel: 'if-allowed' }).close();
	errno = 'EACCES';
	kernel.asked.length = 0;
	const less = new Sampler({ ...US, kernel: 'if-allowed' });
	assert.equal(less.kernelIncluded, false);
	// Once it is known, the kernel is not asked again.
	assert.deepEqual(excludes(), [[], withoutKernel, withoutKernel]);
	less.close();
	sampler.close();
	assert.throws(() => new Sampler(US), { errno: 'EACCES' });
	assert.equal(kernel.open.size, 0);
	kernel.refuses = ({ config }) => (config === DUMMY ? undefined : 'EMFILE');
	assert.throws(() => new Sampler({ ...US, kernel: 'if-allowed' }), { errno: 'EMFILE' });
	kernel.refuses = () => undefined;
	assert.equal(new Sampler({ ...US, kernel: 'if-allowed' }).kernelIncluded, true);
});

test('where all that were chosen have ended, there is nothing to sample', (t) => {
	const { kernel } = machine(t);
	kernel.refuses = ({ config }) => (config === DUMMY ? undefined : 'ESRCH');
	const nobody = { ...US, pids: [4_194_305], tids: [4_194_306] };
	assert.throws(() => new Sampler(nobody), {
		message: 'nothing to sample: process 4194305, thread 4194306 has ended or never existed',
	});
	assert.equal(kernel.open.size, 0);
});

test('where one of several threads cannot be sampled, nothing stays open; one that is there is enough', (t) => {
	const { kernel } = machine(t);
	kernel.refuses = ({ pid }) => (pid === 72 ? 'EMFILE' : undefined);
	assert.throws(() => new Sampler({ ...US, tids: [71, 72] }), { errno: 'EMFILE' });
	assert.equal(kernel.open.size, 0);
	kernel.refuses = ({ cpu, config }) => (cpu === 1 && config !== DUMMY ? 'ESRCH' : undefined);
	new Sampler({ ...US, tids: [71, 72] }).close();
});

test('a CPU that comes later samples at once: COMMAND runs its program already', (t) => {
	const { sampling } = machine(t);
	t.mock.method(koffi().node, 'poll', () => ({ close: () => undefined }));
	let online = [0];
	const sampler = new Sampler({ ...US, fromExec: true, online: () => online });
	const nothing = () => undefined;
	sampler.start(nothing, nothing);
	online = [0, 1];
	sampler.refreshCpus();
	assert.deepEqual(
		sampling().map(({ cpu, flags }) => [cpu, flags.includes('enable_on_exec')]),
		[
			[0, true],
			[1, false],
		],
	);
	sampler.close();
});

/** While `work` runs, a process has these threads, each time that somebody looks. */
function withThreads<T>(pid: number, looks: readonly (readonly number[])[], work: () => T): T {
	const { readdirSync } = fs;
	const left = [...looks];
	const replaced = (path: string, options?: 'utf8') =>
		path === `/proc/${pid}/task` ? left.shift()?.map(String) : readdirSync(path, options);
	fs.readdirSync = replaced as typeof readdirSync;
	syncBuiltinESMExports();
	try {
		return work();
	} finally {
		fs.readdirSync = readdirSync;
		syncBuiltinESMExports();
	}
}

test('of a thread that may have two events the samples of one are delivered, until it ends, or that may be unknown', (t) => {
	const { sampling } = machine(t);
	let deliver: ((record: TimedRecord) => void) | undefined;
	t.mock.method(PerfRings.prototype, 'start', (onRecord: typeof deliver) => {
		deliver = onRecord;
	});
	const looks = [
		[71, 72],
		[71, 72, 73],
		[71, 72, 73],
	];
	const options = { ...US, tids: [], pids: [70], cpus: [0] };
	const sampler = withThreads(70, looks, () => new Sampler(options));
	assert.deepEqual(
		sampling().map(({ pid }) => pid),
		[71, 72, 73],
	);
	const ids: number[] = [];
	sampler.start(
		({ id }) => ids.push(id),
		() => undefined,
	);
	const stamp = { time_ns: 1, pid: 70, tid: 73 };
	const samples = (...all: readonly number[]) => {
		for (const id of all)
			deliver?.({ ...stamp, type: 'sample', id, cpu: 0, period: 1, kernel: [], user: [] });
		return ids.splice(0);
	};
	assert.deepEqual(samples(1, 2, 1), [1, 1]);
	deliver?.({ ...stamp, type: 'exit' });
	assert.deepEqual(samples(2, 1), [2]);
	t.mock.method(PerfRings.prototype, 'lost', () => 5);
	assert.equal(sampler.lost(), 5);
	assert.deepEqual(samples(1, 2), [1]);
	sampler.close();
});

test('samples and what else happened, of those who have a number here', (t) => {
	machine(t);
	let deliver: ((record: TimedRecord) => void) | undefined;
	t.mock.method(PerfRings.prototype, 'start', (onRecord: typeof deliver) => {
		deliver = onRecord;
	});
	const sampler = new Sampler(US);
	const samples: number[] = [];
	const others: string[] = [];
	sampler.start(
		({ tid }) => samples.push(tid),
		({ type, tid }) => others.push(`${type} ${tid}`),
	);
	const sample = { type: 'sample', time_ns: 1, id: 1, cpu: 0, period: 1 } as const;
	for (const [pid, tid] of [
		[70, 71],
		[0, 0],
		[-1, -1],
	] as const) {
		deliver?.({ ...sample, pid, tid, kernel: [], user: [] });
		deliver?.({ type: 'exit', time_ns: 1, pid, tid });
	}
	assert.deepEqual([samples, others], [[71], ['exit 71']]);
	sampler.close();
});

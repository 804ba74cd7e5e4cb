/** Samples of threads: of whom, how often, which count, and what is told of those that were lost; with BPF and without. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { StackFindings } from '../../../../src/aggregate/stack-rows.js';
import { askedOf } from '../../../../src/cli/tool-command.js';
import { profile as layout } from '../../../../src/generated/profile.js';
import { perf_event_attr, uapi } from '../../../../src/generated/uapi.js';
import { libc } from '../../../../src/loader/ffi.js';
import { onlineCpus, PerCpuEvents } from '../../../../src/perf/cpus.js';
import { eventOf } from '../../../../src/perf/names.js';
import type { SampleRecord, SidebandRecord } from '../../../../src/perf/records.js';
import { PerfRing } from '../../../../src/perf/ring.js';
import { Sampler } from '../../../../src/perf/sampler.js';
import { Sideband } from '../../../../src/perf/sideband.js';
import { ProcessHistory } from '../../../../src/symbolize/mappings/processes.js';
import { ProcessWatch } from '../../../../src/symbolize/process-watch.js';
import { profile } from '../../../../src/tools/profile/profile.js';
import { KernelSamples, PlainSamples } from '../../../../src/tools/profile/sampling.js';
import { type Asked, FakeEvents } from '../../perf/fake-events.js';
import { FakeRing, PAGE_BYTES } from '../../perf/fake-ring.js';
import { Kernel } from '../kernel.js';

type Raw = Readonly<Record<string, unknown>>;
const [CPU = 0] = onlineCpus();
const NOBODY = { pids: [], tids: [], comms: [], cgroups: [], cpus: [], follow: false };
const WHOEVER = { ...NOBODY, userThreads: false, kernelThreads: false };
const settingsOf = (raw: Raw) => ({
	...askedOf(profile, { raw, interval_s: 1, count: 1, command: [] }).settings,
	debuginfod: false,
});

/** Events that are open besides those whose rings they use: cpu-clock is event 0, a dummy is 9. */
function machine(t: TestContext) {
	const kernel = new FakeEvents(t);
	t.mock.method(PerfRing, 'map', () => new PerfRing(new FakeRing(2 ** 18), PAGE_BYTES));
	const outputs: number[] = [];
	t.mock.method(libc(), 'ioctl', (fd: number, request: number) => {
		if (request === uapi.IOC_SET_OUTPUT) outputs.push(fd);
		return 0;
	});
	const sampling = () => [...kernel.open.values()].filter(({ config }) => config === 0);
	return { kernel, outputs, sampling };
}

/** Without BPF. `record`: what the kernel tells; `counted`: of whom there are how many samples. */
function plain(t: TestContext, filter: object, raw: Raw = {}, command?: number) {
	const { sampling } = machine(t);
	const snapshots: number[] = [];
	const added: unknown[] = [];
	t.mock.method(ProcessHistory.prototype, 'snapshot', (pid: number) => snapshots.push(pid));
	t.mock.method(ProcessHistory.prototype, 'add', (of: unknown) => added.push(of));
	let tell: readonly [(sample: SampleRecord) => void, (record: SidebandRecord) => void] | undefined;
	t.mock.method(Sampler.prototype, 'start', (...both: NonNullable<typeof tell>) => {
		tell = both;
	});
	const settings = settingsOf({ event: eventOf('cpu-clock'), ...raw });
	const subjects = { filter: { ...WHOEVER, ...filter }, command, words: [] };
	const reader = new PlainSamples(settings, subjects);
	t.after(() => reader.close());
	reader.begin();
	const sample = (pid: number, more: object = {}) =>
		tell?.[0]({
			...{ type: 'sample', pid, tid: pid, time_ns: 1, cpu: 0, id: 1, period: 1 },
			...{ kernel: [], user: [], ...more },
		} as never);
	const record = (of: object) => tell?.[1]({ time_ns: 1, ...of } as never);
	const counted = async () =>
		(await reader.read()).stacks.map(({ key, count }) => [key.pid ?? key.comm, count]);
	return { reader, sampling, sample, record, counted, snapshots, added };
}

const maxStackOf = ({ attributes }: Asked) =>
	attributes.getUint16(perf_event_attr.fields.sample_max_stack.offset, true);

test('without BPF: the threads that were chosen, on the CPUs that were, and as deep as asked for', (t) => {
	const own = process.pid;
	const cpus = [CPU];
	const { sampling } = plain(t, { tids: [own], cpus }, { maxDepth: 33, frequency: 49 });
	const [event = assert.fail(), ...none] = sampling();
	assert.deepEqual([event.pid, event.cpu, maxStackOf(event), none], [own, CPU, 33, []]);
	assert.ok(event.flags.includes('freq') && !event.flags.includes('enable_on_exec'));
	assert.ok(!event.flags.includes('exclude_kernel'));
	t.mock.restoreAll();
	const { sampling: ofUser } = plain(t, { pids: [own], cpus }, { userStacks: true });
	for (const { flags } of ofUser()) assert.ok(flags.includes('exclude_kernel'));
	t.mock.restoreAll();
	// A COMMAND from its program on, and on every CPU.
	const { sampling: ofCommand } = plain(t, {}, {}, own);
	assert.deepEqual(
		[...new Set(ofCommand().map(({ cpu }) => cpu))].sort((a, b) => a - b),
		onlineCpus().sort((a, b) => a - b),
	);
	for (const { flags } of ofCommand()) assert.ok(flags.includes('enable_on_exec'));
	t.mock.restoreAll();
	assert.throws(() => plain(t, { cgroups: ['x'] }), {
		message: /^--cgroup and --container need BPF/,
	});
});

test('without BPF: of nobody in particular all own processes but tstrace', (t) => {
	const { snapshots } = plain(t, { cpus: [CPU] });
	assert.ok(snapshots.includes(process.ppid) && !snapshots.includes(process.pid));
});

test('without BPF: which samples count, by process, by name and by whose threads', async (t) => {
	const own = process.pid;
	// Those of the kernel have numbers from 2 on.
	const KTHREADD = 2;
	const countedWith = async (filter: object) => {
		t.mock.restoreAll();
		const { sample, record, counted } = plain(t, { cpus: [CPU], ...filter });
		for (const [pid, comm] of [
			[own, 'own'],
			[4_194_305, 'child'],
			[KTHREADD, 'kthreadd'],
		] as const) {
			record({ type: 'comm', comm, exec: false, pid, tid: pid });
			sample(pid);
		}
		return (await counted()).map(([who]) => who);
	};
	const all = [own, 4_194_305, KTHREADD];
	assert.deepEqual(await countedWith({ tids: [own] }), all);
	assert.deepEqual(await countedWith({ pids: [own] }), [own]);
	assert.deepEqual(await countedWith({ pids: [own], follow: true }), all);
	assert.deepEqual(await countedWith({ tids: [own], comms: ['chi*'] }), [4_194_305]);
	assert.deepEqual(await countedWith({ tids: [own], userThreads: true }), [own, 4_194_305]);
	assert.deepEqual(await countedWith({ tids: [own], kernelThreads: true }), [KTHREADD]);
});

test('without BPF: each thread of one name has its own row if that was asked for; what a name is, is told', async (t) => {
	const { sample, record, reader } = plain(t, { tids: [process.pid], cpus: [CPU] }, { tids: true });
	const [one, two] = [4_194_305, 4_194_306];
	record({ type: 'comm', comm: 'worker', exec: false, pid: one, tid: one });
	record({ type: 'comm', comm: 'worker', exec: false, pid: one, tid: two });
	sample(one);
	sample(one, { tid: two });
	sample(one, { tid: two });
	const { stacks } = await reader.read();
	assert.deepEqual(
		stacks.map(({ key, count }) => [key.pid, key.tid, key.comm, count]),
		[
			[one, two, 'worker', 2],
			[one, one, 'worker', 1],
		],
	);
});

test('without BPF: addresses are named by what was mapped before, and by what was mapped since', async (t) => {
	const own = process.pid;
	const { record, snapshots, added } = plain(t, { pids: [own], cpus: [CPU] });
	assert.deepEqual(snapshots, [own]);
	const mapped = { type: 'mmap', pid: own, tid: own, path: '/later.so' };
	record(mapped);
	assert.deepEqual(added, [{ time_ns: 1, ...mapped }]);
});

test('without BPF: what was sampled up to the end counts, and what was lost is told; the kernel’s frames are said to be missing', async (t) => {
	const { kernel, sampling } = machine(t);
	kernel.refuses = ({ flags }) => (flags.includes('exclude_kernel') ? undefined : 'EACCES');
	const did: string[] = [];
	for (const name of ['refreshCpus', 'drain'] as const)
		t.mock.method(Sampler.prototype, name, () => did.push(name));
	t.mock.method(Sampler.prototype, 'lost', () => did.push('lost') && 3);
	t.mock.method(Sampler.prototype, 'pauses', () => 2);
	const settings = settingsOf({ event: eventOf('cpu-clock'), maxStacks: 1 });
	const filter = { ...WHOEVER, tids: [process.pid], cpus: [CPU] };
	t.mock.method(ProcessHistory.prototype, 'snapshot', () => undefined);
	const reader = new PlainSamples(settings, { filter, command: undefined, words: [] });
	t.after(() => reader.close());
	let tell: ((sample: unknown) => void) | undefined;
	t.mock.method(Sampler.prototype, 'start', (onSample: never) => {
		tell = onSample;
	});
	reader.begin();
	for (const user of [[1], [2]])
		tell?.({ type: 'sample', pid: process.pid, tid: process.pid, time_ns: 1, kernel: [], user });
	reader.drain();
	assert.deepEqual(did, ['refreshCpus', 'drain']);
	assert.equal(sampling().length, 1);
	reader.end();
	assert.deepEqual(did.slice(2), ['drain', 'lost']);
	assert.deepEqual(sampling(), []);
	const { notices } = await reader.read();
	assert.match(notices[0] ?? '', /^kernel frames are missing/);
	assert.deepEqual(reader.lost(), {
		...{ samples_lost: 3, samples_throttled: 2, samples_without_room: 1 },
	});
});

/** With BPF. */
function withBpf(t: TestContext, raw: Raw, cpus: readonly number[] = []) {
	const { sampling, outputs } = machine(t);
	t.mock.method(Sideband.prototype, 'start', () => undefined);
	const kernel = new Kernel(t, layout);
	const object = Object.assign(kernel.object, { program: () => ({ fd: 5 }) });
	const subjects = {
		filter: { ...WHOEVER, pids: [process.pid], cpus },
		command: undefined,
		words: [],
	};
	const reader = new KernelSamples(
		...([object as never, 'profile_sample' as never, settingsOf(raw), subjects] as const),
		undefined,
	);
	t.after(() => reader.close());
	const rates = () =>
		sampling().map(({ cpu, flags, attributes }) => {
			const { offset } = perf_event_attr.fields.sample_period;
			return [cpu, flags.includes('freq'), Number(attributes.getBigUint64(offset, true))];
		});
	return { reader, kernel, rates, sampling, outputs };
}

test('with BPF: an event on each CPU that was chosen, until the end; pauses of the kernel are told by the rings of these', (t) => {
	const { reader, kernel, rates, outputs } = withBpf(t, { event: eventOf('cpu-clock') }, [CPU]);
	assert.deepEqual(rates(), []);
	reader.begin();
	assert.deepEqual(rates(), [[CPU, true, 99]]);
	assert.equal(kernel.told.sample_weight, 1);
	assert.equal(outputs.length, 1);
	const watch = t.mock.method(ProcessWatch.prototype, 'drain', () => undefined);
	const refresh = t.mock.method(PerCpuEvents.prototype, 'refresh', () => undefined);
	reader.drain();
	assert.deepEqual([watch.mock.callCount(), refresh.mock.callCount()], [1, 1]);
	reader.end();
	assert.deepEqual(rates(), []);
	t.mock.method(ProcessWatch.prototype, 'lost', () => ({ mappings_lost: 4 }));
	t.mock.method(Sideband.prototype, 'pauses', () => 2);
	assert.deepEqual(reader.lost(), { mappings_lost: 4, samples_throttled: 2 });
});

test('with BPF: where it costs too much samples become rarer, and each counts as more; what is told is as it was asked for', async (t) => {
	const { reader, kernel, rates } = withBpf(t, { event: eventOf('cpu-clock') }, [CPU]);
	reader.begin();
	assert.equal(
		reader.slowDown(),
		'tstrace now samples 24.75 times a second; each sample counts as 4',
	);
	assert.deepEqual(rates(), [[CPU, false, 4 * 10_101_010]]);
	assert.equal(kernel.told.sample_weight, 4);
	const named = { stacks: [], notices: ['of names'] };
	t.mock.method(ProcessWatch.prototype, 'name', async () => named);
	const { about, notices }: StackFindings = await reader.read();
	assert.equal(notices.at(-1), 'of names');
	assert.deepEqual(about, { event: 'cpu-clock', frequency_hz: 99, slowed_by: 4 });
	t.mock.restoreAll();
	const byCount = withBpf(t, { event: eventOf('page-faults'), count: 10 }, [CPU]);
	byCount.reader.begin();
	assert.equal(byCount.reader.slowDown(), 'tstrace now takes one sample in 4, which counts as 4');
	const { about: ofCount } = await byCount.reader.read();
	assert.deepEqual(ofCount, { event: 'page-faults', period: 10, slowed_by: 4 });
});

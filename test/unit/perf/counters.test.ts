/** Several events on threads, on CPUs and for a cgroup: which are opened, where, and what they add up to. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { perf_event_attr, uapi } from '../../../src/generated/uapi.js';
import { type Counted, Counters } from '../../../src/perf/counters.js';
import type { CountedEvent } from '../../../src/perf/event-list.js';
import { FakeEvents } from './fake-events.js';

/** perf_sw_ids, PERF_COUNT_SW_DUMMY: of a thread on one CPU it tells how long that ran there. */
const DUMMY = 9;

/** Of no kind that the kernel knows, and told apart by its number. */
const made = (number: number, more: Partial<CountedEvent> = {}): CountedEvent => ({
	...{ name: `event ${number}`, type: 40, config: BigInt(number), text: `event ${number}` },
	...{ spaces: [], group: undefined, kernelOnly: false },
	...more,
});

const threads = (...tids: number[]): Counted => ({ threads: () => tids, cpus: [] });
const onCpus = (...cpus: number[]): Counted => ({ cpus: [], online: () => cpus });
const values = (counters: Counters) => counters.read().map(({ value }) => Number(value));

test('each event is on each thread, wherever that runs, or on the CPUs that were chosen', (t) => {
	const kernel = new FakeEvents(t);
	const counters = new Counters([made(1), made(2)], threads(70, 71));
	assert.deepEqual(kernel.places(), [
		...['1 of 70 on -1', '2 of 70 on -1'],
		...['1 of 71 on -1', '2 of 71 on -1'],
	]);
	assert.equal(counters.size, 2);
	for (const { flags } of kernel.open.values())
		assert.deepEqual(flags, ['disabled', 'use_clockid']);
	counters.close();
	counters.close();
	assert.deepEqual(kernel.places(), []);
	assert.equal(counters.size, 0);
	new Counters([made(1)], { ...threads(70), cpus: [2, 5] });
	assert.deepEqual(kernel.places(), [
		...[`${DUMMY} of 70 on 2`, '1 of 70 on 2'],
		...[`${DUMMY} of 70 on 5`, '1 of 70 on 5'],
	]);
});

test('a thread that has ended and a CPU that is offline are left out; any other error leaves nothing open', (t) => {
	const kernel = new FakeEvents(t);
	kernel.refuses = ({ pid }) => ({ 71: 'ESRCH', 72: 'ENODEV' })[pid];
	new Counters([made(1)], threads(71, 70, 72, 73)).close();
	assert.deepEqual(
		kernel.asked.map(({ pid }) => pid),
		[71, 70, 72, 73],
	);
	for (const errno of ['EMFILE', 'ENFILE']) {
		kernel.refuses = ({ pid, config }) => (pid === 71 && config === 2 ? errno : undefined);
		const onOneCpu = { ...threads(70, 71), cpus: [3] };
		for (const counted of [threads(70, 71), onOneCpu])
			assert.throws(() => new Counters([made(1), made(2)], counted), { errno });
		assert.deepEqual(kernel.places(), []);
	}
});

test('a thread that comes while events are opened: all begins anew, until none comes', (t) => {
	const kernel = new FakeEvents(t);
	const looks = [[70], [70, 71], [70, 71]];
	const counted = { threads: () => looks.shift() ?? assert.fail(), inherit: true, cpus: [] };
	const counters = new Counters([made(1)], counted);
	assert.deepEqual(kernel.places(), ['1 of 70 on -1', '1 of 71 on -1']);
	assert.deepEqual([counters.size, counters.unsettled, kernel.asked.length], [2, 0, 3]);
	assert.ok(kernel.asked.every(({ flags }) => flags.includes('inherit')));
	counters.close();
	// Threads without end: those of the last look but one are counted.
	let newest = 70;
	const everMore = () => [newest++, newest++];
	const unsettled = new Counters([made(1)], { threads: everMore, inherit: true, cpus: [] });
	assert.equal(unsettled.unsettled, 2);
	assert.deepEqual(kernel.places(), ['1 of 78 on -1', '1 of 79 on -1']);
	unsettled.close();
	// Where nothing inherits them, those that come later are none of ours.
	let looked = 0;
	new Counters([made(1)], { threads: () => [70 + looked++], cpus: [] });
	assert.deepEqual(kernel.places(), ['1 of 70 on -1']);
});

test('who may not count in the kernel counts in user space, if that means anything', (t) => {
	const kernel = new FakeEvents(t);
	let errno = 'EPERM';
	kernel.refuses = ({ flags }) => (flags.includes('exclude_kernel') ? undefined : errno);
	assert.equal(new Counters([made(9)], threads(70)).isOpen(made(9)), false);
	assert.deepEqual(kernel.places(), ['9 of 70 on -1']);
	kernel.open.clear();
	errno = 'EACCES';
	const [plain, switches, chosen, shared] = [
		made(1),
		made(2, { kernelOnly: true }),
		made(3, { spaces: ['kernel'] }),
		made(4, { shared: true, onCpus: [0] }),
	];
	const counters = new Counters([plain, switches, chosen, shared], onCpus(0));
	assert.deepEqual(kernel.places(), ['1 of -1 on 0']);
	assert.deepEqual(
		[...kernel.open.values()].map(({ flags }) => flags),
		[['disabled', 'exclude_kernel', 'exclude_hv', 'use_clockid']],
	);
	const all = [plain, switches, chosen, shared];
	assert.deepEqual(
		all.map((event) => counters.isUserOnly(event)),
		[true, false, false, false],
	);
	assert.deepEqual(
		all.map((event) => counters.refusal(event)?.errno),
		[undefined, 'EACCES', 'EACCES', 'EACCES'],
	);
	assert.deepEqual(
		all.map((event) => counters.isOpen(event)),
		[true, false, false, false],
	);
});

test('what does not tell user space from the kernel is not counted, for want of the right to count both', (t) => {
	const kernel = new FakeEvents(t);
	kernel.refuses = ({ flags }) => (flags.includes('exclude_kernel') ? 'EINVAL' : 'EPERM');
	const event = made(1);
	const counters = new Counters([event], threads(70));
	assert.equal(counters.refusal(event)?.errno, 'EPERM');
	assert.equal(counters.isUserOnly(event), false);
	// Of an error that is no matter of rights, the one that came is told.
	kernel.refuses = ({ flags }) => (flags.includes('exclude_kernel') ? 'ENOENT' : 'EPERM');
	const none = made(3);
	assert.equal(new Counters([none], threads(70)).refusal(none)?.errno, 'ENOENT');
	kernel.refuses = () => 'EINVAL';
	const other = made(2);
	assert.equal(new Counters([other], threads(70)).refusal(other)?.errno, 'EINVAL');
});

test('where to count: all spaces but those that were chosen are left out', (t) => {
	const kernel = new FakeEvents(t);
	const events = [
		made(1, { spaces: ['user'] }),
		made(2, { spaces: ['kernel'] }),
		made(3, { spaces: ['user', 'kernel'] }),
		made(4, { spaces: ['hypervisor'] }),
	];
	new Counters(events, threads(70));
	const excluded = kernel.asked.map(({ flags }) =>
		flags.filter((flag) => flag.startsWith('exclude')),
	);
	assert.deepEqual(excluded, [
		['exclude_kernel', 'exclude_hv'],
		['exclude_user', 'exclude_hv'],
		['exclude_hv'],
		['exclude_user', 'exclude_kernel'],
	]);
});

test('an event is told by all its numbers, and says for how long it counted', (t) => {
	const kernel = new FakeEvents(t);
	new Counters([made(1, { config1: 5n, config2: 6n })], threads(70));
	const { config1, config2, read_format } = perf_event_attr.fields;
	const { attributes } = kernel.asked[0] ?? assert.fail();
	const numbers = [config1, config2, read_format].map(({ offset }) =>
		attributes.getBigUint64(offset, true),
	);
	const times = uapi.FORMAT_TIME_ENABLED | uapi.FORMAT_TIME_RUNNING;
	assert.deepEqual(numbers, [5n, 6n, BigInt(times)]);
});

test('what one place refuses and another takes is counted', (t) => {
	const kernel = new FakeEvents(t);
	kernel.refuses = ({ cpu }) => (cpu === 0 ? 'ENOENT' : undefined);
	const event = made(1);
	const counters = new Counters([event], onCpus(0, 1));
	assert.deepEqual([counters.refusal(event), counters.isOpen(event)], [undefined, true]);
	assert.equal(counters.refusal(made(2)), undefined);
	// Refused everywhere, in several ways: the first is told.
	kernel.refuses = ({ cpu }) => (cpu === 0 ? 'ENOENT' : 'EOPNOTSUPP');
	assert.equal(new Counters([event], onCpus(0, 1, 2)).refusal(event)?.errno, 'ENOENT');
});

test('events are on the CPUs that they can be counted on, and what CPUs share once', (t) => {
	const kernel = new FakeEvents(t);
	const events = [made(1), made(2, { onCpus: [1] }), made(3, { shared: true, onCpus: [0] })];
	const counters = new Counters(events, onCpus(0, 1, 2));
	assert.deepEqual(kernel.places(), [
		...['3 of -1 on 0', '1 of -1 on 0'],
		...['1 of -1 on 1', '2 of -1 on 1', '1 of -1 on 2'],
	]);
	kernel.counts = ({ config, cpu }) => {
		const value = BigInt(100 ** (config - 1) * (cpu + 1));
		return { value, enabled_ns: 7n, running_ns: 5n };
	};
	assert.deepEqual(values(counters), [1 + 2 + 3, 200, 10_000]);
	assert.deepEqual(counters.read()[0], { value: 6n, enabled_ns: 21n, running_ns: 15n });
	counters.close();
	assert.deepEqual(kernel.places(), []);
	const some = new Counters(events, { cpus: [2, 1], online: () => [0, 1, 2] });
	assert.deepEqual(kernel.places(), ['1 of -1 on 1', '2 of -1 on 1', '1 of -1 on 2']);
	assert.equal(some.size, 2);
	assert.equal(some.isOpen(events[2] as CountedEvent), false);
});

test('what a CPU has counted stays when it goes, and one that comes counts at once', (t) => {
	const kernel = new FakeEvents(t);
	let online = [0, 1];
	const counters = new Counters([made(1)], { cpus: [], online: () => online });
	assert.deepEqual(kernel.enabled, []);
	counters.enable();
	assert.equal(kernel.enabled.length, 2);
	kernel.counts = ({ cpu }) => ({ value: BigInt(10 ** cpu), enabled_ns: 1n, running_ns: 1n });
	online = [0, 2];
	counters.refresh();
	assert.deepEqual(kernel.places(), ['1 of -1 on 0', '1 of -1 on 2']);
	assert.equal(kernel.enabled.length, 3);
	assert.deepEqual(values(counters), [1 + 10 + 100]);
	online = [1];
	counters.refresh();
	assert.deepEqual(values(counters), [1 + 10 + 100 + 10]);
});

test('of a COMMAND nothing counts before its program begins', (t) => {
	const kernel = new FakeEvents(t);
	const counters = new Counters([made(1)], { ...threads(70), fromExec: true });
	counters.enable();
	assert.deepEqual(kernel.enabled, []);
	assert.ok(kernel.asked[0]?.flags.includes('enable_on_exec'));
});

test('of a thread on one CPU, there was something to count while it ran there', (t) => {
	const kernel = new FakeEvents(t);
	const counters = new Counters([made(1)], { ...threads(70), cpus: [3] });
	counters.enable();
	assert.equal(kernel.enabled.length, 2);
	kernel.counts = ({ config }) =>
		config === DUMMY
			? { value: 0n, enabled_ns: 900n, running_ns: 300n }
			: { value: 50n, enabled_ns: 800n, running_ns: 200n };
	assert.deepEqual(counters.read(), [{ value: 50n, enabled_ns: 300n, running_ns: 200n }]);
	counters.close();
	assert.deepEqual(kernel.places(), []);
});

test('the first event of a group that can be opened leads it', (t) => {
	const kernel = new FakeEvents(t);
	kernel.refuses = ({ config }) => (config === 2 ? 'ENOENT' : undefined);
	const events = [made(1), made(2, { group: 7 }), made(3, { group: 7 })];
	new Counters(
		[...events, made(4, { group: 8 }), made(5, { group: 7 }), made(6, { group: 7 })],
		threads(70),
	);
	const fds = [...kernel.open.entries()];
	const leaders = fds.map(([, { group }]) => fds.find(([fd]) => fd === group)?.[1].config ?? group);
	assert.deepEqual(leaders, [-1, -1, -1, 3, 3]);
});

test('for a cgroup: its descriptor, on each CPU', (t) => {
	const kernel = new FakeEvents(t);
	new Counters([made(1)], { cgroup: 44, cpus: [], online: () => [0, 1] });
	assert.deepEqual(kernel.places(), ['1 of 44 on 0', '1 of 44 on 1']);
	for (const { openFlags } of kernel.asked)
		assert.equal(openFlags, uapi.FLAG_PID_CGROUP | uapi.FLAG_CLOEXEC);
});

/** One event: what the kernel is asked for, what it says, and what that means for the user. */
import assert from 'node:assert/strict';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { uapi } from '../../../src/generated/uapi.js';
import { libc } from '../../../src/loader/ffi.js';
import type { PerfEventAttributes } from '../../../src/perf/attributes.js';
import { openPerfEvent, PerfEvent, PerfOpenError, type Target } from '../../../src/perf/open.js';
import { fails, withFiles } from '../loader/replaced.js';
import { temporaryFolder } from '../symbolize/support.js';

const CYCLES = { type: 0, config: 0n } as const;
const folder = temporaryFolder();

/** What is said where the kernel refuses an event with this error. */
function refused(
	t: TestContext,
	errno: string,
	attributes: Partial<PerfEventAttributes>,
	target: Target = { pid: 70, cpu: 3 },
): string {
	const open = t.mock.method(libc(), 'perf_event_open', () => fails(errno));
	try {
		openPerfEvent({ ...CYCLES, ...attributes }, target);
	} catch (error) {
		assert.ok(error instanceof PerfOpenError, `${error}`);
		assert.deepEqual([error.errno, error.detail], [errno, `perf_event_open: ${errno}`]);
		return error.message;
	} finally {
		open.mock.restore();
	}
	return assert.fail('it was opened');
}

test('what is not allowed: what it was, and the setting that allows just that', (t) => {
	const user = ['exclude_kernel'] as const;
	const [machine, thread] = [
		{ pid: -1, cpu: 3 },
		{ pid: 70, cpu: -1 },
	];
	// Of a cgroup, `pid` is the descriptor of its folder.
	const cgroup = { pid: 23, cpu: 3, flags: uapi.FLAG_PID_CGROUP };
	for (const [target, flags, paranoid, what, allows] of [
		[machine, [], 1, 'the whole machine', 0],
		[machine, user, 4, 'the whole machine', 0],
		[cgroup, [], 2, 'the whole machine', 0],
		[cgroup, user, 1, 'the whole machine', 0],
		[thread, [], 2, 'the kernel', 1],
		[thread, user, 3, 'process 70', 2],
	] as const) {
		for (const errno of ['EACCES', 'EPERM']) {
			const files = { '/proc/sys/kernel/perf_event_paranoid': `${paranoid}\n` };
			const message = withFiles(files, () => refused(t, errno, { flags }, target));
			const begin = `not allowed to observe ${what}: kernel.perf_event_paranoid is ${paranoid}: `;
			assert.ok(message.startsWith(begin), message);
			assert.ok(message.endsWith(`: sysctl kernel.perf_event_paranoid=${allows}`), message);
		}
	}
});

test('what the setting allows is forbidden for another reason', (t) => {
	for (const [pid, flags, paranoid] of [
		[-1, [], 0],
		[70, [], 1],
		[70, ['exclude_kernel'], 2],
	] as const) {
		const files = { '/proc/sys/kernel/perf_event_paranoid': `${paranoid}\n` };
		const message = withFiles(files, () => refused(t, 'EACCES', { flags }, { pid, cpu: 0 }));
		assert.match(message, new RegExp(`_paranoid is ${paranoid}, which allows this; `));
		assert.match(message, /belongs to another user, or a container forbids it/);
	}
});

test('each other error: what it means, and what can be done', (t) => {
	const files = {
		'/proc/sys/kernel/perf_event_max_stack': '127\n',
		'/proc/sys/kernel/perf_event_max_sample_rate': '4000\n',
	};
	const said = (errno: string, attributes: Partial<PerfEventAttributes> = {}) =>
		withFiles(files, () => refused(t, errno, attributes));
	for (const errno of ['ENOENT', 'EOPNOTSUPP', 'ENXIO'])
		assert.match(said(errno), /^this machine cannot count cycles: .*; use cpu-clock/);
	assert.match(said('EMFILE'), /^too many open files: .*\(ulimit -n\)/);
	assert.match(said('ENFILE'), /on this machine: raise \/proc\/sys\/fs\/file-max$/);
	assert.match(said('ESRCH'), /^process or thread 70 has ended$/);
	assert.match(said('ENODEV'), /^CPU 3 is offline/);
	assert.match(said('EBUSY'), /^cycles: a watchdog or another profiler uses/);
	assert.match(said('E2BIG'), /^cannot open the perf event cycles: E2BIG$/);
	assert.match(
		said('EOVERFLOW', { maxStack: 400 }),
		/^stacks of 400 frames are too deep: the limit is 127; .*perf_event_max_stack=400 raises it$/,
	);
	assert.match(
		said('EINVAL', { frequency_hz: 4001 }),
		/^cannot sample 4001 times a second: the limit is 4000 .*; use 4000 or less$/,
	);
	for (const attributes of [{ frequency_hz: 4000 }, { period: 5000 }])
		assert.match(said('EINVAL', attributes), /refuses the perf event cycles .*\(EINVAL\)$/);
});

test('the kernel is asked for that thread, on that CPU, in that group, and programs do not inherit it', (t) => {
	const open = t.mock.method(libc(), 'perf_event_open', () => 1_000_000);
	const leader = new PerfEvent(55);
	const flags = uapi.FLAG_PID_CGROUP;
	assert.equal(openPerfEvent(CYCLES, { pid: 70, cpu: 3, leader }).fd, 1_000_000);
	openPerfEvent(CYCLES, { pid: -1, cpu: 0, flags });
	const asked = open.mock.calls.map(({ arguments: [, , ...rest] }) => rest);
	assert.deepEqual(asked, [
		[70, 3, 55, uapi.FLAG_CLOEXEC],
		[-1, 0, -1, uapi.FLAG_CLOEXEC | flags],
	]);
});

test('what is done with an event is done with that one', (t) => {
	const asked: (readonly number[])[] = [];
	const ioctl = t.mock.method(libc(), 'ioctl', (...all: number[]) => asked.push(all));
	const event = new PerfEvent(55);
	event.enable();
	event.setBpf(9);
	event.setOutput(new PerfEvent(56));
	assert.deepEqual(asked, [
		[55, uapi.IOC_ENABLE, 0],
		[55, uapi.IOC_SET_BPF, 9],
		[55, uapi.IOC_SET_OUTPUT, 56],
	]);
	ioctl.mock.mockImplementation(() => fails('EINVAL'));
	assert.throws(() => event.setBpf(9), {
		message: 'cannot set up a perf event (IOC_SET_BPF): EINVAL',
		detail: 'EINVAL',
	});
});

test('what the kernel tells of a count: the value, then how long it was to count, then how long it did', () => {
	const path = join(folder, 'count');
	writeFileSync(path, new Uint8Array(BigUint64Array.of(2n ** 60n + 7n, 500n, 400n).buffer));
	const opened = (work: (event: PerfEvent) => void) => {
		const event = new PerfEvent(openSync(path, 'r'));
		const { fd } = event;
		work(event);
		event.close();
		assert.throws(() => closeSync(fd), /EBADF/);
		event.close();
		assert.equal(event.fd, -1);
	};
	const count = { value: 2n ** 60n + 7n, enabled_ns: 500n, running_ns: 400n };
	opened((event) => assert.deepEqual(event.count(), count));
	opened((event) => assert.equal(event.lost(), 500));
});

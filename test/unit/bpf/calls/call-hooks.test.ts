import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PerfCallHooks, rawCanBePreempted } from '../../../../src/bpf/calls/call-hooks.js';
import { uapi } from '../../../../src/generated/uapi.js';
import { libc } from '../../../../src/loader/ffi.js';
import { versionOf } from '../../../../src/loader/kernel.js';
import { withFiles } from '../../loader/replaced.js';
import { FakeEvents } from '../../perf/fake-events.js';

test('releases of kernels as numbers', () => {
	assert.deepEqual(versionOf('6.12.14-amd64'), [6, 12, 14]);
	assert.deepEqual(versionOf('7.0-rc3'), [7, 0, 0]);
	assert.deepEqual(versionOf('strange'), [0, 0, 0]);
});

test('programs at raw tracepoints are preempted since 7.0', () => {
	for (const kernel of ['5.10.0-46-amd64', '6.18.44']) assert.ok(!rawCanBePreempted(kernel));
	for (const kernel of ['7.0.0-rc1', '7.2.13-amd64', '10.1']) assert.ok(rawCanBePreempted(kernel));
});

test('each program that is wanted is at its tracepoint; the last is taken away first', (t) => {
	const kernel = new FakeEvents(t);
	const attached: string[] = [];
	t.mock.method(libc(), 'ioctl', (fd: number, request: number, program: number) => {
		if (request !== uapi.IOC_SET_BPF) return 0;
		attached.push(`${program} at ${kernel.open.get(fd)?.config}`);
		return 0;
	});
	const folder = '/sys/kernel/tracing/events/raw_syscalls';
	const ids = { [`${folder}/sys_enter/id`]: '11\n', [`${folder}/sys_exit/id`]: '12\n' };
	const programs = {
		enters: { wanted: true, fd: 51 },
		unwanted: { wanted: false, fd: 52 },
		leaves: { wanted: true, fd: 53 },
	};
	const hooks = new PerfCallHooks();
	const object = { program: (name: keyof typeof programs) => programs[name] };
	withFiles(ids, () =>
		hooks.attach(object, [
			['enters', 'sys_enter'],
			['unwanted', 'sys_enter'],
			['leaves', 'sys_exit'],
		]),
	);
	assert.deepEqual(attached, ['51 at 11', '53 at 12']);
	assert.deepEqual(kernel.enabled, [], 'perf itself has nothing to do there');
	hooks.close();
	assert.deepEqual(kernel.closed, [12, 11]);
	assert.equal(kernel.open.size, 0);
});

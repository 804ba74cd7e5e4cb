/** Events that run a BPF program at each overflow. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { uapi } from '../../../src/generated/uapi.js';
import { libc } from '../../../src/loader/ffi.js';
import { onlineCpus } from '../../../src/perf/cpus.js';
import { PerfEvent } from '../../../src/perf/open.js';
import { runOnOverflow } from '../../../src/perf/programs.js';
import { fails } from '../loader/replaced.js';
import { FakeEvents } from './fake-events.js';

const CLOCK = { type: 1, config: 0n, period: 1000 } as const;
const [cpu = 0] = onlineCpus();

/** What was done with events, in order. */
function machine(t: TestContext, refuses?: keyof typeof uapi) {
	const kernel = new FakeEvents(t);
	const done: (readonly [request: number, argument: number])[] = [];
	t.mock.method(libc(), 'ioctl', (_fd: number, request: number, argument: number) => {
		done.push([request, argument]);
		return refuses && request === uapi[refuses] ? fails('EINVAL') : 0;
	});
	return { kernel, done };
}

test('an event has its program, and the ring of its CPU, before it begins', (t) => {
	const { kernel, done } = machine(t);
	const events = runOnOverflow(CLOCK, { fd: 9 }, [cpu], (of) => new PerfEvent(70 + of));
	assert.deepEqual(kernel.places(), [`0 of -1 on ${cpu}`]);
	assert.deepEqual(kernel.asked[0]?.flags, ['disabled', 'use_clockid']);
	assert.deepEqual(done, [
		[uapi.IOC_SET_BPF, 9],
		[uapi.IOC_SET_OUTPUT, 70 + cpu],
	]);
	assert.deepEqual(kernel.enabled, [...kernel.open.keys()]);
	events.close();
	const all = runOnOverflow(CLOCK, { fd: 9 }, []);
	assert.deepEqual([...all.open.keys()], onlineCpus());
});

test('nothing stays open where one event cannot be set up, or no CPU is online', (t) => {
	const { kernel } = machine(t, 'IOC_SET_BPF');
	assert.throws(() => runOnOverflow(CLOCK, { fd: 9 }, [cpu]), /\(IOC_SET_BPF\): EINVAL/);
	assert.equal(kernel.open.size, 0);
	assert.throws(() => runOnOverflow(CLOCK, { fd: 9 }, [8190, 8191]), {
		message: 'none of the CPUs 8190, 8191 is online; choose others (-C)',
	});
});

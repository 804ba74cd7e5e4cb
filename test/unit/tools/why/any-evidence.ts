/** Anything that may be seen in a window, and numbers that may not be. */
import fc from 'fast-check';
import { WAIT_KINDS } from '../../../../src/aggregate/wait-kind-rules.js';
import type { WaitObject } from '../../../../src/aggregate/wait-object.js';
import type { BlockedTime, CpuWaits, ThreadTime } from '../../../../src/tools/why/evidence.js';
import {
	blocked,
	file,
	forCpu,
	interrupt,
	nobody,
	pipe,
	SECOND,
	STACK_OF,
	sample,
	tcp,
	thread,
	waker,
} from './support.js';

const anyNs = fc.oneof(
	fc.nat({ max: 2000 }),
	fc.integer({ min: 0, max: 100 * SECOND }),
	fc.constantFrom(0, 1, 2 ** 32, 2 ** 53),
	fc.double({ min: 0, max: 1e12, noNaN: true }),
);
const anyThread: fc.Arbitrary<ThreadTime> = fc
	.tuple(anyNs, fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 71, max: 75 }))
	.map(([life_ns, share, tid]) => thread(life_ns, life_ns * share, { tid }));
const anyObject: fc.Arbitrary<WaitObject> = fc.constantFrom(
	...[file('/a'), pipe('read'), pipe('write'), tcp(), tcp({ accepted: true })],
	{ type: 'unknown', why: 'no room' } as const,
);
const anyWaker = fc.constantFrom(
	undefined,
	waker('ran'),
	waker(undefined),
	waker('was blocked'),
	nobody('[not woken yet]'),
	interrupt({ context: 'softirq' }),
);
const anyBlocked: fc.Arbitrary<BlockedTime> = fc
	.record({
		kind: fc.constantFrom(...WAIT_KINDS),
		value: anyNs,
		objects: fc.array(fc.tuple(anyObject, fc.double({ min: 0, max: 0.6, noNaN: true })), {
			maxLength: 3,
		}),
		variance: fc.oneof(fc.constant(0), anyNs),
		count: fc.double({ min: 0.1, max: 1e6, noNaN: true }),
		open: fc.boolean(),
		by: anyWaker,
	})
	.map(({ kind, value, objects, by, ...rest }) =>
		blocked(STACK_OF[kind], value, {
			...rest,
			durations: [],
			...(by ? { waker: by } : {}),
			objects: objects.map(([object, share]) => [object, share * value] as const),
		}),
	);
const anyForCpu: fc.Arbitrary<CpuWaits> = fc
	.tuple(fc.constantFrom('run queue', 'preempted', 'CPU quota', 'CPU wake-up'), anyNs, anyNs)
	.map(([kind, value_ns, variance]) =>
		forCpu(kind as CpuWaits['kind'], value_ns, { variance, count: 3 }),
	);
export const anyEvidence = fc.record({
	window_ns: anyNs,
	threads: fc.array(anyThread, { maxLength: 5 }),
	blocked: fc.array(anyBlocked, { maxLength: 8 }),
	forCpu: fc.array(anyForCpu, { maxLength: 3 }),
	samples: fc.array(
		fc
			.tuple(fc.constantFrom('main a', 'main b | ksys_read'), fc.nat({ max: 99 }))
			.map(([frames, count]) => sample(frames, count)),
		{ maxLength: 3 },
	),
});

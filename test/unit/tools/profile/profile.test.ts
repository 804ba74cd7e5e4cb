/** What profile is asked for: which event, how often, and how that is said. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askedOf } from '../../../../src/cli/tool-command.js';
import { hasPmu } from '../../../../src/perf/events.js';
import { eventOf } from '../../../../src/perf/names.js';
import { profile } from '../../../../src/tools/profile/profile.js';
import { SampleCounter } from '../../../../src/tools/profile/sample-counter.js';

type Raw = Readonly<Record<string, unknown>>;
const settingsOf = (raw: Raw) =>
	askedOf(profile, { raw, interval_s: 1, count: 1, command: [] }).settings;
const said = (raw: Raw) => profile.subject(settingsOf(raw), {} as never);

test('without words: the CPU, by its cycles where these can be counted, 99 times a second', () => {
	const { event, frequency_hz, period, notices } = settingsOf({});
	assert.equal(event.name, hasPmu() ? 'cycles' : 'cpu-clock');
	assert.deepEqual([frequency_hz, period], [99, undefined]);
	assert.equal(notices.length, hasPmu() ? 0 : 1);
	assert.equal(said({}), `${event.name}, 99 times a second`);
});

test('an event that was chosen is that one, and needs no notice', () => {
	const { event, notices } = settingsOf({ event: eventOf('page-faults') });
	assert.deepEqual([event.name, notices], ['page-faults', []]);
});

test('how often: by time or by events, never both', () => {
	const rate = (raw: Raw) => {
		const { frequency_hz, period } = settingsOf(raw);
		return { frequency_hz, period };
	};
	assert.deepEqual(rate({ frequency: 49 }), { frequency_hz: 49, period: undefined });
	assert.deepEqual(rate({ count: 1000 }), { frequency_hz: undefined, period: 1000 });
});

test('in words: how often, and of every event its name as one', () => {
	const event = (name: string, count: number) => said({ event: eventOf(name), count });
	assert.equal(event('page-faults', 1), 'every page fault');
	assert.equal(event('context-switches', 1), 'every context switch');
	assert.equal(event('L1-dcache-load-misses', 1), 'every L1 dcache load miss');
	assert.equal(event('branches', 1), 'every branch');
	assert.equal(event('instructions', 1_000_000), 'instructions, one sample every 1,000,000');
	assert.equal(said({ event: eventOf('cpu-clock'), frequency: 7 }), 'cpu-clock, 7 times a second');
});

test('idle CPUs are sampled where that was asked for; user threads alone have none', () => {
	for (const idle of [true, false]) {
		let constants: Raw = {};
		const map = { setMaxEntries: () => undefined };
		const object = {
			setConstants: (more: Raw) => {
				constants = { ...constants, ...more };
			},
			map: () => map,
			constantBytes: () => new DataView(new ArrayBuffer(64)),
			layout: profile.layout,
		};
		const settings = settingsOf({ idle, unwind: 'fp' });
		profile.plan(object as never, settings, {} as never, () => undefined);
		assert.equal(constants.include_idle, idle);
	}
	assert.throws(() => settingsOf({ idle: true, userThreads: true }), { message: /--idle/ });
});

test('without BPF: frames that nobody wants are in no stack, and do not tell stacks apart', () => {
	const counted = (kernel: boolean, user: boolean) => {
		const counter = new SampleCounter({
			...{ maxStacks: 10, byThread: false, kernel, user },
			wanted: () => true,
		});
		for (const [inKernel, inUser] of [
			[1, 2],
			[1, 3],
			[4, 2],
		] as const) {
			const who = { pid: process.pid, tid: process.pid, time_ns: 5 };
			counter.add({ ...who, kernel: [inKernel], user: [inUser] } as never);
		}
		return counter.stacks().map((stack) => [stack.kernel, stack.user, stack.count]);
	};
	assert.deepEqual(counted(true, false), [
		[[1], [], 2],
		[[4], [], 1],
	]);
	assert.deepEqual(counted(false, true), [
		[[], [2], 2],
		[[], [3], 1],
	]);
	assert.equal(counted(true, true).length, 3);
});

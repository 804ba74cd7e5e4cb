/** How the window of `why` ends: what is read then, and what is told beside the answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { off_cpu as layout } from '../../../../src/generated/off_cpu.js';
import { onlineCpus, PerCpuEvents } from '../../../../src/perf/cpus.js';
import { ProcessWatch } from '../../../../src/symbolize/process-watch.js';
import { EndedThreads } from '../../../../src/tools/why/thread-accounts.js';
import { WaitObjects } from '../../../../src/waits/objects/objects.js';
import { structs } from '../structs.js';
import { account, BEGIN_NS, END_NS, keyOf, reading, S } from './window.js';

const { stack_key } = layout.structs;

test('the window ends before anything is read of it, and with it the samples; who held what is looked at meanwhile', async (t) => {
	const { reader, events, did, say, found } = reading(t, {
		end: [account(70, { born_ns: S, at_ns: END_NS })],
	});
	const sampling = () =>
		[...events.open.values()].filter(({ config }) => config === 0).map(({ cpu }) => cpu);
	t.mock.method(ProcessWatch.prototype, 'drain', () => undefined);
	const refresh = t.mock.method(PerCpuEvents.prototype, 'refresh');
	const drain = t.mock.method(EndedThreads.prototype, 'drain');
	const holds = '1: POSIX  ADVISORY  WRITE 1 08:01:131 0 EOF\n';
	say({
		files: { '/proc/locks': `${holds}1: -> POSIX  ADVISORY  WRITE 4242 08:01:131 0 EOF\n` },
	});
	reader.drain();
	assert.equal(drain.mock.callCount(), 1);
	const { found: answer } = await found(() => {
		assert.deepEqual(sampling(), onlineCpus());
		const { length } = refresh.mock.calls;
		reader.drain();
		assert.equal(refresh.mock.callCount(), length + 1);
	});
	assert.deepEqual(did.slice(did.indexOf('ended_ns')), [
		'ended_ns',
		'read_accounts',
		'end_waiting',
	]);
	assert.equal(answer.lockHolders.get(4242)?.pid, 1);
	assert.deepEqual(sampling(), []);
});

test('nobody had work but one that was in one wait all the time: that is told, as it may be what is wrong', async (t) => {
	const key = new Uint8Array(structs(stack_key, [keyOf(70)]).buffer);
	const parts = new Uint8Array(BigUint64Array.of(10n * BigInt(S), 0n, 0n, 0n).buffer);
	const { found } = reading(
		t,
		{
			begin: [account(70, { born_ns: S, at_ns: BEGIN_NS })],
			end: [account(70, { born_ns: S, at_ns: END_NS })],
			open: [{ key, parts, tid: 70 }],
		},
		{ debuginfod: false },
	);
	const frames = ['do_syscall_64', '__x64_sys_clock_nanosleep', 'do_nanosleep', 'schedule'];
	const row = {
		key: { pid: 70, tid: 70, comm: 'thread 70' },
		frames: frames.map((name) => ({ name, kind: 'kernel' as const })),
		...{ parts: [10 * S, 0, 0, 0], value: 10 * S, count: 1, variance: 0, sources: [0] },
	};
	const name = t.mock.method(ProcessWatch.prototype, 'name', async () => {
		return { stacks: [row], notices: ['of names'] };
	});
	t.mock.method(WaitObjects.prototype, 'notices', () => ['of ends']);
	const { found: answer, worst, notices } = await found();
	assert.deepEqual(notices, ['of names', 'of ends']);
	const [, { debuginfod } = { debuginfod: true }] = name.mock.calls[0]?.arguments ?? [];
	assert.equal(debuginfod, false);
	assert.equal(answer.stays?.threads, 1);
	assert.equal(answer.working_ns, 0);
	assert.deepEqual(
		worst.map(({ tid, begin_ns, end_ns, isOpen }) => [tid, begin_ns, end_ns, isOpen]),
		[[70, 0, 10 * S, true]],
	);
});

test('what was lost is told of threads that ended, and of processes; the ring of the former is closed', (t) => {
	const { reader } = reading(t, {});
	t.mock.method(EndedThreads.prototype, 'lost', () => ({ ended_threads_dropped: 2 }));
	const close = t.mock.method(EndedThreads.prototype, 'close');
	t.mock.method(ProcessWatch.prototype, 'lost', () => ({ mappings_lost: 3 }));
	assert.deepEqual(reader.lost(), { ended_threads_dropped: 2, mappings_lost: 3 });
	reader.close();
	assert.equal(close.mock.callCount(), 1);
});

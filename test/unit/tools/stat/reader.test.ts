/** What stat reads of its counters: since when, in each interval its own, of whom, and why something has no count. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { libc } from '../../../../src/loader/ffi.js';
import type { CountedEvent } from '../../../../src/perf/event-list.js';
import { CountReader } from '../../../../src/tools/stat/reader.js';
import type { OpenTarget } from '../../../../src/tools/stat/target.js';
import { FakeEvents } from '../../perf/fake-events.js';
import { fakeProc, NOBODY, statText } from '../../proc/fake-proc.js';

const made = (number: number, more: Partial<CountedEvent> = {}): CountedEvent => ({
	...{ name: `event-${number}`, type: 40, config: BigInt(number), text: `event-${number}` },
	...{ spaces: [], group: undefined, kernelOnly: false },
	...more,
});

/** Counters of threads, unless `more` says else; the clock stands still until it is set, in seconds. */
function machine(t: TestContext) {
	const kernel = new FakeEvents(t);
	let [now_s, closed] = [0, 0];
	t.mock.method(process.hrtime, 'bigint', () => BigInt(now_s * 1e9));
	const reader = (events: readonly CountedEvent[], more: Partial<OpenTarget> = {}) => {
		const counted = { threads: () => [70], cpus: [] };
		const close = () => {
			closed++;
		};
		const opened = new CountReader(events, {
			...{ counted, wholeMachine: false, words: 'process 70', close },
			...more,
		});
		t.after(() => opened.close());
		return opened;
	};
	const at = (seconds: number, value = 0) => {
		now_s = seconds;
		kernel.counts = () => ({ value: BigInt(value), enabled_ns: 10n, running_ns: 10n });
	};
	return { kernel, reader, at, closed: () => closed };
}

test('intervals begin with the counting, and each has its own time and counts; the last ends when tracing does', async (t) => {
	const { reader: open, at } = machine(t);
	at(1);
	const reader = open([made(1)]);
	at(100);
	reader.begin();
	const read = async () => {
		const { about, rows } = await reader.read();
		return [about.elapsed_s, about.until_s, rows[0]?.value];
	};
	at(102, 10);
	assert.deepEqual(await read(), [2, 2, 10]);
	at(105, 25);
	assert.deepEqual(await read(), [3, 5, 15]);
	at(106, 32);
	reader.end();
	at(200, 1000);
	assert.deepEqual(await read(), [1, 6, 7]);
});

test('COMMAND is counted from when it was let go', async (t) => {
	const { reader: open, at } = machine(t);
	const reader = open([made(1)], { command: process.pid });
	at(100);
	reader.begin();
	at(104);
	reader.released(103e9);
	at(105);
	const { about } = await reader.read();
	assert.deepEqual([about.elapsed_s, about.until_s], [2, 2]);
});

test('how busy the CPUs were, in each interval, and whether that is what was counted', async (t) => {
	// user, nice, system, idle: 30 of 100 ticks, then 80.
	const stat = (user: number, idle: number) => ({
		files: { '/proc/stat': `cpu  ${user} 0 0 ${idle}\n` },
	});
	const { reader: open } = machine(t);
	const say = fakeProc(t, stat(500, 500));
	for (const wholeMachine of [true, false]) {
		say(stat(500, 500));
		const reader = open([made(1)], { wholeMachine });
		const shares: unknown[] = [];
		for (const [user, idle] of [
			[530, 570],
			[610, 590],
		] as const) {
			say(stat(user, idle));
			const { busy_share, machine_busy_share } = (await reader.read()).about;
			shares.push(wholeMachine ? busy_share : machine_busy_share);
			assert.equal(wholeMachine ? machine_busy_share : busy_share, undefined);
		}
		assert.deepEqual(
			shares.map((share) => Number(share).toFixed(6)),
			['0.300000', '0.800000'],
		);
	}
});

test('CPU time of COMMAND once it has ended, without what ran to hold it; of one that goes on none', async (t) => {
	const { reader: open } = machine(t);
	let [user_s, system_s] = [100, 10];
	t.mock.method(libc(), 'getrusage', (_who: number, bytes: Uint8Array) => {
		new BigInt64Array(bytes.buffer).set([BigInt(user_s), 0n, BigInt(system_s), 0n]);
		return 0;
	});
	const folder = `/proc/${NOBODY}`;
	const lives = (state: string) => ({
		folders: { [`${folder}/task`]: [`${NOBODY}`] },
		// On a CPU for 2 s, behind others for 7.
		files: {
			[`${folder}/task/${NOBODY}/stat`]: statText({ 0: state }),
			[`${folder}/schedstat`]: '2000000000 7000000000 5\n',
		},
	});
	const say = fakeProc(t, lives('S'));
	const reader = open([made(1)], { command: NOBODY });
	reader.released(1);
	[user_s, system_s] = [106, 12];
	const timesOf = async () => {
		const { about } = await reader.read();
		return [about.user_s, about.system_s];
	};
	assert.deepEqual(await timesOf(), [undefined, undefined]);
	say(lives('Z'));
	assert.deepEqual(await timesOf(), [4.5, 1.5]);
});

test('each event that cannot be counted says why, and the others are counted', async (t) => {
	const { kernel, reader: open, at } = machine(t);
	kernel.refuses = ({ config }) => ({ 1: 'EACCES', 2: 'ENOENT' })[config];
	const counted = { cpus: [], online: () => [0, 1] };
	const events = [made(1), made(2), made(3), made(4, { onCpus: [7] }), made(5, { onCpus: [1] })];
	const reader = open(events, { counted });
	at(1, 6);
	const { rows } = await reader.read();
	assert.deepEqual(
		rows.map(({ status, value }) => [status, value]),
		[
			['not_permitted', null],
			['not_supported', null],
			['counted', 12],
			['not_supported', null],
			['counted', 6],
		],
	);
	const [, second, , fourth] = rows;
	assert.equal(second?.why, 'this kernel does not count it');
	assert.match(fourth?.why ?? '', /on CPU 7 only, which is offline/);
});

test('nothing can be counted: which events, and why the first; or nobody is there; nothing stays open', (t) => {
	const { kernel, reader: open, closed } = machine(t);
	kernel.refuses = () => 'ENOENT';
	assert.throws(() => open([made(1), made(2)]), {
		message: 'cannot count event-1, event-2: this kernel does not count it',
	});
	kernel.refuses = () => 'ESRCH';
	assert.throws(() => open([made(1)]), { message: 'nothing to count: process 70 has ended' });
	kernel.refuses = () => 'EMFILE';
	assert.throws(() => open([made(1)]), { message: /^too many open files: 1 threads x 1 events/ });
	assert.equal(closed(), 3);
	// Who is ended while it is held has counted nothing, which is no error.
	kernel.refuses = () => 'ESRCH';
	open([made(1)], { command: NOBODY });
	assert.deepEqual(kernel.places(), []);
});

test('CPUs that come are counted, and threads that came too late are told as lost, once', (t) => {
	const { kernel, reader: open } = machine(t);
	let online = [0];
	const reader = open([made(1)], { counted: { cpus: [], online: () => online } });
	online = [0, 3];
	reader.drain();
	assert.deepEqual(kernel.places(), ['1 of -1 on 0', '1 of -1 on 3']);
	reader.close();
	assert.deepEqual(kernel.places(), []);
	let newest = 70;
	const threads = () => [newest++, newest++];
	const ofThreads = open([made(1)], { counted: { threads, inherit: true, cpus: [] } });
	assert.deepEqual(ofThreads.lost(), { threads_uncounted: 2 });
	assert.deepEqual(ofThreads.lost(), {});
});

/** From when to when waits count, what happens as that ends, and what is said then: the same for all tools of waits. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { StackSums } from '../../../src/bpf/stacks/sums.js';
import { askedOf } from '../../../src/cli/tool-command.js';
import { off_cpu as layout } from '../../../src/generated/off_cpu.js';
import { Sideband } from '../../../src/perf/sideband.js';
import { ProcessHistory } from '../../../src/symbolize/mappings/processes.js';
import { ProcessWatch } from '../../../src/symbolize/process-watch.js';
import { offcputime } from '../../../src/tools/offcputime/offcputime.js';
import { offwaketime } from '../../../src/tools/offwaketime.js';
import { wakeuptime } from '../../../src/tools/wakeuptime.js';
import { WaitObjects } from '../../../src/waits/objects/objects.js';
import type { WaitSettings, Waits } from '../../../src/waits/waits.js';
import { ringFile } from '../loader/ring-file.js';
import { Kernel } from '../tools/kernel.js';
import { type Fields, structs } from '../tools/structs.js';
import { recordOf } from './wait-record.js';

type Raw = Readonly<Record<string, unknown>>;
const { stack_key, still_waiting } = layout.structs;
const { COUNT_ONE, NO_STACK } = layout.enums.stack_constant;
const { WAIT_BLOCKED } = layout.enums.wait_record_type;
const NO_FRAMES = { kernel: BigInt(NO_STACK), user: BigInt(NO_STACK) };
const [BEGIN_NS, END_NS] = [1_000, 5_000];

type Open = Fields<typeof still_waiting> & { readonly key: Uint8Array };
const open = (tid: number, blocked_ns: number, key: Fields<typeof stack_key> = {}): Open => ({
	key: new Uint8Array(
		structs(stack_key, [{ ...NO_FRAMES, tgid: 70, tid, comm: `thread ${tid}`, ...key }]).buffer,
	),
	parts: new Uint8Array(BigUint64Array.of(BigInt(blocked_ns), 0n, 0n, 0n).buffer),
	tid,
});

interface Happens {
	/** Waits that go on as tracing ends. */
	readonly open?: readonly Open[];
	readonly records?: readonly Uint8Array[];
	readonly pids?: readonly number[];
}

/** `did`: what was done, in that order. */
function waiting(
	t: TestContext,
	tool: typeof offcputime | typeof offwaketime | typeof wakeuptime,
	raw: Raw,
	{ open: still = [], records = [], pids = [70] }: Happens = {},
) {
	t.mock.restoreAll();
	const did: unknown[] = [];
	const asked = { everybody: 0 };
	t.mock.method(Sideband.prototype, 'start', () => undefined);
	t.mock.method(ProcessHistory, 'pids', () => {
		asked.everybody++;
		return [];
	});
	let now_ns = BEGIN_NS;
	t.mock.method(process.hrtime, 'bigint', () => BigInt(now_ns));
	const kernel = new Kernel(t, layout);
	const ring = ringFile(records.map((bytes) => ({ bytes })));
	t.after(() => ring.close());
	const base = kernel.object as {
		map: (name: string) => object;
		setVariable: (name: string, value: unknown) => void;
	};
	const object = Object.assign(base, {
		map: (
			(map) => (name: string) =>
				name === 'wait_records' ? ring.map : map(name)
		)(base.map),
		setVariable: ((set) => (name: string, value: unknown) => {
			if (name === 'ended_ns') did.push([name, value]);
			set(name, value);
		})(base.setVariable),
		runIterator: (name: string) => {
			did.push(name);
			return structs(still_waiting, still);
		},
	});
	const { settings } = askedOf(tool as typeof offcputime, {
		...{ raw, interval_s: 1, count: 1, command: [] },
	});
	const filter = { pids, tids: [], cpus: [], comms: [] };
	const subjects = { filter, command: undefined, words: [] } as never;
	const reader = (tool.reader as typeof offcputime.reader)(
		...([object as never, settings, subjects, () => undefined, undefined] as const),
	) as Waits;
	t.after(() => reader.close());
	const at = (ns: number) => {
		now_ns = ns;
	};
	return { reader, kernel, did, at, asked, settings: settings as WaitSettings };
}

test('tracing ends: no wait counts any more, then those that go on are looked for, once; another time all begins anew', (t) => {
	const { reader, did, at } = waiting(t, offcputime, {}, { open: [open(71, 300)] });
	t.mock.method(ProcessWatch.prototype, 'take', () => did.push('take'));
	t.mock.method(ProcessWatch.prototype, 'end', () => did.push('end'));
	reader.begun();
	at(END_NS);
	reader.end();
	assert.deepEqual(did.splice(0), [['ended_ns', END_NS], 'end_waiting', 'take', 'end']);
	at(END_NS + 100);
	reader.walkOpen();
	assert.deepEqual(did.splice(0), ['end_waiting', 'take']);
	reader.countAgain();
	at(END_NS + 300);
	reader.walkOpen();
	assert.deepEqual(did.splice(0), [
		...[['ended_ns', 0], ['ended_ns', END_NS + 300], 'end_waiting', 'take'],
	]);
});

test('--no-edges: what goes on is not looked for', (t) => {
	const { reader, did } = waiting(t, offcputime, { edges: false }, { open: [open(71, 300)] });
	reader.begun();
	reader.end();
	assert.equal(did.includes('end_waiting'), false);
	assert.deepEqual(reader.captured().open, []);
});

test('a thread that waits is walked as of when tracing ended, and as deep as was asked for', (t) => {
	const registers = new Uint8Array(BigUint64Array.of(0x5000n, 0x7000n, 0n, 0n).buffer);
	const still = { ...open(71, 300), registers };
	const { reader, at } = waiting(t, offcputime, { maxDepth: 9 }, { open: [still] });
	const walk = t.mock.method(ProcessWatch.prototype, 'walkWaiting', () => {
		return { user: [0x5000], userEnd: 'whole' };
	});
	reader.begun();
	at(END_NS);
	reader.end();
	const [[thread, at_ns, depth] = []] = walk.mock.calls.map(({ arguments: given }) => given);
	assert.deepEqual([(thread as { tid: number }).tid, at_ns, depth], [71, END_NS, 9]);
});

test('who is blocked still was not woken yet, and how much of its stack is asked for is told to who names it', async (t) => {
	const { reader } = waiting(
		t,
		offwaketime,
		{ maxDepth: 9, debuginfod: false },
		{ open: [open(71, 300)] },
	);
	const name = t.mock.method(ProcessWatch.prototype, 'name');
	reader.begun();
	reader.end();
	const { stacks } = await reader.read();
	assert.deepEqual(
		stacks.map(({ waker }) => waker?.key.comm),
		['[not woken yet]'],
	);
	const { maxDepth, debuginfod } = name.mock.calls[0]?.arguments[1] ?? {};
	assert.deepEqual([maxDepth, debuginfod], [9, false]);
});

/** One wait that ended. */
const blocked = (begin_ns: number, end_ns: number) => {
	const times = { begin_ns, end_ns, weighed_ns: end_ns - begin_ns, count: COUNT_ONE };
	return recordOf({ type: WAIT_BLOCKED, pid: 71, counts: 1, ...times }, 3);
};

test('waits one by one: what of each is in the window, those of the last moment among them; looked at often', async (t) => {
	const { reader } = waiting(
		t,
		offwaketime,
		{ hops: 3 },
		{ records: [blocked(100, 900), blocked(600, 1_400), blocked(2_000, 2_500)] },
	);
	reader.begun();
	assert.equal(reader.drainPeriod_ms, 500);
	reader.end();
	const { stacks, about } = await reader.read();
	assert.equal(about.hops, 3);
	assert.equal(
		stacks.reduce((sum, { value }) => sum + value, 0),
		400 + 500,
	);
	const { reader: usual } = waiting(t, offwaketime, {});
	assert.equal(usual.drainPeriod_ms, undefined);
});

test('a window begins when waits that were there already were looked for', (t) => {
	const { reader, kernel, at } = waiting(t, offcputime, {});
	kernel.variables.begun_ns = 1_234;
	at(2_000);
	reader.begun();
	assert.equal((reader as unknown as { begun_ns: number }).begun_ns, 1_234);
});

test('whose processes are read: those that were chosen, and whoever may have woken them', (t) => {
	for (const [tool, raw, everybody] of [
		[offcputime, {}, false],
		[offcputime, { by: 'waker' }, false],
		[offwaketime, {}, true],
		[wakeuptime, {}, true],
	] as const) {
		const { reader, asked } = waiting(t, tool, raw);
		reader.begin();
		assert.equal(asked.everybody > 0, everybody, tool.name);
	}
});

test('threads that wait for each other are told, beside what is told of names', async (t) => {
	const still = [open(71, 300, { object: 5n }), open(72, 400, { object: 6n })];
	const { reader } = waiting(t, offcputime, { tids: true }, { open: still });
	const mutex = (tid: number) => ({
		type: 'futex',
		pid: 70,
		address: '0x1',
		in: '',
		owner: { tid },
	});
	const objects = new Map([
		[5n, mutex(72)],
		[6n, mutex(71)],
	]);
	t.mock.method(WaitObjects.prototype, 'read', async () => objects);
	t.mock.method(WaitObjects.prototype, 'notices', () => ['of ends']);
	t.mock.method(ProcessWatch.prototype, 'name', async () => ({
		stacks: [],
		notices: ['of names'],
	}));
	reader.begun();
	reader.end();
	const { notices } = await reader.read();
	assert.deepEqual(notices.slice(0, 2), ['of names', 'of ends']);
	assert.match(notices[2] ?? '', /^deadlock: thread 7[12] \(7[12]\) waits for a mutex/);
});

test('what was lost is told of waits and of processes; at the end everything is closed', (t) => {
	const { reader } = waiting(
		t,
		offwaketime,
		{ hops: 2, maxStacks: 1 },
		{
			records: Array.from({ length: 9 }, (_, i) =>
				recordOf({ type: WAIT_BLOCKED, pid: 7, counts: 1, begin_ns: 2_000, end_ns: 3_000 }, i + 1),
			),
		},
	);
	const closed: string[] = [];
	const mocked = t.mock.method(WaitObjects.prototype, 'close', () => closed.push('objects'));
	const watch = t.mock.method(ProcessWatch.prototype, 'close', () => closed.push('processes'));
	t.mock.method(ProcessWatch.prototype, 'lost', () => ({ mappings_lost: 3 }));
	reader.begun();
	reader.drain();
	const { chains_cut, ...others } = reader.lost();
	assert.ok(Number(chains_cut) > 0);
	assert.deepEqual(others, { mappings_lost: 3 });
	reader.close();
	assert.deepEqual(closed, ['objects', 'processes']);
	mocked.mock.restore();
	watch.mock.restore();
});

test('--hide-idle: who waited all of the window for work to come is left out, and how much that was is told', async (t) => {
	const still = [open(71, END_NS - BEGIN_NS), open(72, 1_500)];
	const shown = async (raw: Raw) => {
		const { reader, at } = waiting(t, offcputime, { tids: true, ...raw }, { open: still });
		reader.begun();
		at(END_NS);
		reader.end();
		const { stacks, leftOut } = await reader.read();
		return [stacks.map(({ key }) => key.tid).sort(), leftOut === undefined];
	};
	assert.deepEqual(await shown({}), [[71, 72], true]);
	const [tids, isAll] = await shown({ hideIdle: true });
	assert.equal(isAll, false);
	assert.ok(!(tids as number[]).includes(71), `${tids}`);
});

test('wakers only: who waited has no user stack, whether its wait ended or goes on', (t) => {
	const registers = new Uint8Array(BigUint64Array.of(0x5000n, 0x7000n, 0n, 0n).buffer);
	const { reader } = waiting(t, wakeuptime, {}, { open: [{ ...open(71, 300), registers }] });
	const stack = {
		user: [5],
		userEnd: 'whole',
		lost: true,
		kernel: [],
		parts: [9, 0, 0, 0],
		count: 1,
	};
	t.mock.method(StackSums.prototype, 'take', () => [stack]);
	t.mock.method(ProcessWatch.prototype, 'walkWaiting', () => ({ user: [1], userEnd: 'whole' }));
	reader.begun();
	reader.end();
	const { ended, open: still } = reader.captured();
	assert.deepEqual([ended.length, still.length], [1, 1]);
	for (const { user, userEnd, lost } of [...ended, ...still])
		assert.deepEqual([user, userEnd, lost], [[], undefined, false]);
});

/** What the reader of trace does besides reading: plans for programs, what it attaches, stacks, and the life of COMMAND. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { PerfCallHooks } from '../../../../src/bpf/calls/call-hooks.js';
import { callAt } from '../../../../src/bpf/calls/calls.js';
import { EventBatches } from '../../../../src/bpf/events.js';
import { askedOf } from '../../../../src/cli/tool-command.js';
import { trace as layout } from '../../../../src/generated/trace.js';
import type { CallStacks } from '../../../../src/tools/trace/call-stacks.js';
import { encodePlan, namedIndexes } from '../../../../src/tools/trace/plans.js';
import { TraceReader } from '../../../../src/tools/trace/reader.js';
import { trace } from '../../../../src/tools/trace/trace.js';
import { ringFile } from '../../loader/ring-file.js';
import { callNumber as nr } from './lines.js';
import { type Given, recordBytes } from './records.js';

type Raw = Readonly<Record<string, unknown>>;
const { RECORD_EXIT: EXIT } = layout.enums.call_record_type;
const { RECORD_LAST_THREAD: LAST, RECORD_UNFINISHED: UNFINISHED } = layout.enums.call_record_flag;
const PATIENCE = { tell: () => undefined, during: async () => undefined } as never;

interface Happens {
	readonly raw?: Raw;
	readonly records?: readonly Given[];
	/** Records of calls that have not returned. */
	readonly open?: readonly Given[];
	readonly stacks?: Partial<CallStacks>;
	readonly command?: number | undefined;
}

/** Of few calls, as plans for all of them take a while. */
const FEW: Raw = { calls: [nr('read')] };

function reading(t: TestContext, { raw = FEW, records = [], open = [], stacks, command }: Happens) {
	const { settings } = askedOf(trace, { raw, interval_s: 1, count: undefined, command: [] });
	const ring = ringFile(records.map((given) => ({ bytes: recordBytes(given) })));
	t.after(() => ring.close());
	const plans = new Map<number, Uint8Array>();
	const attached: string[] = [];
	const object = {
		map: (name: string) => {
			if (name === 'records_lost') return { lookupPerCpu: () => undefined };
			if (name !== 'call_plans') return ring.map;
			return {
				maxEntries: 5000,
				update: (key: Uint8Array, plan: Uint8Array) =>
					plans.set(new DataView(key.buffer, key.byteOffset).getUint32(0, true), plan),
			};
		},
		attach: (name: string) => attached.push(name),
		runIterator: () => {
			const bytes = Uint8Array.from(open.flatMap((given) => [...recordBytes(given)]));
			return new DataView(bytes.buffer);
		},
	};
	const reader = new TraceReader(object as never, settings, stacks as never, command);
	t.after(() => reader.close());
	return { reader, plans, attached, settings };
}

const isSame = (plan: Uint8Array | undefined, expected: Uint8Array) =>
	plan !== undefined && Buffer.compare(plan, expected) === 0;

test('each call that is wanted has its own plan, of either ABI, and numbers of no call have one', (t) => {
	const { plans, settings } = reading(t, { raw: {} });
	const { planner } = settings;
	assert.equal(plans.size, namedIndexes().length + 1);
	for (const index of namedIndexes())
		assert.ok(isSame(plans.get(index), encodePlan(planner.plan(callAt(index)))), `${index}`);
	const none = { nr: 0x3ffff, abi: 'native' } as const;
	assert.deepEqual(plans.get(4999), encodePlan(planner.plan(none)));
	const some = reading(t, {});
	assert.deepEqual([...some.plans.keys()], [nr('read'), 4999]);
});

test('what is attached as tracing begins, and taken away as it ends', (t) => {
	const hooks = PerfCallHooks.prototype;
	const attach = t.mock.method(hooks, 'attach', () => undefined);
	const close = t.mock.method(hooks, 'close', () => undefined);
	const { reader, attached } = reading(t, {});
	reader.begin();
	assert.deepEqual(attached, ['trace_thread_ends']);
	// What ends calls before what begins them; each program before the one that takes stacks for it.
	assert.deepEqual(attach.mock.calls[0]?.arguments[1], [
		['trace_exit_perf', 'sys_exit'],
		['trace_exit_stack_perf', 'sys_exit'],
		['trace_enter_perf', 'sys_enter'],
		['trace_enter_stack_perf', 'sys_enter'],
	]);
	reader.end();
	assert.equal(close.mock.callCount(), 1);
});

test('the table of calls has those, too, that have not returned', async (t) => {
	const raw: Raw = { ...FEW, totalsOnly: true };
	const returned: Given = { nr: nr('read'), result: 1, args: [3, 0, 9], duration_ns: 2000 };
	const open = [{ nr: nr('pause'), flags: UNFINISHED, duration_ns: 7000 }];
	const { reader } = reading(t, { raw, records: [returned], open });
	reader.stream(
		async () => undefined,
		() => assert.fail(),
	);
	const { totals = [] } = (await reader.read(PATIENCE)) as { totals?: readonly Raw[] };
	assert.deepEqual(totals.map(({ syscall }) => syscall).sort(), ['pause', 'read']);
});

test('stacks begin and end with tracing; what was lost of them, and what is to be known of their names, is told', async (t) => {
	const did: string[] = [];
	const does = (name: string) => () => {
		did.push(name);
	};
	const stacks = {
		...{ begin: does('begin'), drain: does('drain'), end: does('end'), close: does('close') },
		name: async () => does('name')(),
		lost: () => ({ mappings_lost: 3 }),
		notices: () => ['of names'],
	};
	for (const streams of [false, true]) {
		did.length = 0;
		const { reader } = reading(t, { stacks });
		t.mock.method(PerfCallHooks.prototype, 'attach', () => undefined);
		reader.begin();
		if (streams)
			reader.stream(
				async () => undefined,
				() => assert.fail(),
			);
		reader.drain();
		assert.deepEqual(did, ['begin', 'drain']);
		reader.end();
		assert.equal(did.at(-1), 'end');
		await reader.read();
		assert.equal(did.at(-1), 'name');
		assert.deepEqual((await reader.read(PATIENCE)).notices, ['of names']);
		const ofEvents = t.mock.method(EventBatches.prototype, 'lost', () => ({ rows_cut: 2 }));
		assert.deepEqual(reader.lost(), { rows_cut: 2, mappings_lost: 3 });
		ofEvents.mock.restore();
		reader.close();
		assert.equal(did.at(-1), 'close');
	}
});

test('COMMAND lives since it was let go; another thread, and everybody else, since they began', async (t) => {
	const S = 1_000_000_000;
	const ends = (tgid: number, tid: number, flags: 0 | typeof LAST = LAST): Given => ({
		...{ type: EXIT, flags, result: 0, tgid, tid, end_ns: 50 * S, duration_ns: 9 * S },
	});
	const lives = async (command: number | undefined) => {
		const records = [ends(70, 71, 0), ends(70, 70, 0), ends(70, 72), ends(80, 80)];
		const { reader } = reading(t, { records, command });
		reader.released(48 * S);
		const { rows } = await reader.read(PATIENCE);
		return (rows as readonly Record<string, unknown>[]).map(({ lifetime_ns }) => lifetime_ns);
	};
	assert.deepEqual(await lives(70), [9 * S, 2 * S, 2 * S, 9 * S]);
	assert.deepEqual(await lives(undefined), Array(4).fill(9 * S));
});

/** Stacks of calls: each is read and named once, for the program that it is of. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { StackTables } from '../../../../src/bpf/stacks/stacks.js';
import { trace as layout } from '../../../../src/generated/trace.js';
import { ProcessWatch } from '../../../../src/symbolize/process-watch.js';
import { CallStacks } from '../../../../src/tools/trace/call-stacks.js';
import { CallRecord } from '../../../../src/tools/trace/record.js';
import { structs } from '../structs.js';
import { type Given, recordOf } from './records.js';

const { call_stack } = layout.structs;
const { CAPTURED_STACK } = layout.enums.capture_limit;
const { RECORD_STACK_OF_ENTRY: OF_ENTRY } = layout.enums.call_record_flag;

/** A call at a stack of this hash; `program`: how many its process has executed. */
function callAt(hash: bigint, tgid = 70, program = 0, more: Given = {}): CallRecord {
	const text = new Uint8Array(
		structs(call_stack, [{ hash, incarnation: BigInt(program) * 2n }]).buffer,
	);
	const { words, at } = recordOf({
		...{ tgid, tid: tgid, captures: [{ argument: CAPTURED_STACK, text }] },
		...more,
	});
	const call = new CallRecord();
	call.moveTo(words, at);
	return call;
}

function callStacks(t: TestContext, most?: number) {
	const hashes: bigint[] = [];
	t.mock.method(StackTables.prototype, 'open', () => undefined);
	const close = t.mock.method(StackTables.prototype, 'close', () => undefined);
	t.mock.method(StackTables.prototype, 'userStack', (hash: bigint) => {
		hashes.push(hash);
		return { user: [Number(hash & 0xffn)], lost: false };
	});
	const nameEach = t.mock.method(ProcessWatch.prototype, 'nameEach', async (stacks: never[]) =>
		stacks.map(({ user }) => ({ kernel: [], user: [{ name: `f${user}`, kind: 'user' }] })),
	);
	const settings = { maxStacks: 9, maxDepth: 12, kernel: false, user: true, byThread: false };
	const subjects = { filter: { pids: [], tids: [] }, command: undefined, words: [] } as never;
	const stacks = new CallStacks(
		...([{ layout } as never, { ...settings, unwind: 'fp' }, subjects, undefined, most] as const),
	);
	t.after(() => stacks.close());
	return { stacks, hashes, nameEach, close };
}

test('a stack is read once for each program of each process, by all of its hash', (t) => {
	const { stacks, hashes } = callStacks(t);
	const hash = 0xfedc_ba98_7654_3210n;
	const first = stacks.of(callAt(hash));
	assert.equal(stacks.of(callAt(hash)), first);
	const others = [
		callAt(hash, 71),
		callAt(hash, 70, 1),
		callAt(hash + 1n),
		callAt(hash + 2n ** 32n),
	];
	const found = others.map((call) => stacks.of(call));
	assert.equal(new Set([first, ...found]).size, 5);
	assert.deepEqual(hashes, [hash, hash, hash, hash + 1n, hash + 2n ** 32n]);
	assert.equal(stacks.of(callAt(hash, 70, 0, { captures: [] })), undefined);
});

test('a stack is of when its call returned, unless it was taken as the call began', (t) => {
	const { stacks } = callStacks(t);
	const times = { end_ns: 5_000, duration_ns: 700 };
	const atOf = (hash: bigint, flags: number) =>
		stacks.of(callAt(hash, 70, 0, { ...times, flags }))?.captured.at_ns;
	assert.deepEqual([atOf(1n, 0), atOf(2n, OF_ENTRY)], [5_000, 4_300]);
	const { pid, tid, comm } = stacks.of(callAt(1n))?.captured ?? {};
	assert.deepEqual([pid, tid, comm], [70, 70, 'worker']);
});

test('each stack is named once, as deep as was asked for', async (t) => {
	const { stacks, nameEach } = callStacks(t);
	const [one, two] = [stacks.of(callAt(1n)), stacks.of(callAt(2n))];
	await stacks.name();
	const text = (stack: typeof one) => Buffer.from(stack?.lines ?? []).toString();
	assert.deepEqual([text(one), text(two)], [' > f1\n', ' > f2\n']);
	await stacks.name();
	stacks.of(callAt(3n));
	await stacks.name();
	assert.deepEqual(
		nameEach.mock.calls.map(({ arguments: [some, depth] }) => [some.length, depth]),
		[
			[2, 12],
			[1, 12],
		],
	);
});

test('of very many stacks those that came first are forgotten, and read anew', (t) => {
	const { stacks, hashes } = callStacks(t, 3);
	for (const hash of [1n, 2n, 3n, 1n, 2n]) stacks.of(callAt(hash));
	assert.deepEqual(hashes.splice(0), [1n, 2n, 3n]);
	for (const hash of [4n, 1n, 1n, 2n, 2n, 1n, 4n]) stacks.of(callAt(hash));
	assert.deepEqual(hashes, [4n, 1n, 2n]);
});

test('before loading: programs are told to take stacks, and have room to walk them', (t) => {
	t.mock.method(StackTables.prototype, 'configure', () => undefined);
	const told: object[] = [];
	const room: Record<string, number> = {};
	const object = {
		layout,
		setConstants: (more: object) => told.push(more),
		map: (name: string) => ({
			setMaxEntries: (entries: number) => {
				room[name] = entries;
			},
		}),
	};
	CallStacks.configure(object as never, {} as never);
	assert.deepEqual(told, [{ with_stacks: true }]);
	assert.deepEqual(room, { scratch: layout.enums.stack_constant.SCRATCHES });
});

test('at its end its tables and what it knows of processes go', (t) => {
	const { stacks, close } = callStacks(t);
	const watch = t.mock.method(ProcessWatch.prototype, 'close');
	stacks.close();
	assert.deepEqual([close.mock.callCount(), watch.mock.callCount()], [1, 1]);
});

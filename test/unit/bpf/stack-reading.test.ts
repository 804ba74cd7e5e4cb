/** Stacks and sums as programs keep them: what is read of them, out of memory that the test lays out. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { CapturedWaker } from '../../../src/aggregate/stack.js';
import {
	depthOf,
	MAX_DEPTH,
	type StackSettings,
	StackTables,
} from '../../../src/bpf/stacks/stacks.js';
import { StackSums } from '../../../src/bpf/stacks/sums.js';
import {
	unwind_end as END,
	stack_constant,
	stack_key,
	stack_place,
	stack_sum,
} from '../../../src/generated/common.js';
import { possibleCpus } from '../../../src/loader/map.js';
import { withFiles } from '../loader/replaced.js';
import { temporaryFolder } from '../symbolize/support.js';
import { type Fields, structs } from '../tools/structs.js';

const { CHUNK_FRAMES, BLOCK_FRAMES, NO_STACK, LOST_STACK, COUNT_ONE } = stack_constant;
const CHUNK_BYTES = CHUNK_FRAMES * 8;
const folder = temporaryFolder();
const KERNEL = 0xffff_ffff_8100_0000n;
/** As function_word() of bpf/lib/runtimes/functions.h makes it, of a place. */
const functionAt = (place: bigint) => (1n << 63n) | (place >> 3n);

interface KeptStack {
	readonly hash: number;
	/** The number of its first frame. */
	readonly first: number;
	readonly words: readonly bigint[];
	readonly end?: number;
}

type Sum = readonly [Fields<typeof stack_key>, Fields<typeof stack_sum>];

/** The maps of an object with these stacks and sums. */
class Maps {
	readonly updated: Uint8Array[] = [];
	readonly pushed: number[] = [];
	readonly room: Record<string, number> = {};
	readonly constants: Record<string, unknown> = {};
	readonly #fd: number;

	constructor(
		t: TestContext,
		private readonly stacks: readonly KeptStack[],
		private readonly sums: readonly Sum[] = [],
	) {
		this.#fd = openSync(join(folder, 'frames'), 'w+');
		t.after(() => closeSync(this.#fd));
		writeSync(this.#fd, Buffer.alloc(8), 0, 8, 3 * CHUNK_BYTES - 8);
		for (const { first, words } of stacks) {
			const bytes = new Uint8Array(BigUint64Array.from(words).buffer);
			writeSync(this.#fd, bytes, 0, bytes.length, first * 8);
		}
	}

	get object() {
		return {
			layout: { structs: { stack_key, stack_place, stack_sum } },
			setConstants: (more: object) => Object.assign(this.constants, more),
			constantBytes: () => new DataView(new ArrayBuffer(8)),
			map: (name: string) => this.#map(name),
		} as never;
	}

	#map(name: string) {
		const places = this.stacks.map(({ first, words, end = 0 }) => ({
			...{ first, count: words.length, end },
		}));
		const each = (hashes: readonly number[]) =>
			new DataView(BigUint64Array.from(hashes, BigInt).buffer);
		return {
			...{
				fd: this.#fd,
				valueSize: name === 'frames' ? CHUNK_BYTES : 56,
				maxEntries: 5,
				keySize: 64,
			},
			setMaxEntries: (entries: number) => {
				this.room[name] = entries;
			},
			push: ([block = -1]: Uint8Array) => this.pushed.push(block),
			update: (key: Uint8Array, value: Uint8Array) => this.updated.push(key, value),
			lookup: (key: Uint8Array) => {
				const hash = Number(new DataView(key.buffer, key.byteOffset).getBigUint64(0, true));
				const at = this.stacks.findIndex((stack) => stack.hash === hash);
				return at < 0 ? undefined : structs(stack_place, places.slice(at, at + 1));
			},
			readAll: (see: (keys: DataView, values: DataView, count: number) => void) =>
				see(each(this.stacks.map(({ hash }) => hash)), structs(stack_place, places), places.length),
			drain: (see: (keys: DataView, values: DataView, count: number) => void) =>
				see(
					structs(
						stack_key,
						this.sums.map(([key]) => key),
					),
					structs(
						stack_sum,
						this.sums.map(([, sum]) => sum),
					),
					this.sums.length,
				),
		};
	}
}

function opened(t: TestContext, ...stacks: readonly KeptStack[]): StackTables {
	const tables = new StackTables(new Maps(t, stacks).object);
	tables.open();
	t.after(() => tables.close());
	return tables;
}

test('a stack has the frames that lie where it says, in whichever part of the memory', (t) => {
	const tables = opened(
		t,
		{ hash: 100, first: 5, words: [0x1000n, 0x2000n, 0x3000n], end: END.UNWIND_WHOLE },
		{ hash: 101, first: 2 * CHUNK_FRAMES + 10, words: [KERNEL + 16n, KERNEL] },
	);
	const snapshot = tables.read();
	const found = snapshot.addressesOf(101n, 100n);
	const kernel = [KERNEL + 16n, KERNEL].map((address) => Number(BigInt.asIntN(64, address)));
	const user = [0x1000, 0x2000, 0x3000];
	assert.deepEqual(found, { kernel, user, userEnd: 'whole', lost: false });
	assert.deepEqual(snapshot.addressesOf(101n, 100n), found);
	const userStack = { user, userEnd: 'whole', lost: false };
	assert.deepEqual(tables.userStack(100n), userStack);
	// Each part is mapped once, and until the tables are closed.
	const mappings = () => readFileSync('/proc/self/maps', 'utf8').split(folder).length - 1;
	assert.equal(mappings(), 2);
	tables.close();
	assert.equal(mappings(), 0);
});

test('no stack is none, and one that was not kept is lost', (t) => {
	const tables = opened(t, { hash: 100, first: 5, words: [0x1000n] });
	const snapshot = tables.read();
	const lostOf = (kernel: number, user: number) => {
		const { lost, ...found } = snapshot.addressesOf(BigInt(kernel), BigInt(user));
		assert.deepEqual([found.kernel, found.user], [[], []]);
		return lost;
	};
	assert.equal(lostOf(NO_STACK, NO_STACK), false);
	assert.equal(lostOf(LOST_STACK, NO_STACK), true);
	assert.equal(lostOf(NO_STACK, LOST_STACK), true);
	const nothing = { user: [], userEnd: undefined, lost: true };
	assert.deepEqual(tables.userStack(BigInt(LOST_STACK)), nothing);
	assert.deepEqual(tables.userStack(999n), nothing);
});

test('how a walk ended', (t) => {
	const ends = [
		[END.UNWIND_WHOLE, 'whole'],
		[END.UNWIND_GUESSED, 'guessed'],
		[END.UNWIND_ZERO, 'at zero'],
		[END.UNWIND_TOO_DEEP, 'too deep'],
		[END.UNWIND_NO_TABLE, 'no table'],
		[END.UNWIND_NO_RULE, 'no way on'],
		[0, undefined],
	] as const;
	const stacks = ends.map(([end], i) => ({ hash: 100 + i, first: 8 * i, words: [0x1000n], end }));
	const tables = opened(t, ...stacks);
	const snapshot = tables.read();
	for (const [i, [, text]] of ends.entries()) {
		assert.equal(snapshot.addressesOf(0n, BigInt(100 + i)).userEnd, text);
		assert.equal(tables.userStack(BigInt(100 + i)).userEnd, text);
	}
});

test('a user stack ends where a walk went astray: at what no user has as an address', (t) => {
	const words = [0x1000n, 0x2000n];
	const snapshot = opened(
		t,
		{ hash: 100, first: 0, words: [...words, KERNEL, 0x3000n] },
		{ hash: 101, first: 8, words: [...words, 0n, 0x3000n] },
		{ hash: 102, first: 16, words: [KERNEL, ...words] },
	).read();
	for (const [hash, user] of [
		[100n, [0x1000, 0x2000]],
		[101n, [0x1000, 0x2000]],
		[102n, []],
	] as const)
		assert.deepEqual(snapshot.addressesOf(0n, hash).user, user);
});

test('functions of a runtime stand behind the frame that they are of', (t) => {
	const words = [0x1000n, functionAt(8n), functionAt(16n), 0x2000n, 0x3000n, functionAt(24n)];
	const tables = opened(
		t,
		{ hash: 100, first: 0, words, end: END.UNWIND_WHOLE },
		{ hash: 101, first: 8, words },
	);
	const { user, functions } = tables.userStack(100n);
	assert.deepEqual(user, [0x1000, 0x2000, 0x3000]);
	const places = [...(functions ?? [])].map(([frame, all]) => [
		frame,
		all.map(({ place }) => place),
	]);
	assert.deepEqual(places, [
		[0, [8, 16]],
		[2, [24]],
	]);
	assert.deepEqual(tables.read().addressesOf(0n, 100n).functions, functions);
	// Walks by frame pointers take none: what looks so is an address that went astray.
	const astray = tables.userStack(101n);
	assert.deepEqual([astray.user, astray.functions], [[0x1000], undefined]);
});

test('where in its function a frame is stands behind the function, and is no frame', (t) => {
	const at = (instruction: bigint) => (1n << 62n) | instruction;
	const words = [
		0x1000n,
		functionAt(8n),
		at(6n),
		functionAt(16n),
		at(0n),
		0x2000n,
		functionAt(24n),
	];
	// What comes behind the last one is another stack's.
	const tables = opened(
		t,
		{ hash: 100, first: 0, words, end: END.UNWIND_WHOLE },
		{ hash: 101, first: words.length, words: [at(9n), 0x3000n], end: END.UNWIND_WHOLE },
	);
	const { user, functions } = tables.userStack(100n);
	assert.deepEqual(user, [0x1000, 0x2000]);
	const instructions = [...(functions ?? [])].map(([frame, all]) => [
		frame,
		all.map(({ instruction }) => instruction),
	]);
	assert.deepEqual(instructions, [
		[0, [6, 0]],
		[1, [undefined]],
	]);
	assert.deepEqual(tables.read().addressesOf(0n, 100n).functions, functions);
});

const SETTINGS: StackSettings = {
	...{ maxStacks: 100, maxDepth: 50, kernel: true, user: false, byThread: true },
	unwind: 'fp',
};

/** Whose stacks they are, and what was counted there. */
const KEY = { kernel: 101, user: 100, waker: 7, object: 8, tgid: 70, tid: 71, comm: 'worker' };
const SUM = {
	first_ns: 5_000_000,
	count: 3 * COUNT_ONE + COUNT_ONE / 2,
	doubt: 2 * COUNT_ONE,
	parts: new Uint8Array(BigUint64Array.of(40n, 30n, 20n, 10n).buffer),
};

test('a sum by stack: whose it is, how often, how much of each part, and how certain that is', (t) => {
	const stacks = [
		{ hash: 100, first: 0, words: [0x1000n] },
		{ hash: 101, first: 8, words: [KERNEL] },
	];
	const nobody = { ...SUM, count: 0 };
	const maps = new Maps(t, stacks, [
		[{}, nobody],
		[KEY, SUM],
		[
			{ ...KEY, tid: 72, comm: 'other' },
			{ ...SUM, first_ns: 6_000_000, count: COUNT_ONE, doubt: 0 },
		],
	]);
	const sums = new StackSums(maps.object);
	sums.configure(SETTINGS, 900);
	assert.equal(maps.room.sums, 901, 'with the sum of all others');
	sums.configure(SETTINGS);
	assert.equal(maps.room.sums, 101);
	sums.open();
	t.after(() => sums.close());
	// The sum of all others is there from the start: its key and its value are zeros.
	assert.deepEqual(maps.updated, [new Uint8Array(64), new Uint8Array(56)]);
	assert.deepEqual(maps.pushed, [0, 1, 2, 3, 4]);
	const snapshot = sums.read();
	const [waker, object] = [{ comm: 'w' } as CapturedWaker, { type: 'child', pid: 9, comm: 'c' }];
	snapshot.wakers = new Map([[7n, waker]]);
	snapshot.objects = new Map([[8n, object as never]]);
	const [first, second, ...others] = sums.take(snapshot, { parts: 2, period_ns: 1000 });
	assert.deepEqual(others, []);
	const kernel = [Number(BigInt.asIntN(64, KERNEL))];
	assert.deepEqual(first, {
		...{ pid: 70, tid: 71, comm: 'worker', kernel, user: [0x1000], functions: undefined },
		...{ userEnd: undefined, lost: false, waker, object, at_ns: 5_000_000 },
		...{ parts: [40, 30], count: 3.5, variance: 2_000_000, against: undefined },
	});
	const { tid, comm, at_ns, count, variance } = second ?? assert.fail();
	assert.deepEqual([tid, comm, at_ns, count, variance], [72, 'other', 6_000_000, 1, 0]);
});

test('all frames that there is room for are given out, in whole chunks', (t) => {
	const maps = new Maps(t, []);
	for (const maxStacks of [1, 2048, 4096, 4097, 100_000]) {
		new StackTables(maps.object).configure({ ...SETTINGS, maxStacks });
		const { frames = 0, free_blocks = 0 } = maps.room;
		assert.equal(free_blocks * BLOCK_FRAMES, frames * CHUNK_FRAMES);
		const most = 64 * maxStacks + BLOCK_FRAMES * possibleCpus(); // one block of each CPU
		assert.ok(frames * CHUNK_FRAMES >= most, `${frames} for ${maxStacks}`);
		assert.ok((frames - 1) * CHUNK_FRAMES < most, 'and not much more');
	}
	const shallow = { '/proc/sys/kernel/perf_event_max_stack': '40\n' };
	withFiles(shallow, () => new StackTables(maps.object).configure(SETTINGS));
	const { walk_kernel, walk_user, stacks_by_thread, stack_depth } = maps.constants;
	assert.deepEqual([walk_kernel, walk_user, stacks_by_thread], [true, false, true]);
	assert.equal(stack_depth, 40);
});

test('stacks are as deep as was asked for, and as the kernel allows', () => {
	const depth = (limit: string, maxDepth: number) =>
		withFiles({ '/proc/sys/kernel/perf_event_max_stack': `${limit}\n` }, () =>
			depthOf({ maxDepth }),
		);
	assert.deepEqual([depth('127', 50), depth('40', 50)], [50, 40]);
	assert.equal(depth('0', 500), MAX_DEPTH);
});

/** Functions of runtimes in the stacks of threads that wait. The threads are real, and what runs there is written. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { PythonStacks } from '../../../../src/runtimes/python/stack.js';
import type { RuntimeFile } from '../../../../src/runtimes/recognise.js';
import type { FunctionWord, RuntimeMemory } from '../../../../src/runtimes/runtime.js';
import { AddressSpace, type Mapping } from '../../../../src/symbolize/mappings/address-space.js';
import { MappedFile } from '../../../../src/symbolize/mappings/mapped-file.js';
import { ProcessHistory } from '../../../../src/symbolize/mappings/processes.js';
import { SleepingStacks } from '../../../../src/symbolize/walks/sleeping-stacks.js';
import type { StoppedRegisters } from '../../../../src/unwind/walk.js';
import { LAYOUT as PYTHON_LAYOUT } from '../../runtimes/python/memory.js';
import { LAYOUT as HEAP_LAYOUT } from '../../runtimes/v8/memory.js';
import { waitingChild } from '../waiting-child.js';

const PYTHON: RuntimeFile = {
	...{ runtime: 'python', version: '3.11.2', problem: undefined },
	layout: PYTHON_LAYOUT,
};
const NODE: RuntimeFile = {
	...{ runtime: 'v8', version: '11.3.244', problem: undefined },
	layout: {
		heap: HEAP_LAYOUT,
		builtins: { start: 0, end: 0x1000 },
		interpreter: { start: 0x100, end: 0x200 },
		...{ resumes: [], wasm: undefined, loaded: [] },
	},
};

/** All processes have this runtime. */
const runtimesOf = (runtime: RuntimeFile, file?: MappedFile) => ({
	runtimeOf: () => runtime,
	runtimeIn: (each: MappedFile) => (each === file ? runtime : undefined),
	codeBaseOf: () => 0,
});

function sleepingStacks(t: TestContext): SleepingStacks {
	const sleeping = new SleepingStacks();
	t.after(() => sleeping.close());
	return sleeping;
}

/** Python says of each frame that it runs these functions; `seen`: which stacks were asked, and what they may read. */
function pythonRuns(t: TestContext, words: readonly FunctionWord[]) {
	const seen: { readonly of: PythonStacks; readonly memory: RuntimeMemory }[] = [];
	t.mock.method(PythonStacks.prototype, 'stackOf', function (this: PythonStacks) {
		seen.push({ of: this, memory: (this as unknown as { memory: RuntimeMemory }).memory });
		return { take: () => words };
	});
	return seen;
}

test('Python: each process has its own functions, in memory that it has written, and they count as frames', async (t) => {
	const children = [await waitingChild(t, 'cat'), await waitingChild(t, 'cat')];
	const history = new ProcessHistory();
	t.after(() => history.close());
	for (const { pid } of children) history.snapshot(pid);
	const now_ns = Number(process.hrtime.bigint());
	const sleeping = sleepingStacks(t);
	const walk = ({ pid, registers }: (typeof children)[number], depth: number) =>
		sleeping.walk({ pid, tid: pid, registers }, history.at(pid, now_ns), depth, runtimesOf(PYTHON));
	const words = [8, 16].map((place) => ({ place, print: 1, isCallers: false }));
	const seen = pythonRuns(t, words);
	for (const child of children) {
		const { addresses, functions, end } = walk(child, 4);
		// One frame and its two functions, and one more.
		assert.deepEqual([addresses.length, end], [2, 'too deep']);
		assert.deepEqual(functions?.get(0), words);
	}
	walk(children[1] as (typeof children)[number], 4);
	const [first, second, again] = seen.map(({ of }) => of);
	assert.notEqual(first, second);
	assert.equal(again, second);
	// Variables of the C library: a file is behind them.
	const pid = children[1]?.pid;
	const [, start = '', end = ''] =
		/^([0-9a-f]+)-([0-9a-f]+) rw-p .*\/libc\.so\.6$/m.exec(
			readFileSync(`/proc/${pid}/maps`, 'latin1'),
		) ?? [];
	const [from, to] = [Number.parseInt(start, 16), Number.parseInt(end, 16)];
	const pages = Array.from({ length: (to - from) / 4096 }, (_, page) => from + page * 4096);
	assert.ok(pages.some((at) => seen[1]?.memory.read(at, 8)));
});

/** Where a file's code is said to be. */
const CODE = 0x7000_0000_0000;

/** All of its memory is code that was made at run time, but for that of the file. */
class MadeCode extends AddressSpace {
	constructor(private readonly codeFile?: MappedFile) {
		const index = { mappings: [], find: () => undefined, findFirst: () => undefined };
		super({ pid: 1, since_ns: 0, index: index as never, parentPid: undefined }, []);
	}

	override find(address: number): Mapping {
		const isOfFile = this.codeFile && address >= CODE && address < CODE + 0x1000;
		const where = isOfFile
			? { start: CODE, end: CODE + 0x1000, path: '/usr/bin/node', file: this.codeFile }
			: { start: 0, end: 2 ** 47, path: '', file: undefined };
		return { time_ns: 0, fileOffset: 0, ...where };
	}
}

/** Writes words of 64 bits to the stack of a process, each at so many bytes above its stack pointer. */
function writeStack(
	{ pid, registers }: { pid: number; registers: StoppedRegisters },
	words: Readonly<Record<number, number>>,
): void {
	const memory = openSync(`/proc/${pid}/mem`, 'r+');
	writeSync(memory, new Uint8Array(1024), 0, 1024, registers.sp);
	for (const [at, word] of Object.entries(words)) {
		const bytes = Buffer.alloc(8);
		bytes.writeBigUInt64LE(BigInt(word));
		writeSync(memory, bytes, 0, 8, registers.sp + Number(at));
	}
	closeSync(memory);
}

test('where frame pointers end in code without rules, that is a guess', async (t) => {
	const child = await waitingChild(t, 'cat');
	const { pid, registers } = child;
	writeStack(child, { 64: 0, 72: CODE });
	const thread = { pid, tid: pid, registers: { ...registers, fp: registers.sp + 64 } };
	assert.deepEqual(sleepingStacks(t).walk(thread, new MadeCode(), 127), {
		addresses: [registers.ip, CODE],
		end: 'guessed',
	});
});

test('JavaScript: the function of a frame is told by where its last call is, in the interpreter', async (t) => {
	const child = await waitingChild(t, 'cat');
	const { pid, registers } = child;
	const { sp } = registers;
	const [closure, shared, text] = [sp + 512, sp + 576, 'function'];
	const frameAt = (at: number, next: number, code: number) => ({
		[at]: next,
		[at + 8]: CODE + code,
		[at - 8]: closure + 1,
		[at - 16]: closure + 1,
	});
	writeStack(child, {
		// Behind the interpreter's last instruction; behind one of another builtin, which has a frame of its own.
		...frameAt(128, sp + 256, 0x200),
		...frameAt(256, sp + 384, 0x500),
		...frameAt(384, 0, 0x150),
		[512 + HEAP_LAYOUT.functionShared]: shared + 1,
		[576 + HEAP_LAYOUT.sharedLength]: Buffer.from(text).readUInt32LE(0),
	});
	const file = new MappedFile('/usr/bin/node', 77, 0, 0);
	const thread = { pid, tid: pid, registers: { ...registers, fp: sp + 128 } };
	const { addresses, functions } = sleepingStacks(t).walk(
		thread,
		new MadeCode(file),
		127,
		runtimesOf(NODE, file),
	);
	assert.deepEqual(addresses.slice(1), [CODE + 0x200, CODE + 0x500, CODE + 0x150]);
	// Of the leaf, which was made at run time; of the frame that the interpreter goes on in; of none where there is none.
	assert.deepEqual([...(functions?.keys() ?? [])], [0, 1]);
	assert.deepEqual(
		functions?.get(1)?.map(({ place, isCallers }) => [place, isCallers]),
		[[shared, false]],
	);
});

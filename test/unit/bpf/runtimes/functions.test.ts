import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	FunctionMaps,
	isFunctionWord,
	metFrames,
	readFunctionWord,
	type WantedFunctions,
} from '../../../../src/bpf/runtimes/functions.js';
import {
	python_layout as PYTHON_LAYOUT,
	python_segments as PYTHON_SEGMENTS,
	v8_layout as V8_LAYOUT,
	walked as WALKED,
} from '../../../../src/generated/common.js';
import type { PythonLayout } from '../../../../src/runtimes/python/layout.js';
import type { RuntimeFile } from '../../../../src/runtimes/recognise.js';
import { ringFile } from '../../loader/ring-file.js';
import { LAYOUT } from '../../runtimes/v8/memory.js';
import { structs } from '../../tools/structs.js';

/** As function_word() of bpf/lib/runtimes/functions.h makes it. */
function viewOf(place: bigint, print: bigint, isCallers: boolean): DataView {
	const view = new DataView(new ArrayBuffer(8));
	const word = (1n << 63n) | (isCallers ? 1n << 62n : 0n) | (print << 45n) | (place >> 3n);
	view.setBigUint64(0, word, true);
	return view;
}

test('a word of a stack tells where a function is, what it is, and whose frame', () => {
	const place = 0xffff_89ab_cdef_0120n & ((1n << 48n) - 1n);
	for (const isCallers of [false, true])
		for (const print of [0n, 1n, 0x1_5a5an, 0x1_ffffn]) {
			const view = viewOf(place, print, isCallers);
			assert.ok(isFunctionWord(view, 0));
			assert.deepEqual(readFunctionWord(view, 0), {
				place: Number(place),
				print: Number(print),
				isCallers,
			});
		}
});

test('functions of a stack, each with the last byte of its call; none of the leaf and of callers', () => {
	const { count, frames } = WALKED.fields;
	const word = (place: number, isCallers = false) =>
		viewOf(BigInt(place), 7n, isCallers).getBigUint64(0, true);
	// The last one is not of this stack.
	const words = [
		0x1000n,
		word(8, true),
		word(16),
		0x2000n,
		word(24),
		0x3000n,
		0x4000n,
		word(32),
		word(40),
	];
	const view = new DataView(new ArrayBuffer(frames.offset + words.length * 8));
	view.setUint32(count.offset, words.length - 1, true);
	for (const [i, each] of words.entries()) view.setBigUint64(frames.offset + i * 8, each, true);
	const { frames: met, others } = metFrames(view);
	const shown = met.map(({ word: { place }, call }) => [place, call]);
	assert.deepEqual(shown, [
		[8, undefined],
		[16, undefined],
		[24, 0x1fff],
		[32, 0x3fff],
	]);
	assert.deepEqual(others, [0x2fff]);
});

/** As instruction_word() makes it. */
const instructionWord = (instruction: number) => (1n << 62n) | BigInt(instruction);
/** Where walks do not know it. */
const NOT_KNOWN = 0xff_ffff;

test('a function may have a word behind it that says where in it the frame is', () => {
	const { count, frames } = WALKED.fields;
	const word = (place: number) => viewOf(BigInt(place), 7n, false).getBigUint64(0, true);
	const words = [
		...[0x1000n, word(8), instructionWord(0), word(16), instructionWord(0xab_cdee)],
		...[0x2000n, word(24), instructionWord(NOT_KNOWN), word(32), 0x3000n, word(40)],
		// Behind the end.
		instructionWord(7),
	];
	const view = new DataView(new ArrayBuffer(frames.offset + words.length * 8));
	view.setUint32(count.offset, words.length - 1, true);
	for (const [i, each] of words.entries()) view.setBigUint64(frames.offset + i * 8, each, true);
	const { frames: met, others } = metFrames(view);
	assert.deepEqual(
		met.map(({ word: { place, instruction } }) => [place, instruction]),
		[
			[8, 0],
			[16, 0xab_cdee],
			[24, undefined],
			[32, undefined],
			[40, undefined],
		],
	);
	assert.deepEqual(others, []);
});

test('an address of user space is no function', () => {
	const view = new DataView(new ArrayBuffer(8));
	view.setBigUint64(0, 0x7fff_ffff_ffffn, true);
	assert.equal(isFunctionWord(view, 0), false);
});

/** A file that V8 is in, whose code is where no other has it. */
function fileOf(number: number): RuntimeFile {
	const code = { start: number, end: number + 1 };
	const layout = {
		heap: LAYOUT,
		builtins: code,
		interpreter: code,
		resumes: [],
		wasm: undefined,
		loaded: [],
	};
	return { runtime: 'v8', version: '11.3.244', layout, problem: undefined };
}
const identityOf = (number: number) => ({ inode: BigInt(number), device: 8, changed_ns: 0n });

/** What programs are told of how many runtimes there are. */
function mapsOf(wanted?: WantedFunctions) {
	const told: unknown[] = [];
	const object = {
		map: () => ({ update: () => {} }),
		setVariable: (_name: string, value: unknown) => told.push(value),
	} as unknown as ConstructorParameters<typeof FunctionMaps>[0];
	return { maps: new FunctionMaps(object, wanted), told };
}

test('walks take functions of 16 files; of one more it is known why not', () => {
	const { maps, told } = mapsOf();
	const add = (number: number) => maps.add(identityOf(number) as never, fileOf(number));
	for (let i = 1; i <= 16; i++) assert.equal(add(i), i);
	assert.equal(add(17), 0);
	assert.equal(maps.runtimeIn(identityOf(17))?.problem, 'count');
	assert.equal(maps.runtimeIn(identityOf(17))?.layout, undefined);
	// One whose table is read once more is not one more.
	assert.equal(add(5), 5);
	assert.equal(maps.runtimeIn(identityOf(5))?.problem, undefined);
	assert.deepEqual(
		told,
		Array.from({ length: 16 }, (_, i) => i + 1),
	);
});

test('where nobody wants functions, walks take none, and there is no other reason', () => {
	const { maps, told } = mapsOf({ functions: false, lines: false });
	assert.equal(maps.add(identityOf(1) as never, fileOf(1)), 0);
	assert.equal(maps.runtimeIn(identityOf(1))?.problem, 'unwanted');
	const unknown = { ...fileOf(2), layout: undefined, problem: 'version' } as const;
	assert.equal(maps.add(identityOf(2) as never, unknown), 0);
	assert.equal(maps.runtimeIn(identityOf(2))?.problem, 'version');
	assert.deepEqual(told, []);
});

/** What programs are given of the layout of a file's runtime, by the map's name and the key in it. */
function given(wanted: WantedFunctions, ...files: readonly RuntimeFile[]) {
	const updates: [map: string, key: number, value: Buffer][] = [];
	const object = {
		map: (name: string) => ({
			update: (key: Uint8Array, value: Uint8Array) =>
				updates.push([name, key[0] ?? -1, Buffer.from(value)]),
		}),
		setVariable: () => undefined,
	} as unknown as ConstructorParameters<typeof FunctionMaps>[0];
	const maps = new FunctionMaps(object, wanted);
	for (const [i, file] of files.entries()) maps.add(identityOf(i), file);
	return updates;
}

const bytesOf = (view: DataView) => Buffer.from(view.buffer as ArrayBuffer);

/** Of no version: all its numbers differ. */
const PYTHON = {
	...{ runtime: 0x10_0000_0000, interpreters: 1, codeType: 2, stringType: 3, evalStart: 4 },
	...{ evalEnd: 5, interpreterNext: 6, interpreterThreads: 7, threadPrevious: 8, threadNext: 9 },
	...{ threadIdentity: 10, threadFrame: 11, threadRecord: 12, recordFrame: 13, recordPrevious: 14 },
	...{
		frameCode: 15,
		framePrevious: 16,
		frameOwner: 17,
		codePrint: 0x1_0012,
		codeFile: 19,
		codeName: 20,
	},
	...{ asciiBytes: 21, compactBytes: 22, threadInterpreter: 23, threadNumber: 24 },
	...{ segments: 'marks', gil: { in: 'runtime', at: 25 }, bytesType: 26 },
	lines: { frameInstruction: 27, codeInstructions: 28, codeTable: 29, format: 'locations' },
} as const satisfies PythonLayout;

test('programs are given each number of a layout where they look for it', () => {
	const [interpreter, builtins] = [
		{ start: 0x3000, end: 0x4000 },
		{ start: 0x1000, end: 0x2000 },
	];
	const layout = {
		heap: LAYOUT,
		builtins,
		interpreter,
		resumes: [0x1500, 0x1600],
		wasm: undefined,
		loaded: [],
	};
	const v8: RuntimeFile = { runtime: 'v8', version: '1', layout, problem: undefined };
	const pythonOf = (more: Partial<PythonLayout>): RuntimeFile => ({
		...{ runtime: 'python', version: '3', layout: { ...PYTHON, ...more }, problem: undefined },
	});
	const inInterpreter = { in: 'interpreter', at: 25 } as const;
	const less = { threadFrame: undefined, frameOwner: undefined, gil: inInterpreter };
	const files = [v8, pythonOf({}), pythonOf({ ...less, segments: 'one frame each' })];
	const updates = given({ functions: true, lines: true }, ...files);
	assert.deepEqual(
		updates.map(([map, key]) => [map, key]),
		[
			['v8_layouts', 0],
			['python_layouts', 1],
			['python_layouts', 2],
		],
	);
	const [ofV8, ofPython, ofLess] = updates.map(([, , value]) => value);
	const code = {
		...{ builtins_start: 0x1000, builtins_end: 0x2000 },
		...{ interpreter_start: 0x3000, interpreter_end: 0x4000 },
		...{ resumes: 0x1500, resumes_or_baseline: 0x1600 },
		...{ function_shared: LAYOUT.functionShared, shared_print: LAYOUT.sharedLength },
	};
	assert.deepEqual(ofV8, bytesOf(structs(V8_LAYOUT, [code])));
	const all = {
		...{ interpreters: 0x10_0000_0001, code_type: 2, eval_start: 4, eval_end: 5 },
		...{ interpreter_next: 6, interpreter_threads: 7, thread_previous: 8, thread_next: 9 },
		...{ thread_identity: 10, thread_frame: 11, thread_record: 12, record_frame: 13 },
		...{ record_previous: 14, segments: PYTHON_SEGMENTS.PYTHON_MARKS, frame_code: 15 },
		...{ frame_previous: 16, frame_owner: 17, code_print: 0x1_0012, thread_interpreter: 23 },
		...{ thread_number: 24, gil: 0x10_0000_0019, gil_of_interpreter: 0 },
		...{ frame_instruction: 27, code_instructions: 28 },
	};
	assert.deepEqual(ofPython, bytesOf(structs(PYTHON_LAYOUT, [all])));
	const fewer = {
		...{ ...all, thread_frame: 0, frame_owner: 0, gil: 25, gil_of_interpreter: 1 },
		segments: PYTHON_SEGMENTS.PYTHON_ONE_FRAME_EACH,
	};
	assert.deepEqual(ofLess, bytesOf(structs(PYTHON_LAYOUT, [fewer])));
	const withoutLines = given({ functions: true, lines: false }, ...files).map(
		([, , value]) => value,
	);
	const none = { ...all, frame_instruction: 0, code_instructions: 0 };
	assert.deepEqual(withoutLines[1], bytesOf(structs(PYTHON_LAYOUT, [none])));
});

test('stacks with functions that were kept: of whom, of which runtime, and where its file would be mapped', (t) => {
	const frames = new Uint8Array(BigUint64Array.of(0x1000n, 0x2000n).buffer);
	const walked = (runtime: number) =>
		new Uint8Array(
			structs(WALKED, [{ count: 2, tgid: 70, runtime, base: 0x5555_0000, frames }])
				.buffer as ArrayBuffer,
		);
	const ring = ringFile([{ bytes: walked(2) }, { bytes: walked(0) }]);
	t.after(ring.close);
	const object = {
		map: (name: string) => (name === 'function_stacks' ? ring.map : { update: () => {} }),
		setVariable: () => undefined,
	} as unknown as ConstructorParameters<typeof FunctionMaps>[0];
	const maps = new FunctionMaps(object);
	for (const number of [1, 2]) maps.add(identityOf(number), fileOf(number));
	assert.deepEqual(maps.met(), [], 'it is not open yet');
	maps.open();
	t.after(() => maps.close());
	const [known, unknown] = maps.met();
	const { runtime, ...rest } = known ?? assert.fail();
	assert.deepEqual(rest, { pid: 70, base: 0x5555_0000, frames: [], others: [0x1000, 0x1fff] });
	assert.deepEqual(runtime, fileOf(2));
	assert.equal(unknown?.runtime, undefined);
});

test('there is room for layouts, for places of threads, and for stacks that are kept', () => {
	const room: Record<string, number> = {};
	const object = {
		map: (name: string) => ({
			setMaxEntries: (entries: number) => {
				room[name] = entries;
			},
		}),
	} as unknown as ConstructorParameters<typeof FunctionMaps>[0];
	new FunctionMaps(object).configure();
	assert.deepEqual(room, {
		...{ v8_layouts: 16, python_layouts: 16, python_threads: 8192 },
		function_stacks: 2 ** 18,
	});
});

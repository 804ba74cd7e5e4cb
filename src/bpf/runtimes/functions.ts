/** What walks take of functions of runtimes: user space's side of bpf/lib/runtimes/functions.h, and of the layouts there. */
import {
	function_constant as FUNCTION,
	python_layout as PYTHON_LAYOUT,
	python_segments as PYTHON_SEGMENTS,
	v8_layout as V8_LAYOUT,
	walked as WALKED,
} from '../../generated/common.js';
import { readU64, type StructWith } from '../../loader/layout.js';
import { u32Key } from '../../loader/map.js';
import type { BpfObject } from '../../loader/object.js';
import { RingBuffer } from '../../loader/ringbuf.js';
import type { PythonLayout, PythonSegments } from '../../runtimes/python/layout.js';
import type { RuntimeFile } from '../../runtimes/recognise.js';
import type { FunctionWord, NotTaken } from '../../runtimes/runtime.js';
import type { V8Layout } from '../../runtimes/v8/layout.js';
import type { UnwoundLayout } from '../unwind/table-memory.js';
import { type FileIdentity, fileName } from '../unwind/tables.js';

const MARK = 1 << (FUNCTION.FUNCTION_MARK_BIT - 32);
const OF_CALLER = 1 << (FUNCTION.FUNCTION_OF_CALLER_BIT - 32);
const PLACE_HIGH_BITS = FUNCTION.FUNCTION_PLACE_BITS - 32;
const PLACE_HIGH_MASK = (1 << PLACE_HIGH_BITS) - 1;
/** A word with this bit and without the mark is no address of user space. */
const INSTRUCTION = 1 << (FUNCTION.FUNCTION_INSTRUCTION_BIT - 32);
const PRINT_MASK = (1 << FUNCTION.FUNCTION_PRINT_BITS) - 1;
/** With runtimes, of whatever version. */
const MAX_FILES = 1024;
/** Whose place in CPython's memory is remembered, of all processes. */
const MAX_PYTHON_THREADS = 8192;
/** What places are counted in. */
const PLACE_BYTES = 8;

/** Functions in a stack that was kept. */
export interface MetFunctions {
	/** Of our PID namespace; 0: it cannot be seen from there. */
	readonly pid: number;
	/** Undefined: of a file that is not known. */
	readonly runtime: RuntimeFile | undefined;
	/** Where the file that CPython is in would be mapped at offset 0; 0: it is another runtime. */
	readonly base: number;
	readonly frames: readonly MetFrame[];
	/** Within the instructions of frames without functions. */
	readonly others: readonly number[];
}

/** A function in a stack, and where it made the next call. */
export interface MetFrame {
	readonly word: FunctionWord;
	/** Within the instruction that calls; undefined: it is where the thread was, or the frame is another's. */
	readonly call: number | undefined;
}

/** Whether a word of a stack, behind a frame's address, is a function. */
export function isFunctionWord(view: DataView, at: number): boolean {
	return (view.getInt32(at + 4, true) & MARK) !== 0;
}

/** Whether a word of a stack, behind a function, is where in the function the frame is. */
export function isInstructionWord(view: DataView, at: number): boolean {
	return (view.getInt32(at + 4, true) & (MARK | INSTRUCTION)) === INSTRUCTION;
}

/** A function, and what the word behind it says of it; `end`: of the stack's words. */
export function readFunctionWord(view: DataView, at: number, end = at): FunctionWord {
	const high = view.getUint32(at + 4, true);
	const word = {
		place: ((high & PLACE_HIGH_MASK) * 2 ** 32 + view.getUint32(at, true)) * PLACE_BYTES,
		print: (high >>> PLACE_HIGH_BITS) & PRINT_MASK,
		isCallers: (high & OF_CALLER) !== 0,
	};
	if (at + 8 >= end || !isInstructionWord(view, at + 8)) return word;
	const instruction = view.getUint32(at + 8, true);
	return instruction === FUNCTION.FUNCTION_NO_INSTRUCTION ? word : { ...word, instruction };
}

/** The functions behind a frame's address, and how long their words are. */
function functionWordsAt(view: DataView, from: number, end: number) {
	const found: FunctionWord[] = [];
	let at = from;
	while (at < end && isFunctionWord(view, at)) {
		found.push(readFunctionWord(view, at, end));
		at += 8;
		if (at < end && isInstructionWord(view, at)) at += 8;
	}
	return { found, length_bytes: at - from };
}

/** The frames of a stack, struct walked, leaf first: those with functions, and the others. */
export function metFrames(walked: DataView): Pick<MetFunctions, 'frames' | 'others'> {
	const { count, frames } = WALKED.fields;
	const met: MetFrame[] = [];
	const others: number[] = [];
	const end = Math.min(
		frames.offset + walked.getUint32(count.offset, true) * 8,
		walked.byteLength - 7,
	);
	for (let at = frames.offset; at < end; at += 8) {
		if (isFunctionWord(walked, at)) continue;
		// The first address is where the thread was.
		const isLeaf = at === frames.offset;
		const inside = readU64(walked, at) - (isLeaf ? 0 : 1);
		const words = functionWordsAt(walked, at + 8, end);
		at += words.length_bytes;
		for (const word of words.found)
			met.push({ word, call: isLeaf || word.isCallers ? undefined : inside });
		if (words.found.length === 0) others.push(inside);
	}
	return { frames: met, others };
}

/** What walks are to take of runtimes. */
export interface WantedFunctions {
	readonly functions: boolean;
	/** The lines that frames are at. */
	readonly lines: boolean;
}

/** Of one object, which is to be configured, loaded, opened and closed. */
export class FunctionMaps {
	readonly #object: BpfObject<UnwoundLayout>;
	readonly #runtimes: RuntimeFile[] = [];
	/** By fileName(). */
	readonly #byFile = new Map<string, RuntimeFile>();
	#ring: RingBuffer | undefined;

	/** `wanted`: whether walks are to take functions at all, and where in them frames are. */
	constructor(
		object: BpfObject<UnwoundLayout>,
		private readonly wanted: WantedFunctions = { functions: true, lines: false },
	) {
		this.#object = object;
	}

	/** Before loading. */
	configure(): void {
		for (const layouts of ['v8_layouts', 'python_layouts'])
			this.#object.map(layouts).setMaxEntries(FUNCTION.FUNCTION_MAX_RUNTIMES);
		this.#object.map('python_threads').setMaxEntries(MAX_PYTHON_THREADS);
		this.#object.map('function_stacks').setMaxEntries(FUNCTION.FUNCTION_RING_BYTES);
	}

	/** After loading, before attaching. */
	open(): void {
		this.#ring = new RingBuffer(this.#object.map('function_stacks'));
	}

	/** The runtime in a file that walks have come to, or will. */
	runtimeIn(file: Pick<FileIdentity, 'inode' | 'device'>): RuntimeFile | undefined {
		return this.#byFile.get(fileName(file));
	}

	/** Has walks take functions of the runtime in a file; returns its number for them, 0: they take none. */
	add(identity: FileIdentity, found: RuntimeFile): number {
		const file = this.wanted.lines ? found : withoutLines(found);
		// Its table may have been forgotten, and be read once more.
		const same = JSON.stringify(file);
		const known = this.#runtimes.findIndex((each) => JSON.stringify(each) === same);
		const problem = this.#problemOf(file, known >= 0);
		const taken = problem ? { ...file, layout: undefined, problem } : file;
		if (this.#byFile.size < MAX_FILES) this.#byFile.set(fileName(identity), taken);
		if (!taken.layout) return 0;
		if (known >= 0) return known + 1;
		this.#runtimes.push(file);
		const number = this.#runtimes.length;
		const key = u32Key(number - 1);
		if (taken.runtime === 'v8') this.#object.map('v8_layouts').update(key, v8Value(taken.layout));
		else this.#object.map('python_layouts').update(key, pythonValue(taken.layout));
		this.#object.setVariable('runtimes_known', number);
		return number;
	}

	/** Why functions of it are not taken, besides what the file itself says. */
	#problemOf({ layout }: RuntimeFile, isKnown: boolean): NotTaken | undefined {
		if (!layout) return undefined;
		if (!this.wanted.functions) return 'unwanted';
		const isFull = this.#runtimes.length >= FUNCTION.FUNCTION_MAX_RUNTIMES;
		return isFull && !isKnown ? 'count' : undefined;
	}

	/** Calls `onMet` when stacks with functions were kept, which `met` then gives. */
	watch(onMet: () => Promise<void>): void {
		this.#ring?.watch(this.#object.map('function_stacks').fd, onMet);
	}

	/** Of stacks that were kept since the last call. */
	met(): MetFunctions[] {
		const found: MetFunctions[] = [];
		const { tgid, runtime, base } = WALKED.fields;
		this.#ring?.read((record) => {
			found.push({
				pid: record.getUint32(tgid.offset, true),
				runtime: this.#runtimes[record.getUint32(runtime.offset, true) - 1],
				base: readU64(record, base.offset),
				...metFrames(record),
			});
		});
		return found;
	}

	close(): void {
		this.#ring?.close();
		this.#ring = undefined;
	}
}

/** Where nobody wants to know which line a frame is at, nothing is read for it. */
function withoutLines(file: RuntimeFile): RuntimeFile {
	if (file.runtime !== 'python' || !file.layout) return file;
	return { ...file, layout: { ...file.layout, lines: undefined } };
}

/** struct v8_layout. */
function v8Value({ heap, builtins, interpreter, resumes }: V8Layout): Uint8Array {
	const [plain = 0, orBaseline = 0] = resumes;
	return written(V8_LAYOUT, {
		builtins_start: builtins.start,
		builtins_end: builtins.end,
		interpreter_start: interpreter.start,
		interpreter_end: interpreter.end,
		resumes: plain,
		resumes_or_baseline: orBaseline,
		function_shared: heap.functionShared,
		shared_print: heap.sharedLength,
	});
}

const SEGMENTS: Readonly<Record<PythonSegments, number>> = {
	entries: PYTHON_SEGMENTS.PYTHON_ENTRIES,
	marks: PYTHON_SEGMENTS.PYTHON_MARKS,
	'one frame each': PYTHON_SEGMENTS.PYTHON_ONE_FRAME_EACH,
};

/** struct python_layout. */
function pythonValue(layout: PythonLayout): Uint8Array {
	return written(PYTHON_LAYOUT, {
		interpreters: layout.runtime + layout.interpreters,
		code_type: layout.codeType,
		eval_start: layout.evalStart,
		eval_end: layout.evalEnd,
		interpreter_next: layout.interpreterNext,
		interpreter_threads: layout.interpreterThreads,
		thread_previous: layout.threadPrevious,
		thread_next: layout.threadNext,
		thread_identity: layout.threadIdentity,
		thread_frame: layout.threadFrame ?? 0,
		thread_record: layout.threadRecord ?? 0,
		record_frame: layout.recordFrame ?? 0,
		record_previous: layout.recordPrevious ?? 0,
		segments: SEGMENTS[layout.segments],
		frame_code: layout.frameCode,
		frame_previous: layout.framePrevious,
		frame_owner: layout.frameOwner ?? 0,
		code_print: layout.codePrint,
		thread_interpreter: layout.threadInterpreter,
		thread_number: layout.threadNumber ?? 0,
		gil: layout.gil.in === 'runtime' ? layout.runtime + layout.gil.at : layout.gil.at,
		gil_of_interpreter: layout.gil.in === 'interpreter' ? 1 : 0,
		frame_instruction: layout.lines?.frameInstruction ?? 0,
		code_instructions: layout.lines?.codeInstructions ?? 0,
	});
}

/** A struct with all its fields. */
function written<K extends string>(
	{ fields, size }: StructWith<K>,
	values: Readonly<Record<K, number>>,
): Uint8Array {
	const view = new DataView(new ArrayBuffer(size));
	for (const key of Object.keys(values) as K[]) {
		const { offset, size: bytes } = fields[key];
		if (bytes === 4) view.setUint32(offset, values[key], true);
		else view.setBigUint64(offset, BigInt(values[key]), true);
	}
	return new Uint8Array(view.buffer);
}

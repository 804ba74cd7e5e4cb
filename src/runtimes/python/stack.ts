/**
 * Which Python functions the C frames of a thread run, outside the kernel: the same as bpf/lib/runtimes/python.h. All
 * lists may be forged, or change while they are read: no more than a bounded number of their elements is looked at.
 */
import type { FunctionStack, FunctionWord, RuntimeMemory, SteppedFrame } from '../runtime.js';
import { pointerAt, printAt } from './code.js';
import type { PythonLayout } from './layout.js';

/** Of a process, of all its interpreters. */
const MAX_THREADS = 4096;
const MAX_INTERPRETERS = 64;
/** Python frames of one C frame that are looked at. */
const MAX_FRAMES = 4096;
const MAX_WORDS = 127;
/** Walks of a moment have 5 s in all. */
const MAX_SPENT_MS = 1000;
/** An entry in the list of frames, which is no function's: PYTHON_ENTRY_OWNER. */
const ENTRY_OWNER = 3;
/** 3.14 keeps flags there. */
const POINTER_FLAGS = 8;
/** None is so far on: FUNCTION_NO_INSTRUCTION. */
const NO_INSTRUCTION = 0xff_ffff;

interface Thread {
	readonly at: number;
	/** As the process itself numbers it; undefined: it does not say. */
	readonly number: number | undefined;
	/** What pthread_self() is in it: an address at the end of its stack, unless it is the process's first thread. */
	readonly identity: number;
}

/** The Python frames that one C frame runs. */
interface Segment {
	/** Where on the stack that C frame is; undefined: its code tells that it is one. */
	readonly entry: number | undefined;
	readonly words: readonly FunctionWord[];
	/** Of what is further out. */
	readonly frame: number;
	readonly record: number;
}

/** Of one process, at one moment. What the walks of all its threads read for it takes MAX_SPENT_MS, and then ends. */
export class PythonStacks {
	#threads: readonly Thread[] | undefined;
	/** Interpreters: a thread may be in the list of each. */
	#hasSeveral = false;
	/** The innermost segment of each thread that was asked for. */
	readonly #innermost = new Map<Thread, Segment | undefined>();
	#spent_ms = 0;
	#begun_ms = 0;

	/** `base`: where the file that CPython is in would be mapped at offset 0. */
	constructor(
		private readonly memory: RuntimeMemory,
		private readonly layout: PythonLayout,
		private readonly base: number,
	) {}

	/** Of a thread, by its number, as the kernel tells it; its own may be another one. */
	stackOf(number: number): FunctionStack {
		let at: Segment | undefined;
		/** What may tell of frames further out: of other interpreters. Undefined: the thread was not met yet. */
		let others: readonly Thread[] | undefined;
		const begin = (frame: SteppedFrame) => {
			const threads = others ?? this.#threadsOf(number, frame);
			const begun = threads.find((thread) => this.#isInnermost(thread, frame));
			if (!begun) return undefined;
			others = this.#hasSeveral ? threads.filter((each) => each !== begun) : [];
			return this.#innermostOf(begun);
		};
		return {
			take: (frame) => {
				if (!at && others?.length === 0) return [];
				return this.#timed(() => {
					at ??= begin(frame);
					if (!at || !this.#runs(frame, at)) return [];
					const { words } = at;
					at = this.#segment(at.frame, at.record);
					return words;
				});
			},
		};
	}

	#timed(take: () => readonly FunctionWord[]): readonly FunctionWord[] {
		this.#begun_ms = performance.now();
		const words = this.#hasTime() ? take() : [];
		this.#spent_ms += performance.now() - this.#begun_ms;
		return words;
	}

	#hasTime(): boolean {
		return this.#spent_ms + performance.now() - this.#begun_ms < MAX_SPENT_MS;
	}

	/** Whether a C frame is the one that runs these Python frames. */
	#runs({ from, to, code }: SteppedFrame, { entry }: Segment): boolean {
		if (entry !== undefined) return entry >= from && entry < to;
		const offset = code - this.base;
		return offset >= this.layout.evalStart && offset < this.layout.evalEnd;
	}

	/** Whether this is the thread's innermost C frame of the interpreter's. */
	#isInnermost(thread: Thread, frame: SteppedFrame): boolean {
		const segment = this.#innermostOf(thread);
		return segment !== undefined && this.#runs(frame, segment);
	}

	/**
	 * 3.9 says only which thread has made an entry of the list, and not on which stack it runs. With several interpreters
	 * one thread may make entries that others run with.
	 */
	get #goesByMaker(): boolean {
		return this.layout.threadRecord === undefined && this.layout.segments !== 'entries';
	}

	/** Those that may be the one with this number, and have this frame on their stack. */
	#threadsOf(number: number, frame: SteppedFrame): readonly Thread[] {
		this.#threads ??= this.#listThreads();
		if (this.#hasSeveral && this.#goesByMaker) return [];
		// In the list of an interpreter a thread may have another one's number (uWSGI).
		const own = this.#hasSeveral ? [] : this.#threads.filter((each) => each.number === number);
		// In another PID namespace they have other numbers.
		return own.length > 0 ? own : this.#threadsAt(frame);
	}

	/** Those that may have this frame on their stack. */
	#threadsAt({ from }: SteppedFrame): readonly Thread[] {
		const threads = this.#threads ?? [];
		if (!this.#goesByMaker) return threads;
		// What is at the end of a thread's stack is the nearest one. The first thread, last in the list, has its apart.
		let nearest: Thread | undefined;
		for (const thread of threads)
			if (thread.identity > from && !(nearest && nearest.identity < thread.identity))
				nearest = thread;
		nearest ??= threads.at(-1);
		return threads.filter(({ identity }) => identity === nearest?.identity);
	}

	#innermostOf(thread: Thread): Segment | undefined {
		if (this.#innermost.has(thread) || !this.#hasTime()) return this.#innermost.get(thread);
		const { threadFrame, threadRecord, recordFrame = 0 } = this.layout;
		const record = this.#pointer(thread.at, threadRecord);
		const frame =
			threadFrame === undefined
				? this.#pointer(record, recordFrame)
				: this.#pointer(thread.at, threadFrame);
		const segment = this.#segment(frame, record);
		this.#innermost.set(thread, segment);
		return segment;
	}

	/** 0: there is none, or it cannot be read. */
	#pointer(object: number, field: number | undefined): number {
		return field === undefined ? 0 : (pointerAt(this.memory, object + field) ?? 0);
	}

	#listThreads(): Thread[] {
		const { memory, layout } = this;
		const threads = new Map<number, Thread>();
		let interpreter = pointerAt(memory, this.base + layout.runtime + layout.interpreters);
		for (let i = 0; i < MAX_INTERPRETERS && interpreter; i++) {
			let at = pointerAt(memory, interpreter + layout.interpreterThreads);
			// Lists may be rings.
			while (at && !threads.has(at) && threads.size < MAX_THREADS && this.#hasTime()) {
				threads.set(at, this.#threadAt(at));
				at = pointerAt(memory, at + layout.threadNext);
			}
			interpreter = pointerAt(memory, interpreter + layout.interpreterNext);
			this.#hasSeveral ||= !!interpreter;
		}
		return [...threads.values()];
	}

	#threadAt(at: number): Thread {
		const { threadNumber, threadIdentity } = this.layout;
		const number = threadNumber === undefined ? undefined : this.#pointer(at, threadNumber);
		return { at, number, identity: this.#pointer(at, threadIdentity) };
	}

	/** Undefined: there are no more. */
	#segment(first: number, record: number): Segment | undefined {
		const { segments, threadFrame, recordFrame, recordPrevious } = this.layout;
		if (segments === 'entries') return this.#upToEntry(first, record);
		const innermost = threadFrame === undefined ? this.#pointer(record, recordFrame) : first;
		if (innermost === 0) return undefined;
		const { words, next } = this.#frames(innermost);
		const entry = recordPrevious === undefined ? undefined : record;
		return { entry, words, frame: next, record: this.#pointer(record, recordPrevious) };
	}

	#upToEntry(first: number, record: number): Segment | undefined {
		const { words, entry, next } = this.#frames(first);
		return entry === undefined ? undefined : { entry, words, frame: next, record };
	}

	/** The frames of a list up to the last one that the same C frame runs. */
	#frames(first: number): { words: FunctionWord[]; entry?: number; next: number } {
		const { segments } = this.layout;
		const words: FunctionWord[] = [];
		let at = first;
		for (let i = 0; i < MAX_FRAMES && at !== 0 && this.#hasTime(); i++) {
			const frame = this.#frameAt(at);
			if (!frame) break;
			const { code, owner, next, instruction } = frame;
			if (segments === 'entries' && owner === ENTRY_OWNER) return { words, entry: at, next };
			const word = this.#wordOf(code, instruction);
			if (word && words.length < MAX_WORDS) words.push(word);
			if (segments === 'one frame each') return { words, next };
			if (segments === 'marks' && owner !== 0) break;
			at = next;
		}
		return { words, next: 0 };
	}

	/** `owner`: or the mark, where frames have one; 0: neither. */
	#frameAt(at: number) {
		const { memory, layout } = this;
		const pointer = pointerAt(memory, at + layout.frameCode);
		if (pointer === undefined) return undefined;
		const code = pointer - (pointer % POINTER_FLAGS);
		const owner =
			layout.frameOwner === undefined
				? 0
				: (memory.read(at + layout.frameOwner, 1)?.getUint8(0) ?? 0);
		const next = this.#pointer(at, layout.framePrevious);
		return { code, owner, next, instruction: this.#instructionAt(at, code) };
	}

	/** Where in its code a frame is; undefined: it does not say, or nobody asked. */
	#instructionAt(frame: number, code: number): number | undefined {
		const { memory, layout } = this;
		if (!layout.lines) return undefined;
		const { frameInstruction, codeInstructions } = layout.lines;
		const instruction =
			codeInstructions === undefined
				? memory.read(frame + frameInstruction, 4)?.getInt32(0, true)
				: this.#pointer(frame, frameInstruction) - code - codeInstructions;
		const isKnown = instruction !== undefined && instruction >= 0 && instruction < NO_INSTRUCTION;
		return isKnown ? instruction : undefined;
	}

	/** Undefined: it is CPython's own. */
	#wordOf(place: number, instruction: number | undefined): FunctionWord | undefined {
		const { memory, layout, base } = this;
		const found = printAt(memory, place, base + layout.codeType, layout);
		if (found?.firstLine === 0) return undefined;
		const word = { place, print: found?.print ?? 0, isCallers: false };
		return instruction === undefined ? word : { ...word, instruction };
	}
}

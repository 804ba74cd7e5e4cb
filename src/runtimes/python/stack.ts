/**
 * Which Python functions the C frames of a thread run, outside the kernel: the same as bpf/lib/runtimes/python.h. All
 * lists may be forged, or change while they are read: no more than a bounded number of their elements is looked at.
 */
import type { FunctionStack, FunctionWord, RuntimeMemory } from '../runtime.js';
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

interface Thread {
	readonly at: number;
	/** As the process itself numbers it. */
	readonly number: number;
}

/** The Python frames that one C frame runs. */
interface Segment {
	/** Where on the stack that C frame is. */
	readonly entry: number;
	readonly words: readonly FunctionWord[];
	/** Of what is further out. */
	readonly frame: number;
	readonly record: number;
}

/** Of one process, at one moment. What the walks of all its threads read for it takes MAX_SPENT_MS, and then ends. */
export class PythonStacks {
	#threads: readonly Thread[] | undefined;
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
		/** null: it has ended. */
		let at: Segment | null | undefined;
		return {
			take: (from, to) => {
				if (at === null) return [];
				return this.#timed(() => {
					at ??= this.#beginning(number, from, to);
					if (!at || at.entry < from || at.entry >= to) return [];
					const { words } = at;
					at = this.#segment(at.frame, at.record) ?? null;
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

	/** Of the thread whose innermost C frame is between these addresses of its stack. */
	#beginning(number: number, from: number, to: number): Segment | undefined {
		this.#threads ??= this.#listThreads();
		const own = this.#threads.filter((thread) => thread.number === number);
		// In another PID namespace they have other numbers.
		for (const thread of own.length > 0 ? own : this.#threads) {
			const segment = this.#innermostOf(thread);
			if (segment && segment.entry >= from && segment.entry < to) return segment;
		}
		return undefined;
	}

	#innermostOf(thread: Thread): Segment | undefined {
		if (this.#innermost.has(thread) || !this.#hasTime()) return this.#innermost.get(thread);
		const first = pointerAt(this.memory, thread.at + this.layout.threadFrame) ?? 0;
		const { recordFrame } = this.layout;
		const frame =
			recordFrame === undefined ? first : (pointerAt(this.memory, first + recordFrame) ?? 0);
		const segment = this.#segment(frame, first);
		this.#innermost.set(thread, segment);
		return segment;
	}

	#listThreads(): Thread[] {
		const { memory, layout } = this;
		const threads: Thread[] = [];
		let interpreter = pointerAt(memory, this.base + layout.runtime + layout.interpreters);
		for (let i = 0; i < MAX_INTERPRETERS && interpreter; i++) {
			let at = pointerAt(memory, interpreter + layout.interpreterThreads);
			for (
				;
				at && threads.length < MAX_THREADS && this.#hasTime();
				at = pointerAt(memory, at + layout.threadNext)
			)
				threads.push({ at, number: pointerAt(memory, at + layout.threadNumber) ?? 0 });
			interpreter = pointerAt(memory, interpreter + layout.interpreterNext);
		}
		return threads;
	}

	/** Undefined: there are no more. */
	#segment(first: number, record: number): Segment | undefined {
		const { recordFrame, recordPrevious } = this.layout;
		if (recordPrevious === undefined || recordFrame === undefined)
			return this.#upToEntry(first, record);
		const innermost = pointerAt(this.memory, record + recordFrame);
		if (!innermost) return undefined;
		const { words } = this.#frames(innermost);
		const outer = pointerAt(this.memory, record + recordPrevious) ?? 0;
		return { entry: record, words, frame: 0, record: outer };
	}

	#upToEntry(first: number, record: number): Segment | undefined {
		const { words, entry, next } = this.#frames(first);
		return entry === undefined ? undefined : { entry, words, frame: next, record };
	}

	/** The frames of a list up to the last one that the same C frame runs. */
	#frames(first: number): { words: FunctionWord[]; entry?: number; next: number } {
		const { memory, layout } = this;
		const words: FunctionWord[] = [];
		const isMarked = layout.recordPrevious !== undefined;
		let at = first;
		for (let i = 0; i < MAX_FRAMES && at !== 0 && this.#hasTime(); i++) {
			const owner = memory.read(at + layout.frameOwner, 1)?.getUint8(0);
			const code = pointerAt(memory, at + layout.frameCode);
			const next = pointerAt(memory, at + layout.framePrevious) ?? 0;
			if (owner === undefined || code === undefined) break;
			if (!isMarked && owner === ENTRY_OWNER) return { words, entry: at, next };
			const word = this.#wordOf(code - (code % POINTER_FLAGS));
			if (word && words.length < MAX_WORDS) words.push(word);
			if (isMarked && owner !== 0) break;
			at = next;
		}
		return { words, next: 0 };
	}

	/** Undefined: it is CPython's own. */
	#wordOf(place: number): FunctionWord | undefined {
		const { memory, layout, base } = this;
		const found = printAt(memory, place, base + layout.codeType, layout);
		if (found?.firstLine === 0) return undefined;
		return { place, print: found?.print ?? 0, isCallers: false };
	}
}

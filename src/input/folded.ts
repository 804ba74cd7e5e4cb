/** Reads folded stacks: "root;…;leaf count", as stackcollapse-*.pl write them. */
import { FrameTable, HASH_PRIME, HASH_START } from '../aggregate/frame-table.js';
import type { FrameKind } from '../aggregate/stack.js';
import type { StackProfile } from '../aggregate/stack-profile.js';
import { MAX_STACK_FRAMES, StackTable } from '../aggregate/stack-table.js';
import { TstraceError } from '../errors.js';
import type { Notify, ReadOptions } from './format-reader.js';
import { readLines } from './lines.js';

const SEMICOLON = 0x3b;
const SPACE = 0x20;
const TAB = 0x09;
const ZERO = 0x30;
const NINE = 0x39;
const OPEN = 0x5b;
const CLOSE = 0x5d;
const UNDERSCORE = 0x5f;
/** flamegraph.pl's marks: _[k] kernel, _[j] JIT, _[i] inlined. */
const MARKS: Readonly<Record<number, FrameKind>> = {
	107: 'kernel',
	106: 'jit',
	105: 'inlined',
};
const MARK_BYTES = 4;
/** So many digits a number holds exactly. */
const PLAIN_DIGITS = 15;

/** Throws TstraceError for what no folded stack can be; what has no count is counted and left out. */
export async function readFolded(
	chunks: AsyncIterable<Buffer>,
	_options: ReadOptions,
	notify: Notify,
): Promise<StackProfile[]> {
	const reader = new FoldedReader();
	await readLines(chunks, (bytes, from, to, number) => reader.line(bytes, from, to, number));
	return [reader.end(notify)];
}

class FoldedReader {
	readonly #frames = new FrameTable();
	readonly #stacks = new StackTable();
	/** The line's frames. */
	readonly #path = new Int32Array(MAX_STACK_FRAMES);
	#without = { lines: 0, first: 0 };
	#differences = 0;
	#lines = 0;

	line(bytes: Buffer, from: number, to: number, number: number): void {
		const end = withoutBlanks(bytes, from, to);
		if (end === from) return;
		this.#lines++;
		const gap = lastBlank(bytes, from, end);
		const count = gap < 0 ? undefined : countOf(bytes, gap + 1, end, number);
		if (count === undefined) {
			this.#without.lines++;
			this.#without.first ||= number;
			return;
		}
		const stackEnd = withoutBlanks(bytes, from, gap);
		const before = lastBlank(bytes, from, stackEnd);
		if (before >= 0 && isNumber(bytes, before + 1, stackEnd)) this.#differences++;
		this.#stacks.add(this.#path, this.#parse(bytes, from, stackEnd, number), count);
	}

	end(notify: Notify): StackProfile {
		const { lines, first } = this.#without;
		const good = this.#lines - lines;
		if (good === 0) throw new TstraceError(this.#lines === 0 ? NOTHING : NOT_FOLDED);
		if (good >= FEW_LINES && this.#differences === good) throw new TstraceError(TWO_COUNTS);
		if (lines > 0) {
			notify(
				`left out ${lines} of ${this.#lines} lines: they have no count (the first: line ${first})`,
			);
		}
		return { frames: this.#frames, stacks: this.#stacks, origin: {}, marked: true };
	}

	/** Fills `#path`; returns how many frames there are. */
	#parse(bytes: Buffer, from: number, to: number, number: number): number {
		let depth = 0;
		let start = from;
		let hash = HASH_START;
		for (let i = from; i <= to; i++) {
			const byte = i < to ? (bytes[i] as number) : SEMICOLON;
			if (byte !== SEMICOLON) {
				hash = Math.imul(hash ^ byte, HASH_PRIME);
				continue;
			}
			if (depth === MAX_STACK_FRAMES) {
				throw new TstraceError(
					`the stack in line ${number} has more than ${MAX_STACK_FRAMES} frames; check that the input is folded stacks`,
				);
			}
			this.#path[depth++] = this.#frame(bytes, start, i, hash);
			start = i + 1;
			hash = HASH_START;
		}
		return depth;
	}

	/** The frame's number; its mark tells its kind, and is not part of its name. */
	#frame(bytes: Buffer, from: number, to: number, hash: number): number {
		const kind = kindOf(bytes, from, to);
		if (kind === undefined) return this.#frames.internBytes(bytes, from, to, hash);
		return this.#frames.intern(bytes.toString('utf8', from, to - MARK_BYTES), kind);
	}
}

/** Of fewer lines each may well end with a name and a number: "Thread 1 5". */
const FEW_LINES = 3;
const NOTHING = 'the input is empty: it has no stacks; was anything recorded?';
const NOT_FOLDED =
	'no line of it ends with a count, so these are not folded stacks; ' +
	'give folded stacks, perf script text, or a result of tstrace';
const TWO_COUNTS =
	'each line has two counts, as difffolded.pl writes them; give both recordings to tstrace diff';

function kindOf(bytes: Buffer, from: number, to: number): FrameKind | undefined {
	if (bytes[to - 1] !== CLOSE || to - from <= MARK_BYTES) return undefined;
	if (bytes[to - 3] !== OPEN || bytes[to - 4] !== UNDERSCORE) return undefined;
	return MARKS[bytes[to - 2] as number];
}

const isBlank = (byte: number | undefined): boolean => byte === SPACE || byte === TAB;

function withoutBlanks(bytes: Buffer, from: number, to: number): number {
	let end = to;
	while (end > from && isBlank(bytes[end - 1])) end--;
	return end;
}

/** Where the last blank is; -1 if there is none. */
function lastBlank(bytes: Buffer, from: number, to: number): number {
	for (let i = to - 1; i >= from; i--) if (isBlank(bytes[i])) return i;
	return -1;
}

function isNumber(bytes: Buffer, from: number, to: number): boolean {
	return (
		from < to && /^\d+(\.\d+)?$/.test(bytes.toString('latin1', from, Math.min(to, from + 400)))
	);
}

/** Undefined: it is no number. Throws TstraceError for a number that no count can be. */
function countOf(bytes: Buffer, from: number, to: number, line: number): number | undefined {
	let count = 0;
	let at = from;
	for (; at < to; at++) {
		const digit = bytes[at] as number;
		if (digit < ZERO || digit > NINE) break;
		count = 10 * count + (digit - ZERO);
	}
	if (at === to && to - from <= PLAIN_DIGITS) return count;
	const text = bytes.toString('latin1', from, Math.min(to, from + 400));
	if (/^-\d+(\.\d*)?$/.test(text)) {
		throw new TstraceError(
			`the count in line ${line} is negative (${text}); to compare two recordings use tstrace diff`,
		);
	}
	if (!/^\d+(\.\d*)?(e[+-]?\d+)?$/i.test(text)) return undefined;
	const value = Number(text);
	if (value > Number.MAX_SAFE_INTEGER) {
		throw new TstraceError(
			`the count in line ${line} is larger than ${Number.MAX_SAFE_INTEGER}; give counts in a larger unit`,
		);
	}
	return value;
}

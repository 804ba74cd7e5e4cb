/** One record out of the ring, read in place: bpf/lib/trace/records.h, pointed.h. */
import { readComm } from '../../bpf/comm.js';
import { trace as layout } from '../../generated/trace.js';

const { call_record, capture_header } = layout.structs;
const wordOf = (field: keyof typeof call_record.fields) => call_record.fields[field].offset / 4;
const DURATION = wordOf('duration_ns');
const RESULT = wordOf('result');
const CALL = wordOf('call');
const LOST = wordOf('lost');
const BYTES = wordOf('bytes');
/** type, flags, arguments: one word, in this order. */
const ABOUT = wordOf('type');
/** tgid, tid; the thread's name follows at `COMM`. */
export const TGID = wordOf('tgid');
export const COMM = wordOf('comm');
/** For sorting: when it was written. */
export const END = wordOf('end_ns');
const HEADER_WORDS = call_record.size / 4;
export const HEADER_BYTES = call_record.size;
const STATUS = capture_header.fields.status.offset;
const LENGTH = capture_header.fields.bytes.offset;
const TEXT = capture_header.size;
const ARGUMENTS = 6;
const {
	CAPTURED_PARENT: PARENT,
	CAPTURED_RESULT: RESULT_FILE,
	CAPTURED_STACK: STACK,
} = layout.enums.capture_limit;
const { CAPTURED_CUT, CAPTURE_UNREADABLE, CAPTURED_BEGIN } = layout.enums.capture_status;
const INCARNATION = layout.structs.call_stack.fields.incarnation.offset;
/** What stands for no argument, in the order of its places behind those of the arguments. */
const BESIDE_ARGUMENTS: readonly number[] = [PARENT, RESULT_FILE, STACK];
const MAX_ERRNO = 4095;

export const {
	RECORD_CALL: IS_CALL,
	RECORD_EXIT: IS_EXIT,
	RECORD_SIGNAL: IS_SIGNAL,
	RECORD_FILE: IS_FILE,
} = layout.enums.call_record_type;
export const {
	RECORD_BEGAN_BEFORE: BEGAN_BEFORE,
	RECORD_UNFINISHED: UNFINISHED,
	RECORD_LIST_CUT: LIST_CUT,
	RECORD_LAST_THREAD: LAST_THREAD,
	RECORD_STACK_OF_ENTRY: STACK_OF_ENTRY,
} = layout.enums.call_record_flag;

/** A cursor: `moveTo` puts it on a record; nothing is copied. */
export class CallRecord {
	words: Uint32Array = new Uint32Array(0);
	bytes: Uint8Array = new Uint8Array(0);
	#at = 0;
	/** Of the first capture of each argument, in bytes; 0: there is none. Behind them BESIDE_ARGUMENTS. */
	readonly #captures = new Int32Array(ARGUMENTS + BESIDE_ARGUMENTS.length);
	#end = 0;
	type = 0;
	flags = 0;
	argumentCount = 0;
	call = 0;

	moveTo(words: Uint32Array, at: number): void {
		if (this.words !== words) {
			this.words = words;
			this.bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
		}
		this.#at = at;
		const about = words[at + ABOUT] as number;
		this.type = about & 0xff;
		this.flags = (about >>> 8) & 0xff;
		this.argumentCount = (about >>> 16) & 0xff;
		this.call = words[at + CALL] as number;
		if (this.type === IS_FILE) this.#captures.fill(0);
		else this.#findCaptures();
	}

	get at(): number {
		return this.#at;
	}

	get tgid(): number {
		return this.words[this.#at + TGID] as number;
	}

	get tid(): number {
		return this.words[this.#at + TGID + 1] as number;
	}

	get lost(): number {
		return this.words[this.#at + LOST] as number;
	}

	get duration_ns(): number {
		return this.#u64(DURATION);
	}

	get end_ns(): number {
		return this.#u64(END);
	}

	get resultLow(): number {
		return this.words[this.#at + RESULT] as number;
	}

	get resultHigh(): number {
		return this.words[this.#at + RESULT + 1] as number;
	}

	/** 0: it did not fail. */
	get errno(): number {
		return errnoOf(this.resultLow, this.resultHigh);
	}

	/** Of an argument, from 0. */
	low(argument: number): number {
		return this.words[this.#at + HEADER_WORDS + 2 * argument] as number;
	}

	high(argument: number): number {
		return this.words[this.#at + HEADER_WORDS + 2 * argument + 1] as number;
	}

	/** Where its first capture is; 0: nothing was captured. */
	capture(argument: number): number {
		return this.#captures[argument] as number;
	}

	get parent(): number {
		return this.#captures[ARGUMENTS] as number;
	}

	/** The parent of the thread, where it was captured. */
	parentThread(): { readonly pid: number; readonly comm: string } {
		const at = this.textAt(this.parent);
		return { pid: this.u32At(at), comm: readComm(new DataView(this.bytes.buffer), at + 4) };
	}

	get resultFile(): number {
		return this.#captures[ARGUMENTS + 1] as number;
	}

	get stack(): number {
		return this.#captures[ARGUMENTS + 2] as number;
	}

	/** What tells its stack from others: by its frames, and by which program of which process it is of. */
	stackIds(): readonly [hash: number, program: number] {
		const at = this.textAt(this.stack);
		const pid = this.words[this.#at + TGID] as number;
		return [
			idOf(this.u32At(at), this.u32At(at + 4)),
			pid * 2 ** 31 + (this.u32At(at + INCARNATION) >>> 1),
		];
	}

	/** The stack is as the call began, not as it returned. */
	get isStackOfEntry(): boolean {
		return (this.flags & STACK_OF_ENTRY) !== 0;
	}

	/** Whose it is. */
	process(): { readonly pid: number; readonly tid: number; readonly comm: string } {
		const { words } = this;
		const at = this.#at;
		const view = new DataView(words.buffer, words.byteOffset);
		return {
			pid: words[at + TGID] as number,
			tid: words[at + TGID + 1] as number,
			comm: readComm(view, (at + COMM) * 4),
		};
	}

	/** Where what follows the header begins. */
	get body(): number {
		return (this.#at + HEADER_WORDS) * 4;
	}

	get bodyBytes(): number {
		return this.words[this.#at + BYTES] as number;
	}

	/** Of a record about a file: its number. */
	get fileId(): number {
		return idOf(
			this.words[this.#at + DURATION] as number,
			this.words[this.#at + DURATION + 1] as number,
		);
	}

	/** The number of the file that a capture names. */
	idAt(capture: number): number {
		const at = this.textAt(capture);
		return idOf(this.u32At(at), this.u32At(at + 4));
	}

	/** The next capture of the same argument; 0: there is none. */
	nextCapture(capture: number): number {
		const next = this.#after(capture);
		return next < this.#end && this.bytes[next] === this.bytes[capture] ? next : 0;
	}

	lengthOf(capture: number): number {
		return (
			(this.bytes[capture + LENGTH] as number) | ((this.bytes[capture + LENGTH + 1] as number) << 8)
		);
	}

	isCut(capture: number): boolean {
		return this.bytes[capture + STATUS] === CAPTURED_CUT;
	}

	isUnreadable(capture: number): boolean {
		return this.bytes[capture + STATUS] === CAPTURE_UNREADABLE;
	}

	/** Whether one of several messages begins with it. */
	isBegin(capture: number): boolean {
		return this.bytes[capture + STATUS] === CAPTURED_BEGIN;
	}

	/** Where its bytes are. */
	textAt(capture: number): number {
		return capture + TEXT;
	}

	/** A number of up to four bytes in a capture. */
	u32At(byte: number): number {
		const { bytes } = this;
		return (
			((bytes[byte] as number) |
				((bytes[byte + 1] as number) << 8) |
				((bytes[byte + 2] as number) << 16) |
				((bytes[byte + 3] as number) << 24)) >>>
			0
		);
	}

	/** All 64 bits of a number in a capture. */
	u64At(byte: number): bigint {
		return (BigInt(this.u32At(byte + 4)) << 32n) | BigInt(this.u32At(byte));
	}

	#u64(field: number): number {
		const at = this.#at + field;
		return (this.words[at] as number) + (this.words[at + 1] as number) * 2 ** 32;
	}

	#after(capture: number): number {
		return capture + ((TEXT + this.lengthOf(capture) + 7) & ~7);
	}

	#findCaptures(): void {
		this.#captures.fill(0);
		const begin = (this.#at + HEADER_WORDS) * 4;
		this.#end = begin + (this.words[this.#at + BYTES] as number);
		for (let at = begin + 8 * this.argumentCount; at < this.#end; at = this.#after(at)) {
			const place = placeOf(this.bytes[at] as number);
			if (place >= 0 && this.#captures[place] === 0) this.#captures[place] = at;
		}
	}
}

/** Where the first capture of an argument is kept; -1: nowhere. */
function placeOf(argument: number): number {
	if (argument < ARGUMENTS) return argument;
	const beside = BESIDE_ARGUMENTS.indexOf(argument);
	return beside < 0 ? -1 : ARGUMENTS + beside;
}

/** 53 bits of a hash of 64, exact as a number. */
const idOf = (low: number, high: number) => (high & 0x1f_ffff) * 2 ** 32 + low;

/** Why a call failed, by what its plan says that it returns; 0: it did not. One of 32 bits may have left the upper half empty. */
export function failureOf({ errno, resultLow }: CallRecord, returns: string): number {
	return errno || (returns === 'int' ? errnoOf(resultLow, -1 >>> 0) : 0);
}

/** Of a result in two halves; 0: it is none. */
function errnoOf(low: number, high: number): number {
	if (high !== 0xffff_ffff) return 0;
	const errno = -(low | 0);
	return errno >= 1 && errno <= MAX_ERRNO ? errno : 0;
}

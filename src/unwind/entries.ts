/** The entries of .eh_frame and .debug_frame: common ones (CIE), and functions (FDE). */
import type { CfiMachine, CommonEntry } from './cfi.js';
import { Cursor, POINTER_OMITTED } from './cursor.js';
import type { FrameSection } from './frame-sections.js';
import { type FrameRegisters, FrameState } from './frame-state.js';

const LENGTH_IS_64_BITS = 0xffff_ffff;
const DEBUG_COMMON = 0xffff_ffff;
/** Linkers write each one once; in node there is one. */
const MAX_COMMON = 65_536;
/** Of an entry that is read by itself, for one address; node's longest has 3,144. */
const MAX_ENTRY_BYTES = 1 << 16;
const POINTER_BYTES = 8;
const MAX_LETTERS = 7;

/** The letters of an augmentation that a reader has to know. */
interface Augmentation {
	encoding: number;
	hasData: boolean;
	isSignal: boolean;
}

/** A function: from `start` as it is linked; its instructions are at `from` to `to` in the section. */
type FunctionSink = (
	common: CommonEntry,
	start: number,
	size_bytes: number,
	from: number,
	to: number,
) => void;

/** Reads all entries of one section. Each byte is read once, whatever the entries say. */
export class EntryReader {
	readonly #cursor: Cursor;
	/** By where they begin. Undefined: it is there, and of no use. */
	readonly #commons = new Map<number, CommonEntry | undefined>();
	/** What the function before had: most have the same. */
	#lastAt = -1;
	#last: CommonEntry | undefined;

	constructor(
		private readonly section: FrameSection,
		private readonly registers: FrameRegisters,
		private readonly machine: CfiMachine,
		private readonly damage: (what: string) => void,
	) {
		this.#cursor = new Cursor(section.bytes);
	}

	/** Gives every function to `sink`, in the section's order. */
	read(sink: FunctionSink): void {
		const cursor = this.#cursor;
		const { bytes, endsItself } = this.section;
		for (let at = 0; at + 4 <= bytes.length; ) {
			cursor.at = at;
			cursor.end = bytes.length;
			let length = cursor.u32();
			const isLong = length === LENGTH_IS_64_BITS;
			if (isLong) length = cursor.s64();
			if (length === 0 && endsItself) return;
			const end = cursor.at + length;
			if (!(length >= 0 && end <= bytes.length)) {
				this.damage('an entry is longer than the section');
				return;
			}
			cursor.end = end;
			if (length > 0) this.#readEntry(at, isLong, sink);
			at = end;
		}
	}

	/**
	 * Gives the function whose entry begins at `at` to `sink`; nothing where none does, or where it is so long that
	 * somebody has made it up.
	 */
	readAt(at: number, sink: FunctionSink): void {
		const isLong = this.#open(at);
		if (isLong === undefined || !this.section.isEh) return;
		const idAt = this.#cursor.at;
		const commonAt = idAt - this.#cursor.u32();
		if (commonAt === idAt) return;
		if (!this.#commons.has(commonAt)) {
			const isCommonLong = this.#open(commonAt);
			if (isCommonLong === undefined) return;
			this.#readEntry(commonAt, isCommonLong, () => undefined);
		}
		if (this.#commons.has(commonAt) && this.#open(at) !== undefined)
			this.#readEntry(at, isLong, sink);
	}

	/** Sets the cursor to what follows the length of an entry; whether that is of 64 bits; undefined: none is there, or a long one. */
	#open(at: number): boolean | undefined {
		const cursor = this.#cursor;
		const { bytes } = this.section;
		if (!(at >= 0 && at + 8 <= bytes.length)) return undefined;
		cursor.at = at;
		cursor.end = bytes.length;
		let length = cursor.u32();
		const isLong = length === LENGTH_IS_64_BITS;
		if (isLong) length = cursor.s64();
		const end = cursor.at + length;
		if (!(length > 0 && length <= MAX_ENTRY_BYTES && end <= bytes.length)) return undefined;
		cursor.end = end;
		return isLong;
	}

	#readEntry(start: number, isLong: boolean, sink: FunctionSink): void {
		const cursor = this.#cursor;
		const idAt = cursor.at;
		const { isEh } = this.section;
		// With a long length .eh_frame has short numbers all the same.
		const id = isLong && !isEh ? cursor.s64() : cursor.u32();
		const isCommon = isEh ? id === 0 : id === DEBUG_COMMON || id === -1;
		if (isCommon) {
			if (this.#commons.size >= MAX_COMMON) this.damage('too many CIEs');
			else this.#commons.set(start, this.#readCommon());
			// A function in front of it may have asked for it in vain.
			if (start === this.#lastAt) this.#lastAt = -1;
			return;
		}
		const common = this.#commonAt(isEh ? idAt - id : id);
		if (common) this.#readFunction(common, sink);
	}

	#commonAt(at: number): CommonEntry | undefined {
		if (at !== this.#lastAt) {
			if (!this.#commons.has(at)) this.damage('a function has no CIE in front of it');
			this.#last = this.#commons.get(at);
			this.#lastAt = at;
		}
		return this.#last;
	}

	#readFunction(common: CommonEntry, sink: FunctionSink): void {
		const cursor = this.#cursor;
		const start = cursor.pointer(common.encoding, common.origins);
		const size = cursor.value(common.encoding);
		if (common.hasData) cursor.block();
		const isSound = start !== undefined && size !== undefined && !cursor.isPast;
		if (isSound) sink(common, start, size, cursor.at, cursor.end);
		else this.damage('a function has no address');
	}

	#readCommon(): CommonEntry | undefined {
		const cursor = this.#cursor;
		const version = cursor.u8();
		const letters = this.#letters();
		const isKnown = version === 1 || version === 3 || (version === 4 && !this.section.isEh);
		if (!isKnown) return this.#noCommon('a version that tstrace does not know');
		if (version === 4 && (cursor.u8() !== POINTER_BYTES || cursor.u8() !== 0))
			return this.#noCommon('addresses that are not 64 bits');
		const codeFactor = cursor.uleb();
		const dataFactor = cursor.sleb();
		const returnRegister = version === 1 ? cursor.u8() : cursor.uleb();
		if (returnRegister !== this.registers.ra) return this.#noCommon('an unusual return address');
		const augmentation = letters === undefined ? undefined : this.#augmentation(letters);
		if (!augmentation) return this.#noCommon('an augmentation that tstrace does not know');
		const initial = new FrameState(this.registers);
		initial.isSignal = augmentation.isSignal;
		const { origins } = this.section;
		const { encoding, hasData } = augmentation;
		const common = { cursor, origins, codeFactor, dataFactor, encoding, hasData, initial };
		const isSound = !cursor.isPast && this.machine.initialState(common);
		return isSound ? common : this.#noCommon('damaged instructions');
	}

	#noCommon(why: string): undefined {
		this.damage(`a CIE has ${why}`);
		return undefined;
	}

	/** Undefined when they are too many: "zPLRSBG" are all there are. */
	#letters(): string | undefined {
		let letters = '';
		while (letters.length <= MAX_LETTERS) {
			const letter = this.#cursor.u8();
			if (letter === 0) return letters;
			letters += String.fromCharCode(letter);
		}
		return undefined;
	}

	/** Leaves the cursor at the instructions. Undefined when it is not known what the letters mean. */
	#augmentation(letters: string): Augmentation | undefined {
		const cursor = this.#cursor;
		const found: Augmentation = { encoding: 0, hasData: letters[0] === 'z', isSignal: false };
		if (!found.hasData) return letters === '' ? found : undefined;
		const length = cursor.uleb();
		const end = cursor.at + length;
		for (const letter of letters.slice(1)) {
			if (!this.#readLetter(letter, found)) return undefined;
		}
		if (cursor.at > end) return undefined;
		cursor.at = end;
		return found;
	}

	#readLetter(letter: string, found: Augmentation): boolean {
		const cursor = this.#cursor;
		switch (letter) {
			case 'R': // how functions' addresses are written
				found.encoding = cursor.u8();
				return found.encoding !== POINTER_OMITTED;
			case 'S': // a signal's trampoline
				found.isSignal = true;
				return true;
			case 'P': // the personality
				return cursor.skipPointer(cursor.u8(), this.section.origins);
			case 'L': // how the language's own data is pointed to
				cursor.u8();
				return true;
			default: // arm64: signed with key B; its stack is tagged
				return letter === 'B' || letter === 'G';
		}
	}
}

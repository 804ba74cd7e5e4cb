/** Reads the numbers of DWARF, one after the other. Source: DWARF 5, 7.5.4 and 7.6; LSB 5, 10.5. */

/** How a pointer is written, in the low four bits of its encoding. */
const FORMAT = { absolute: 0, uleb: 1, u16: 2, u32: 3, u64: 4, sleb: 9, s16: 10, s32: 11, s64: 12 };
/** What a pointer counts from, in the next three. */
const BASE = { absolute: 0, here: 0x10, data: 0x30, aligned: 0x50 };
const BASE_BITS = 0x70;
const INDIRECT = 0x80;
export const POINTER_OMITTED = 0xff;
/** 64 bits in pieces of seven. */
const MAX_LEB_BYTES = 10;

/** What pointers of a section may count from. */
export interface Origins {
	/** Where the section's first byte is. */
	readonly section: number;
	/** Undefined where the file has none. */
	readonly data: number | undefined;
}

/**
 * A place in bytes. Behind their end there are zeros, and `at` goes on: who reads too far sees it
 * by `isPast`, and no read has to be checked.
 */
export class Cursor {
	at = 0;
	end: number;

	constructor(readonly bytes: Buffer) {
		this.end = bytes.length;
	}

	/** Something was read that is not there. */
	get isPast(): boolean {
		return this.at > this.end;
	}

	u8(): number {
		const at = this.at++;
		return at < this.end ? (this.bytes[at] as number) : 0;
	}

	u16(): number {
		return this.u8() | (this.u8() << 8);
	}

	u32(): number {
		return this.s32() >>> 0;
	}

	s32(): number {
		return this.u16() | (this.u16() << 16);
	}

	/** Exact up to 2^53, and wrong above: no address that can be mapped is there. */
	s64(): number {
		const low = this.u32();
		return this.s32() * 2 ** 32 + low;
	}

	uleb(): number {
		const first = this.u8();
		if (first < 0x80) return first;
		let value = first & 0x7f;
		for (let i = 1, factor = 0x80; i < MAX_LEB_BYTES; i++, factor *= 0x80) {
			const byte = this.u8();
			value += (byte & 0x7f) * factor;
			if (byte < 0x80) break;
		}
		return value;
	}

	sleb(): number {
		let value = 0;
		let factor = 1;
		for (let i = 0; i < MAX_LEB_BYTES; i++) {
			const byte = this.u8();
			value += (byte & 0x7f) * factor;
			factor *= 0x80;
			if (byte < 0x80) return byte & 0x40 ? value - factor : value;
		}
		return value;
	}

	/** Skips a block with its length in front; gives where it begins. */
	block(): number {
		const length = this.uleb();
		const start = this.at;
		this.at += length;
		return start;
	}

	/** A pointer, without what it counts from; undefined when it is written in another way. */
	value(encoding: number): number | undefined {
		switch (encoding & 0xf) {
			case FORMAT.absolute:
			case FORMAT.u64:
			case FORMAT.s64:
				return this.s64();
			case FORMAT.uleb:
				return this.uleb();
			case FORMAT.sleb:
				return this.sleb();
			case FORMAT.u16:
				return this.u16();
			case FORMAT.s16:
				return (this.u16() << 16) >> 16;
			case FORMAT.u32:
				return this.u32();
			case FORMAT.s32:
				return this.s32();
			default:
				return undefined;
		}
	}

	/** The address that a pointer means; undefined when it cannot be told from the file alone. */
	pointer(encoding: number, origins: Origins): number | undefined {
		if (encoding & INDIRECT) return undefined;
		const base = encoding & BASE_BITS;
		if (base === BASE.aligned) {
			this.at += -(origins.section + this.at) & 7;
			return this.s64();
		}
		const here = origins.section + this.at;
		const value = this.value(encoding);
		if (value === undefined || base === BASE.absolute) return value;
		if (base === BASE.here) return value + here;
		return base === BASE.data && origins.data !== undefined ? value + origins.data : undefined;
	}

	/** Past a pointer, whatever it means; false when nobody can tell how long it is. */
	skipPointer(encoding: number, origins: Origins): boolean {
		if (encoding === POINTER_OMITTED) return true;
		const isAligned = (encoding & BASE_BITS) === BASE.aligned;
		const form = isAligned ? BASE.aligned : encoding & 0xf;
		return this.pointer(form, origins) !== undefined;
	}
}

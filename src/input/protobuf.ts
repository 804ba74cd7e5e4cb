/** Fields of a protocol buffer, read in place: https://protobuf.dev/programming-guides/encoding/ */
import { TstraceError } from '../errors.js';

const VARINT = 0;
const FIXED64 = 1;
export const LENGTH_DELIMITED = 2;
const FIXED32 = 5;
const MAX_VARINT_BYTES = 10;
const INT64_END = 2 ** 63;

/** A message's fields, one after the other. What cannot be read throws TstraceError. */
export class Fields {
	readonly #bytes: Uint8Array;
	readonly #end: number;
	#at: number;
	#valueAt = 0;
	#valueEnd = 0;
	field = 0;
	wireType = 0;
	/** Of a varint: a signed 64-bit integer, inexact beyond 2^53. */
	value = 0;
	/** Of what has a length: where it is. */
	from = 0;
	to = 0;

	constructor(bytes: Uint8Array, from = 0, to = bytes.length) {
		this.#bytes = bytes;
		this.#at = from;
		this.#end = to;
	}

	/** Goes to the next field; false: there is none. */
	next(): boolean {
		if (this.#at >= this.#end) return false;
		this.#varint();
		this.wireType = this.value % 8;
		this.field = Math.floor(this.value / 8);
		switch (this.wireType) {
			case VARINT:
				this.#varint();
				break;
			case FIXED64:
				this.#skip(8);
				break;
			case LENGTH_DELIMITED:
				this.#varint();
				this.#skip(this.value);
				break;
			case FIXED32:
				this.#skip(4);
				break;
			default:
				throw damaged();
		}
		return true;
	}

	/** Calls for each number of a repeated field, with this at it: one number, or many that are packed. */
	eachNumber(visit: (field: Fields) => void): void {
		if (this.wireType === VARINT) visit(this);
		if (this.wireType !== LENGTH_DELIMITED) return;
		const packed = this.message();
		while (packed.#at < packed.#end) {
			packed.#varint();
			visit(packed);
		}
	}

	/** The field as a message of its own. */
	message(): Fields {
		return this.wireType === LENGTH_DELIMITED
			? new Fields(this.#bytes, this.from, this.to)
			: new Fields(this.#bytes, 0, 0);
	}

	/** Of a varint, unsigned and exact: numbers of things, and addresses, use all 64 bits. */
	get exact(): number | bigint {
		if (Number.isSafeInteger(this.value) && this.value >= 0) return this.value;
		return BigInt.asUintN(64, this.#bits());
	}

	#skip(bytes: number): void {
		if (!(bytes >= 0 && bytes <= this.#end - this.#at)) throw damaged();
		this.from = this.#at;
		this.#at += bytes;
		this.to = this.#at;
	}

	#varint(): void {
		this.#valueAt = this.#at;
		let value = 0;
		let scale = 1;
		let byte = 0x80;
		for (let i = 0; byte >= 0x80; i++) {
			if (i === MAX_VARINT_BYTES || this.#at >= this.#end) throw damaged();
			byte = this.#bytes[this.#at++] as number;
			value += (byte & 0x7f) * scale;
			scale *= 0x80;
		}
		this.#valueEnd = this.#at;
		// A negative number has its highest bits set, and its lowest would be lost here.
		this.value = value < INT64_END ? value : Number(BigInt.asIntN(64, this.#bits()));
	}

	#bits(): bigint {
		let bits = 0n;
		for (let at = this.#valueEnd - 1; at >= this.#valueAt; at--) {
			bits = (bits << 7n) | BigInt((this.#bytes[at] as number) & 0x7f);
		}
		return bits;
	}
}

export function damaged(): TstraceError {
	return new TstraceError('it is a pprof file that is damaged or was cut off; record it again');
}

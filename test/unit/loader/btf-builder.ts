/** BTF made for tests. */

/** Writes BTF: see Documentation/bpf/btf.rst. */
export class BtfBuilder {
	#strings = Buffer.from('\0');
	readonly #places = new Map<string, number>();
	#types: number[] = [];
	#count = 0;

	/** Where it is; there is each but once, as linkers write it. */
	string(text: string): number {
		const known = this.#places.get(text);
		if (known !== undefined) return known;
		const at = this.#strings.length;
		this.#places.set(text, at);
		this.#strings = Buffer.concat([this.#strings, Buffer.from(`${text}\0`)]);
		return at;
	}

	/** Returns the id. */
	type(name: string, kind: number, sizeOrType: number, trailer: number[] = [], vlen = 0): number {
		this.#types.push(name ? this.string(name) : 0, (kind << 24) | vlen, sizeOrType, ...trailer);
		return ++this.#count;
	}

	build(): Uint8Array {
		const header = Buffer.alloc(24);
		header.writeUInt16LE(0xeb9f, 0);
		header.writeUInt8(1, 2);
		header.writeUInt32LE(24, 4);
		header.writeUInt32LE(0, 8);
		header.writeUInt32LE(this.#types.length * 4, 12);
		header.writeUInt32LE(this.#types.length * 4, 16);
		header.writeUInt32LE(this.#strings.length, 20);
		const types = Buffer.from(new Uint32Array(this.#types).buffer);
		return Buffer.concat([header, types, this.#strings]);
	}
}

export const [INT, PTR, ARRAY, STRUCT, UNION, ENUM, TYPEDEF, VAR, DATASEC, ENUM64] = [
	1, 2, 3, 4, 5, 6, 8, 14, 15, 19,
] as const;
/** What a type can be behind, and stays what it is: include/uapi/linux/btf.h. */
export const TRANSPARENT = { typedef: TYPEDEF, volatile: 9, const: 10, restrict: 11, typeTag: 18 };
export const [FWD, FUNC_PROTO] = [7, 13] as const;
/** kind_flag, added to a kind. */
export const FLAG = 1 << 7;

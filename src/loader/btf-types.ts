/**
 * The table of types in BTF, and what each type's head says.
 * Source: Documentation/bpf/btf.rst. Every read is bounded; malformed input ends in a BtfError.
 */

export class BtfError extends Error {}

const MAGIC = 0xeb9f;
const HEADER_BYTES = 24;
const LAST_DIGITS = 0xffff;
/** 160,000 types in a distribution's kernel of 2026. */
const MAX_TYPES = 4_000_000;
/** KSYM_NAME_LEN: the kernel takes no longer ones. */
const MAX_NAME_BYTES = 512;

export const KIND = {
	int: 1,
	ptr: 2,
	array: 3,
	struct: 4,
	union: 5,
	enum: 6,
	fwd: 7,
	typedef: 8,
	volatile: 9,
	const: 10,
	restrict: 11,
	func: 12,
	funcProto: 13,
	var: 14,
	datasec: 15,
	float: 16,
	declTag: 17,
	typeTag: 18,
	enum64: 19,
} as const;

/** Bytes that follow a type's 12-byte head: a fixed part, and a part for each of `vlen`. */
const TRAILER_BY_KIND: Readonly<Record<number, readonly [fixed: number, each: number]>> = {
	[KIND.int]: [4, 0],
	[KIND.ptr]: [0, 0],
	[KIND.array]: [12, 0],
	[KIND.struct]: [0, 12],
	[KIND.union]: [0, 12],
	[KIND.enum]: [0, 8],
	[KIND.fwd]: [0, 0],
	[KIND.typedef]: [0, 0],
	[KIND.volatile]: [0, 0],
	[KIND.const]: [0, 0],
	[KIND.restrict]: [0, 0],
	[KIND.func]: [0, 0],
	[KIND.funcProto]: [0, 8],
	[KIND.var]: [4, 0],
	[KIND.datasec]: [0, 12],
	[KIND.float]: [0, 0],
	[KIND.declTag]: [4, 0],
	[KIND.typeTag]: [0, 0],
	[KIND.enum64]: [0, 12],
};
/** As an array, which is much faster to index. */
const TRAILER = Array.from({ length: 32 }, (_, kind) => TRAILER_BY_KIND[kind]);

/** Types and their names, found by offset; nothing is decoded before it is asked for. */
export class BtfTypes {
	readonly #data: DataView;
	readonly #strings: Buffer;
	/** Where each type begins, and where its name does, by id; id 0 is void. */
	readonly #offsets: Uint32Array;
	readonly #names: Uint32Array;
	/** What `find` returned, by kind and name: to search takes 0.2 ms, and 1 ms where there is no such name. */
	readonly #found = new Map<string, number | undefined>();

	/** Takes raw BTF: a file of /sys/kernel/btf, or an object's .BTF section. Throws BtfError. */
	constructor(raw: Uint8Array) {
		if (raw.byteLength < HEADER_BYTES) throw new BtfError('shorter than its header');
		const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
		if (view.getUint16(0, true) !== MAGIC) throw new BtfError('not BTF of this byte order');
		const headerBytes = view.getUint32(4, true);
		const typesAt = headerBytes + view.getUint32(8, true);
		const typesBytes = view.getUint32(12, true);
		const stringsAt = headerBytes + view.getUint32(16, true);
		const stringsBytes = view.getUint32(20, true);
		if (
			headerBytes < HEADER_BYTES ||
			typesAt + typesBytes > raw.byteLength ||
			stringsAt + stringsBytes > raw.byteLength
		) {
			throw new BtfError('a section lies outside the file');
		}
		this.#data = new DataView(raw.buffer, raw.byteOffset + typesAt, typesBytes);
		this.#strings = Buffer.from(raw.buffer, raw.byteOffset + stringsAt, stringsBytes);
		[this.#offsets, this.#names] = indexTypes(this.#data);
	}

	/** The first type of this name and kind; undefined: there is none. */
	find(name: string, kind: number): number | undefined {
		const key = `${kind} ${name}`;
		if (!this.#found.has(key)) this.#found.set(key, this.#search(name, kind));
		return this.#found.get(key);
	}

	#search(name: string, kind: number): number | undefined {
		const nameAt = this.#strings.indexOf(`\0${name}\0`) + 1;
		if (nameAt === 0) return undefined;
		for (let id = 0; ; ) {
			id = this.#names.indexOf(nameAt, id + 1);
			if (id < 0) return undefined;
			if (this.kind(id) === kind) return id;
		}
	}

	/** All types of each of these names, of whatever kind. */
	named(names: readonly string[]): number[][] {
		const found = new Map<number, number[]>();
		const lists = names.map((name) => {
			const ids: number[] = [];
			const nameAt = this.#strings.indexOf(`\0${name}\0`) + 1;
			if (nameAt > 0) found.set(nameAt, ids);
			return ids;
		});
		// Most types are none of these, which their names' last digits tell: a map takes ten times as long.
		const maybe = new Uint8Array(LAST_DIGITS + 1);
		for (const nameAt of found.keys()) maybe[nameAt & LAST_DIGITS] = 1;
		for (let id = 1; id < this.#names.length; id++) {
			const nameAt = this.#names[id] as number;
			if (maybe[nameAt & LAST_DIGITS] === 1) found.get(nameAt)?.push(id);
		}
		return lists;
	}

	/** How many there are, with void. */
	get count(): number {
		return this.#offsets.length;
	}

	/** All bytes of a type's description. */
	bytes(id: number): Uint8Array {
		const { buffer, byteOffset, byteLength } = this.#data;
		const at = this.at(id);
		const end = id + 1 < this.count ? this.at(id + 1) : byteLength;
		return new Uint8Array(buffer, byteOffset + at, end - at);
	}

	/** The names up to the one that begins there, and with it. Throws BtfError. */
	strings(lastAt: number): Uint8Array {
		const end = this.#strings.indexOf(0, lastAt);
		if (end < 0) throw new BtfError('a name lies outside the file');
		return this.#strings.subarray(0, end + 1);
	}

	/** Behind typedefs and qualifiers. */
	resolve(type: number): number {
		let id = this.checked(type);
		for (let depth = 0; depth < 32; depth++) {
			const kind = this.kind(id);
			const named =
				kind === KIND.typedef ||
				kind === KIND.volatile ||
				kind === KIND.const ||
				kind === KIND.restrict ||
				kind === KIND.typeTag;
			if (!named) return id;
			id = this.checked(this.u32(this.at(id) + 8));
		}
		throw new BtfError('types are nested too deeply');
	}

	/** 0 for void. */
	kind(id: number): number {
		return id === 0 ? 0 : (this.u32(this.at(id) + 4) >>> 24) & 0x1f;
	}

	/** How many members, values, parameters or variables it has. */
	vlen(id: number): number {
		return this.u32(this.at(id) + 4) & 0xffff;
	}

	/** include/uapi/linux/btf.h, kind_flag: a struct has bit-fields, an enum has negative values. */
	flag(id: number): number {
		return this.u32(this.at(id) + 4) >>> 31;
	}

	/** Where its 12-byte head begins. */
	at(id: number): number {
		return this.#offsets[id] as number;
	}

	/** What stands there, unsigned. */
	u32(at: number): number {
		return this.#data.getUint32(at, true);
	}

	/** The same id. Throws BtfError where no type has it. */
	checked(id: number): number {
		if (id >= this.#offsets.length) throw new BtfError(`no type has the id ${id}`);
		return id;
	}

	/** A name, by where it begins. Throws BtfError. */
	string(at: number): string {
		const name = this.#strings.subarray(at, at + MAX_NAME_BYTES);
		const end = name.indexOf(0);
		if (end < 0) throw new BtfError('a name is too long, or lies outside the file');
		return name.toString('utf8', 0, end);
	}

	/** Its name; '': it has none. */
	name(id: number): string {
		return this.string(this.nameAt(id));
	}

	/** Where its name begins. */
	nameAt(id: number): number {
		return this.#names[id] as number;
	}

	/** What stands there, signed. */
	s32(at: number): number {
		return this.#data.getInt32(at, true);
	}
}

/** Finds where each type begins; afterwards every type is known to lie inside the section. */
function indexTypes(data: DataView): [offsets: Uint32Array, names: Uint32Array] {
	const most = Math.min(MAX_TYPES, Math.floor(data.byteLength / 12) + 1);
	const offsets = new Uint32Array(most);
	const names = new Uint32Array(most);
	let count = 1;
	for (let at = 0; at < data.byteLength; ) {
		if (at + 12 > data.byteLength) throw new BtfError('a type is cut short');
		if (count === most) throw new BtfError('too many types');
		const info = data.getUint32(at + 4, true);
		const trailer = TRAILER[(info >>> 24) & 0x1f];
		if (!trailer) throw new BtfError(`unknown kind ${(info >>> 24) & 0x1f}`);
		offsets[count] = at;
		names[count++] = data.getUint32(at, true);
		at += 12 + trailer[0] + trailer[1] * (info & 0xffff);
		if (at > data.byteLength) throw new BtfError('a type is cut short');
	}
	return [offsets.subarray(0, count), names.subarray(0, count)];
}

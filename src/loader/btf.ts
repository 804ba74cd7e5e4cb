/**
 * Reads BTF, the type information of the kernel and of BPF objects.
 * Source: Documentation/bpf/btf.rst. Every read is bounded; malformed input ends in a BtfError.
 */

export class BtfError extends Error {}

const MAGIC = 0xeb9f;
const HEADER_BYTES = 24;
/** 160,000 types in a distribution's kernel of 2026. */
const MAX_TYPES = 4_000_000;
/** Unnamed structs and unions in one struct: task_struct has ten. */
const MAX_NESTED = 100;
/** KSYM_NAME_LEN: the kernel takes no longer ones. */
const MAX_NAME_BYTES = 512;

const KIND = {
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

/** A part of a struct, or a variable of a section. */
interface Field {
	readonly name: string;
	/** Of a bit-field: where the bytes begin that its first bit is in. */
	readonly offset_bytes: number;
	readonly size_bytes: number;
	/** Of a bit-field: its first bit in these bytes. */
	readonly bit?: number;
}

export interface Struct {
	readonly name: string;
	readonly size_bytes: number;
	readonly fields: readonly Field[];
}

interface Member {
	readonly name: string;
	readonly type: number;
	/** Where it begins. */
	readonly bits: number;
	/** Of a bit-field, in bits; else 0. */
	readonly width: number;
}

/** Types and their names, found by offset; nothing is decoded before it is asked for. */
export class Btf {
	readonly #data: DataView;
	readonly #strings: Buffer;
	/** Where each type begins, and where its name does, by id; id 0 is void. */
	readonly #offsets: Uint32Array;
	readonly #names: Uint32Array;

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

	/** The struct of this name with all its fields; undefined when there is none. */
	struct(name: string): Struct | undefined {
		const id = this.#find(name, KIND.struct);
		if (id === undefined) return undefined;
		const fields: Field[] = [];
		for (const { name, type, bits, width } of this.#members(id)) {
			const size_bytes = this.#sizeOf(type);
			const bit = bits % (size_bytes * 8);
			fields.push(
				width === 0
					? { name, offset_bytes: bits / 8, size_bytes }
					: { name, offset_bytes: (bits - bit) / 8, size_bytes, bit },
			);
		}
		return { name, size_bytes: this.#sizeOf(id), fields };
	}

	/** Where a field begins in its struct, also one inside an unnamed struct or union, in bytes. */
	fieldOffset(struct: string, field: string): number | undefined {
		const member = this.#member(struct, field);
		return member && member.bits / 8;
	}

	/** Whether the struct has a field of this name, also one inside an unnamed struct or union. */
	hasField(struct: string, field: string): boolean {
		return this.#member(struct, field) !== undefined;
	}

	/** The name of the type behind typedefs and qualifiers of a field of a struct; '': it has none. */
	fieldType(struct: string, field: string): string | undefined {
		const member = this.#member(struct, field);
		return member && this.#string(this.#names[this.#resolve(member.type)] as number);
	}

	hasTypedef(name: string): boolean {
		return this.#find(name, KIND.typedef) !== undefined;
	}

	/** How many parameters the function has that a typedef points to; undefined: there is none. */
	parameterCount(name: string): number | undefined {
		const typedef = this.#find(name, KIND.typedef);
		if (typedef === undefined) return undefined;
		const pointer = this.#resolve(typedef);
		const prototype = this.#kind(pointer) === KIND.ptr ? this.#u32(this.#at(pointer) + 8) : 0;
		const id = this.#checked(prototype);
		return this.#kind(id) === KIND.funcProto ? this.#vlen(id) : undefined;
	}

	/** The values of the enum of this name, by name; those of 64 bits as signed numbers. */
	enumValues(name: string): Record<string, number> | undefined {
		const id = this.#find(name, KIND.enum) ?? this.#find(name, KIND.enum64);
		if (id === undefined) return undefined;
		const wide = this.#kind(id) === KIND.enum64;
		const values: Record<string, number> = {};
		for (let i = 0; i < this.#vlen(id); i++) {
			const at = this.#at(id) + 12 + i * (wide ? 12 : 8);
			const low = this.#u32(at + 4);
			const high = wide ? this.#data.getInt32(at + 8, true) : -(this.#flag(id) && low >>> 31);
			values[this.#string(this.#u32(at))] = high * 2 ** 32 + low;
		}
		return values;
	}

	/** The variables of a data section of an object, such as ".rodata". */
	section(name: string): Struct | undefined {
		const id = this.#find(name, KIND.datasec);
		if (id === undefined) return undefined;
		const fields: Field[] = [];
		for (let i = 0; i < this.#vlen(id); i++) {
			const at = this.#at(id) + 12 + i * 12;
			const variable = this.#checked(this.#u32(at));
			fields.push({
				name: this.#string(this.#u32(this.#at(variable))),
				offset_bytes: this.#u32(at + 4),
				size_bytes: this.#u32(at + 8),
			});
		}
		return { name, size_bytes: this.#u32(this.#at(id) + 8), fields };
	}

	#member(struct: string, field: string): Member | undefined {
		const id = this.#find(struct, KIND.struct);
		if (id === undefined) return undefined;
		for (const member of this.#members(id)) if (member.name === field) return member;
		return undefined;
	}

	/** With those of unnamed structs and unions in it. `seen`: these, as types may be their own parts. */
	*#members(id: number, begin_bits = 0, seen = new Set<number>()): Generator<Member> {
		if (seen.has(id) || seen.size === MAX_NESTED) return;
		seen.add(id);
		// With the flag the upper 8 bits are a bit-field's width.
		const bitFields = this.#flag(id) === 1;
		for (let i = 0; i < this.#vlen(id); i++) {
			const at = this.#at(id) + 12 + i * 12;
			const name = this.#string(this.#u32(at));
			const type = this.#checked(this.#u32(at + 4));
			const word = this.#u32(at + 8);
			const bits = begin_bits + (bitFields ? word & 0xffffff : word);
			if (name !== '') {
				yield { name, type, bits, width: bitFields ? word >>> 24 : 0 };
				continue;
			}
			const inner = this.#resolve(type);
			const kind = this.#kind(inner);
			if (kind === KIND.struct || kind === KIND.union) yield* this.#members(inner, bits, seen);
		}
	}

	#sizeOf(type: number): number {
		let count = 1;
		let id = this.#resolve(type);
		for (let depth = 0; depth < 32; depth++) {
			switch (this.#kind(id)) {
				case KIND.array: {
					const at = this.#at(id) + 12;
					count *= this.#u32(at + 8);
					id = this.#resolve(this.#u32(at));
					continue;
				}
				case KIND.ptr:
					return count * 8;
				default:
					return count * this.#u32(this.#at(id) + 8);
			}
		}
		throw new BtfError('types are nested too deeply');
	}

	/** Behind typedefs and qualifiers. */
	#resolve(type: number): number {
		let id = this.#checked(type);
		for (let depth = 0; depth < 32; depth++) {
			const kind = this.#kind(id);
			const named =
				kind === KIND.typedef ||
				kind === KIND.volatile ||
				kind === KIND.const ||
				kind === KIND.restrict ||
				kind === KIND.typeTag;
			if (!named) return id;
			id = this.#checked(this.#u32(this.#at(id) + 8));
		}
		throw new BtfError('types are nested too deeply');
	}

	#find(name: string, kind: number): number | undefined {
		const nameAt = this.#strings.indexOf(`\0${name}\0`) + 1;
		if (nameAt === 0) return undefined;
		for (let id = 0; ; ) {
			id = this.#names.indexOf(nameAt, id + 1);
			if (id < 0) return undefined;
			if (this.#kind(id) === kind) return id;
		}
	}

	#kind(id: number): number {
		return id === 0 ? 0 : (this.#u32(this.#at(id) + 4) >>> 24) & 0x1f;
	}

	#vlen(id: number): number {
		return this.#u32(this.#at(id) + 4) & 0xffff;
	}

	/** include/uapi/linux/btf.h, kind_flag: a struct has bit-fields, an enum has negative values. */
	#flag(id: number): number {
		return this.#u32(this.#at(id) + 4) >>> 31;
	}

	#at(id: number): number {
		return this.#offsets[id] as number;
	}

	#u32(at: number): number {
		return this.#data.getUint32(at, true);
	}

	#checked(id: number): number {
		if (id >= this.#offsets.length) throw new BtfError(`no type has the id ${id}`);
		return id;
	}

	#string(at: number): string {
		const name = this.#strings.subarray(at, at + MAX_NAME_BYTES);
		const end = name.indexOf(0);
		if (end < 0) throw new BtfError('a name is too long, or lies outside the file');
		return name.toString('utf8', 0, end);
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

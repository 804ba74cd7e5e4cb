/**
 * Reads BTF, the type information of the kernel and of BPF objects.
 * Source: Documentation/bpf/btf.rst. Every read is bounded; malformed input ends in a BtfError.
 */
import { subsetOf } from './btf-subset.js';
import { BtfError, BtfTypes, KIND } from './btf-types.js';

/** Unnamed structs and unions in one struct: task_struct has ten. */
const MAX_NESTED = 100;

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

/** What tools ask of types. */
export class Btf {
	readonly #types: BtfTypes;

	/** Takes raw BTF: a file of /sys/kernel/btf, or an object's .BTF section. Throws BtfError. */
	constructor(raw: Uint8Array) {
		this.#types = new BtfTypes(raw);
	}

	/** The struct of this name with all its fields; undefined when there is none. */
	struct(name: string): Struct | undefined {
		const id = this.#types.find(name, KIND.struct);
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
		return member && this.#types.name(this.#types.resolve(member.type));
	}

	hasTypedef(name: string): boolean {
		return this.#types.find(name, KIND.typedef) !== undefined;
	}

	/** How many parameters the function has that a typedef points to; undefined: there is none. */
	parameterCount(name: string): number | undefined {
		const typedef = this.#types.find(name, KIND.typedef);
		if (typedef === undefined) return undefined;
		const pointer = this.#types.resolve(typedef);
		const prototype =
			this.#types.kind(pointer) === KIND.ptr ? this.#types.u32(this.#types.at(pointer) + 8) : 0;
		const id = this.#types.checked(prototype);
		return this.#types.kind(id) === KIND.funcProto ? this.#types.vlen(id) : undefined;
	}

	/** The values of the enum of this name, by name; those of 64 bits as signed numbers. */
	enumValues(name: string): Record<string, number> | undefined {
		const id = this.#types.find(name, KIND.enum) ?? this.#types.find(name, KIND.enum64);
		if (id === undefined) return undefined;
		const wide = this.#types.kind(id) === KIND.enum64;
		const values: Record<string, number> = {};
		for (let i = 0; i < this.#types.vlen(id); i++) {
			const at = this.#types.at(id) + 12 + i * (wide ? 12 : 8);
			const low = this.#types.u32(at + 4);
			const high = wide ? this.#types.s32(at + 8) : -(this.#types.flag(id) && low >>> 31);
			values[this.#types.string(this.#types.u32(at))] = high * 2 ** 32 + low;
		}
		return values;
	}

	/** The variables of a data section of an object, such as ".rodata". */
	section(name: string): Struct | undefined {
		const id = this.#types.find(name, KIND.datasec);
		if (id === undefined) return undefined;
		const fields: Field[] = [];
		for (let i = 0; i < this.#types.vlen(id); i++) {
			const at = this.#types.at(id) + 12 + i * 12;
			const variable = this.#types.checked(this.#types.u32(at));
			fields.push({
				name: this.#types.string(this.#types.u32(this.#types.at(variable))),
				offset_bytes: this.#types.u32(at + 4),
				size_bytes: this.#types.u32(at + 8),
			});
		}
		return { name, size_bytes: this.#types.u32(this.#types.at(id) + 8), fields };
	}

	/**
	 * BTF of these types, and of what they contain, in parts; undefined: it lacks one of them. Throws BtfError.
	 */
	subset(names: readonly string[]): Uint8Array[] | undefined {
		return subsetOf(this.#types, names);
	}

	#member(struct: string, field: string): Member | undefined {
		const id = this.#types.find(struct, KIND.struct);
		if (id === undefined) return undefined;
		for (const member of this.#members(id)) if (member.name === field) return member;
		return undefined;
	}

	/** With those of unnamed structs and unions in it. `seen`: these, as types may be their own parts. */
	*#members(id: number, begin_bits = 0, seen = new Set<number>()): Generator<Member> {
		if (seen.has(id) || seen.size === MAX_NESTED) return;
		seen.add(id);
		// With the flag the upper 8 bits are a bit-field's width.
		const bitFields = this.#types.flag(id) === 1;
		for (let i = 0; i < this.#types.vlen(id); i++) {
			const at = this.#types.at(id) + 12 + i * 12;
			const name = this.#types.string(this.#types.u32(at));
			const type = this.#types.checked(this.#types.u32(at + 4));
			const word = this.#types.u32(at + 8);
			const bits = begin_bits + (bitFields ? word & 0xffffff : word);
			if (name !== '') {
				yield { name, type, bits, width: bitFields ? word >>> 24 : 0 };
				continue;
			}
			const inner = this.#types.resolve(type);
			const kind = this.#types.kind(inner);
			if (kind === KIND.struct || kind === KIND.union) yield* this.#members(inner, bits, seen);
		}
	}

	#sizeOf(type: number): number {
		let count = 1;
		let id = this.#types.resolve(type);
		for (let depth = 0; depth < 32; depth++) {
			switch (this.#types.kind(id)) {
				case KIND.array: {
					const at = this.#types.at(id) + 12;
					count *= this.#types.u32(at + 8);
					id = this.#types.resolve(this.#types.u32(at));
					continue;
				}
				case KIND.ptr:
					return count * 8;
				default:
					return count * this.#types.u32(this.#types.at(id) + 8);
			}
		}
		throw new BtfError('types are nested too deeply');
	}
}

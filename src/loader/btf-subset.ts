/**
 * The few types of the kernel that an object's programs refer to, as BTF of its own. libbpf looks through all of the
 * kernel's types for each one, 0.6 ms each; through these it looks in no time.
 */
import { type BtfTypes, KIND } from './btf-types.js';

const MAGIC = 0xeb9f;
const VERSION = 1;
const HEADER_BYTES = 24;
/** Of a type, before what follows by its kind. */
const HEAD_BYTES = 12;

/** Kinds that are nothing without the type that they name, at byte 8. */
const WRAPPING: ReadonlySet<number> = new Set([
	...[KIND.typedef, KIND.volatile, KIND.const, KIND.restrict, KIND.typeTag],
]);
/** Kinds that refer to no type. */
const PLAIN: ReadonlySet<number> = new Set([
	...[KIND.int, KIND.enum, KIND.enum64, KIND.fwd, KIND.float],
]);

/** By kind: bytes of each member or enum value. Its first four bytes say where its name begins. */
const NAMED_BYTES = new Map<number, number>([
	...([KIND.struct, KIND.union, KIND.enum64] as const).map((kind) => [kind, 12] as const),
	[KIND.enum, 8],
]);

/** The word for a kind of type, "struct". Enums of 32 and of 64 bits have the same, as libbpf takes one for the other. */
export function kindName(kind: number): string {
	if (kind === KIND.enum64) return 'enum';
	return Object.entries(KIND).find(([, each]) => each === kind)?.[0] ?? '';
}

/**
 * These types, "struct task_struct", and what they contain, but not what pointers point to: the place and the size of
 * a field do not depend on it. Undefined: one of them is not there. Throws BtfError.
 */
export function subsetOf(types: BtfTypes, names: readonly string[]): Uint8Array[] | undefined {
	const subset = new Subset(types);
	const wanted = names.map((each) => each.split(' '));
	for (const [i, named] of types.named(wanted.map(([, name = '']) => name)).entries()) {
		const kind = wanted[i]?.[0];
		const ids = named.filter((id) => subset.knows(id) && kindName(types.kind(id)) === kind);
		if (ids.length === 0) return undefined;
		for (const id of ids) subset.add(id);
	}
	return subset.written();
}

class Subset {
	readonly #types: BtfTypes;
	/** The new id of each type; 0: void, or not in it. */
	readonly #numbers: Uint32Array;
	/** The old ids, in the order of the new ones. */
	readonly #kept: number[] = [];

	constructor(types: BtfTypes) {
		this.#types = types;
		this.#numbers = new Uint32Array(types.count);
	}

	/** Whether a type is of a kind that is kept. */
	knows(id: number): boolean {
		const kind = this.#types.kind(id);
		return (
			PLAIN.has(kind) ||
			WRAPPING.has(kind) ||
			kind === KIND.ptr ||
			kind === KIND.array ||
			kind === KIND.struct ||
			kind === KIND.union
		);
	}

	/** Adds a type, and what it contains. Throws BtfError. */
	add(id: number): void {
		let next = this.#kept.length;
		this.#keep(id);
		for (; next < this.#kept.length; next++) {
			for (const at of this.#references(this.#kept[next] as number))
				this.#keep(this.#types.checked(this.#types.u32(at)));
		}
	}

	/** The parts of the BTF. Throws BtfError. */
	written(): Uint8Array[] {
		const parts = this.#kept.map((id) => this.#types.bytes(id));
		const bytes = parts.reduce((sum, { length }) => sum + length, 0);
		const head = new DataView(new ArrayBuffer(HEADER_BYTES + bytes));
		const all = new Uint8Array(head.buffer);
		let at = HEADER_BYTES;
		let lastName = 0;
		for (const [index, part] of parts.entries()) {
			const id = this.#kept[index] as number;
			all.set(part, at);
			const moved = at - this.#types.at(id);
			for (const place of this.#references(id, true)) {
				head.setUint32(moved + place, this.#numbers[this.#types.u32(place)] as number, true);
			}
			lastName = Math.max(lastName, this.#lastName(id));
			at += part.length;
		}
		const strings = this.#types.strings(lastName);
		head.setUint16(0, MAGIC, true);
		head.setUint8(2, VERSION);
		head.setUint32(4, HEADER_BYTES, true);
		head.setUint32(12, bytes, true);
		head.setUint32(16, bytes, true);
		head.setUint32(20, strings.length, true);
		return [all, strings];
	}

	#keep(id: number): void {
		if (this.#numbers[id] === 0 && this.knows(id)) this.#numbers[id] = this.#kept.push(id);
	}

	/** Where a type's bytes name the types that it contains; with `pointed`, also the one that it points to. */
	#references(id: number, pointed = false): number[] {
		const at = this.#types.at(id);
		const kind = this.#types.kind(id);
		if (WRAPPING.has(kind) || (pointed && kind === KIND.ptr)) return [at + 8];
		if (kind === KIND.array) return [at + HEAD_BYTES, at + HEAD_BYTES + 4];
		if (kind !== KIND.struct && kind !== KIND.union) return [];
		return Array.from(
			{ length: this.#types.vlen(id) },
			(_, member) => at + HEAD_BYTES + 12 * member + 4,
		);
	}

	/** Where the last of the names begins that belong to a type. */
	#lastName(id: number): number {
		const each = NAMED_BYTES.get(this.#types.kind(id)) ?? 0;
		const first = this.#types.at(id) + HEAD_BYTES;
		let last = this.#types.nameAt(id);
		for (let i = 0; each > 0 && i < this.#types.vlen(id); i++)
			last = Math.max(last, this.#types.u32(first + i * each));
		return last;
	}
}

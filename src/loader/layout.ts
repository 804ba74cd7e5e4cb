/** What the build reads out of an object's BTF: see scripts/layouts.ts, src/generated. */

export interface FieldLayout {
	readonly offset: number;
	readonly size: number;
	/** Of a bit-field: its first bit, from `offset` on. */
	readonly bit?: number;
}

export interface StructLayout {
	readonly size: number;
	readonly fields: Readonly<Record<string, FieldLayout>>;
}

/** A struct with these fields, and perhaps others. */
export type StructWith<N extends string> = StructLayout & {
	readonly fields: Readonly<Record<N, FieldLayout>>;
};

export interface MapLayout {
	readonly keySize: number;
	readonly valueSize: number;
}

/** The types, variables, maps and programs of one BPF object. */
export interface ObjectLayout {
	readonly name: string;
	readonly structs: Readonly<Record<string, StructLayout>>;
	readonly enums: Readonly<Record<string, Readonly<Record<string, number>>>>;
	readonly sections: Readonly<Record<string, StructLayout>>;
	readonly maps: Readonly<Record<string, MapLayout>>;
	readonly programs: readonly string[];
	/** Names of the kernel's types that the programs refer to; undefined: nobody has looked. */
	readonly kernelTypes?: readonly string[];
}

/** A u64 as a number: exact below 2^53, which in nanoseconds is 104 days. */
export function readU64(view: DataView, offset: number): number {
	return view.getUint32(offset, true) + view.getUint32(offset + 4, true) * 2 ** 32;
}

/** Structs as programs write them, by their layouts in BTF. */

interface Struct {
	readonly size: number;
	readonly fields: Readonly<Record<string, { readonly offset: number; readonly size: number }>>;
}

/** Numbers, names and bytes by field; whatever is not given is 0. */
export type Fields<S extends Struct> = {
	readonly [Name in keyof S['fields']]?: number | bigint | string | Uint8Array;
};

/** Writes the fields into the struct that begins at `at`. */
export function write<S extends Struct>(
	{ fields }: S,
	view: DataView,
	at: number,
	values: Fields<S>,
): void {
	for (const [name, value] of Object.entries(values) as [
		string,
		number | bigint | string | Uint8Array,
	][]) {
		const { offset, size } = fields[name] as { offset: number; size: number };
		if (value instanceof Uint8Array)
			new Uint8Array(view.buffer, view.byteOffset + at + offset, size).set(value);
		else if (typeof value === 'string')
			Buffer.from(view.buffer, view.byteOffset + at + offset, size).write(value);
		else if (size === 8) view.setBigUint64(at + offset, BigInt(value), true);
		else if (size === 4) view.setUint32(at + offset, Number(value) >>> 0, true);
		else if (size === 2) view.setUint16(at + offset, Number(value), true);
		else view.setUint8(at + offset, Number(value));
	}
}

/** One behind the other. */
export function structs<S extends Struct>(struct: S, all: readonly Fields<S>[]): DataView {
	const view = new DataView(new ArrayBuffer(struct.size * all.length));
	for (const [i, values] of all.entries()) write(struct, view, i * struct.size, values);
	return view;
}

/** Arrays of numbers that grow. */

type Numbers = Int32Array | Uint32Array | Float64Array | Uint8Array;

/** The array itself, or where it is shorter a longer copy, at least twice as long. */
export function grown<T extends Numbers>(array: T, length: number): T {
	if (array.length >= length) return array;
	const Type = array.constructor as new (length: number) => T;
	const longer = new Type(Math.max(length, 2 * array.length));
	longer.set(array);
	return longer;
}

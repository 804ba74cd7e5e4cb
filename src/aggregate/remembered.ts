/** Asks once what is asked again and again. */

/**
 * A function that asks `of` once for each key. It remembers `most` of them, and then begins anew; without
 * that it forgets none: for keys of one result.
 */
export function remembered<Key, Value>(
	of: (key: Key) => Value,
	most = Number.POSITIVE_INFINITY,
): (key: Key) => Value {
	const known = new Map<Key, Value>();
	return (key) => {
		let value = known.get(key);
		if (value === undefined) {
			value = of(key);
			if (known.size >= most) known.clear();
			known.set(key, value);
		}
		return value;
	};
}

/** Asks once what is asked again and again. */

/** A function that asks `of` once for each key. It forgets none: for keys of one result. */
export function remembered<Key, Value>(of: (key: Key) => Value): (key: Key) => Value {
	const known = new Map<Key, Value>();
	return (key) => {
		let value = known.get(key);
		if (value === undefined) {
			value = of(key);
			known.set(key, value);
		}
		return value;
	};
}

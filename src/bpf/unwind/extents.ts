/** Room that is given out in pieces and taken back, such as elements of an array. Pure. */

interface Extent {
	first: number;
	count: number;
}

export class Extents {
	/** What is free, ascending; no two of them touch. */
	readonly #free: Extent[];

	/** `size` elements are there, all of them free. */
	constructor(size: number) {
		this.#free = [{ first: 0, count: size }];
	}

	/** `count` elements in a row, the number of the first; undefined when there is no such room. */
	take(count: number): number | undefined {
		const index = this.#free.findIndex((extent) => extent.count >= count);
		const extent = this.#free[index];
		if (!extent) return undefined;
		const { first } = extent;
		extent.first += count;
		extent.count -= count;
		if (extent.count === 0) this.#free.splice(index, 1);
		return first;
	}

	/** Takes back what `take` gave out. */
	give(first: number, count: number): void {
		const found = this.#free.findIndex((extent) => extent.first > first);
		const index = found < 0 ? this.#free.length : found;
		const before = this.#free[index - 1];
		const after = this.#free[index];
		const joinsBefore = before !== undefined && before.first + before.count === first;
		const joinsAfter = after !== undefined && first + count === after.first;
		if (joinsBefore) before.count += count + (joinsAfter ? after.count : 0);
		else if (joinsAfter) {
			after.first = first;
			after.count += count;
		} else this.#free.splice(index, 0, { first, count });
		if (joinsBefore && joinsAfter) this.#free.splice(index, 1);
	}
}

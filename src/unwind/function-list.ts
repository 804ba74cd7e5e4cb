/** Functions with their instructions, in the order of their addresses. Numbers, no objects. */

/** libjvm has 34,000, node 100,000, Chromium a million. */
const MAX_FUNCTIONS = 2 ** 21;
const FIELDS = 5;

/** Offsets in the file, then in the section with the instructions; and which CIE. */
type FunctionVisitor = (
	start: number,
	end: number,
	from: number,
	to: number,
	common: number,
) => void;

export class FunctionList {
	#fields = new Uint32Array(1024 * FIELDS);
	#count = 0;
	/** They were added in the order of their addresses. */
	#isSorted = true;

	/** False when there is no room. */
	add(start: number, end: number, from: number, to: number, common: number): boolean {
		if (this.#count === MAX_FUNCTIONS) return false;
		const at = this.#count * FIELDS;
		if (at > 0 && (this.#fields[at - FIELDS] as number) > start) this.#isSorted = false;
		if (at === this.#fields.length) this.#grow();
		const fields = this.#fields;
		fields[at] = start;
		fields[at + 1] = end;
		fields[at + 2] = from;
		fields[at + 3] = to;
		fields[at + 4] = common;
		this.#count++;
		return true;
	}

	/** Begins again, in the same memory. */
	clear(): void {
		this.#count = 0;
		this.#isSorted = true;
	}

	/**
	 * Visits each. Where two overlap, the one that begins later has what they share, as in libgcc's
	 * search; of those that begin at the same place only the first that was added is visited.
	 */
	visit(visitor: FunctionVisitor): void {
		const order = this.#isSorted ? undefined : this.#order();
		const fields = this.#fields;
		for (let i = 0; i < this.#count; ) {
			const at = (order ? (order[i] as number) : i) * FIELDS;
			const start = fields[at] as number;
			let next = start;
			for (i++; i < this.#count && next === start; i++) {
				next = fields[(order ? (order[i] as number) : i) * FIELDS] as number;
			}
			if (next !== start) i--;
			const ownEnd = fields[at + 1] as number;
			const end = next > start ? Math.min(ownEnd, next) : ownEnd;
			const [from, to] = [fields[at + 2] as number, fields[at + 3] as number];
			visitor(start, end, from, to, fields[at + 4] as number);
		}
	}

	/** Their numbers, by address and then as they were added. */
	#order(): Uint32Array {
		// Address and number together are exact: 32 and 21 bits.
		const keys = new Float64Array(this.#count);
		for (let i = 0; i < keys.length; i++) {
			keys[i] = (this.#fields[i * FIELDS] as number) * MAX_FUNCTIONS + i;
		}
		return Uint32Array.from(keys.sort(), (key) => key % MAX_FUNCTIONS);
	}

	#grow(): void {
		const fields = new Uint32Array(this.#fields.length * 2);
		fields.set(this.#fields);
		this.#fields = fields;
	}
}

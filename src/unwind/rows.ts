/** Rows of a table: from which place in the file on which rule holds. Numbers, no objects. */
import { GAP_RULE, UNKNOWN_RULE } from './rule.js';

/** Node 26 has 728,000; what holds more has been made up, or is a browser with its debug files. */
const MAX_ROWS = 2 ** 23;

/** A row holds until the next one begins; in front of the first is a gap. */
export interface Rows {
	/** Offsets in the file, ascending. */
	readonly addresses: Uint32Array;
	/** Numbers of rules. */
	readonly rules: Uint16Array;
}

/** Rows that are added in the order of their addresses. */
export class RowList {
	#addresses = new Uint32Array(1024);
	#rules = new Uint16Array(1024);
	#count = 0;
	#isExceeded = false;

	/** There was no room for all: the rule is unknown from there on. */
	get isExceeded(): boolean {
		return this.#isExceeded;
	}

	/** From this offset on, which no row is behind; of two at the same offset the later one counts. */
	add(offset: number, rule: number): void {
		if (this.#isExceeded) return;
		if (this.#count > 0 && this.#addresses[this.#count - 1] === offset) this.#count--;
		const before = this.#count === 0 ? GAP_RULE : this.#rules[this.#count - 1];
		if (before === rule) return;
		if (this.#count === this.#addresses.length) this.#grow();
		this.#isExceeded = this.#count === MAX_ROWS;
		this.#addresses[this.#count] = offset;
		this.#rules[this.#count++] = this.#isExceeded ? UNKNOWN_RULE : rule;
	}

	/** Those there are, until `clear`. */
	rows(): Rows {
		return {
			addresses: this.#addresses.subarray(0, this.#count),
			rules: this.#rules.subarray(0, this.#count),
		};
	}

	/** Begins again, in the same memory. */
	clear(): void {
		this.#count = 0;
		this.#isExceeded = false;
	}

	#grow(): void {
		const addresses = new Uint32Array(this.#count * 2);
		const rules = new Uint16Array(this.#count * 2);
		addresses.set(this.#addresses);
		rules.set(this.#rules);
		this.#addresses = addresses;
		this.#rules = rules;
	}
}

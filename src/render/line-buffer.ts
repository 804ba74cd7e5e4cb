/** Lines of text in bytes, for so many that a string for each part would take too long. */
const SPACE = 0x20;
const ZERO = 0x30;
const POINT = 0x2e;
const NEWLINE = 0x0a;

export class LineBuffer {
	#bytes: Uint8Array;
	#length = 0;

	/** Makes room for `bytes`; more is made when need be, before each line. */
	constructor(bytes: number) {
		this.#bytes = new Uint8Array(bytes);
	}

	get length(): number {
		return this.#length;
	}

	/** What was written since `clear`, in place. */
	bytes(): Uint8Array {
		return this.#bytes.subarray(0, this.#length);
	}

	clear(): void {
		this.#length = 0;
	}

	/** Makes sure that there is room for a line of so many bytes. */
	room(bytes: number): void {
		if (this.#length + bytes <= this.#bytes.length) return;
		const larger = new Uint8Array(2 * this.#bytes.length + bytes);
		larger.set(this.bytes());
		this.#bytes = larger;
	}

	/** Bytes as they are. */
	add(text: Uint8Array): void {
		const bytes = this.#bytes;
		let at = this.#length;
		// A loop: short texts are copied before `set` has begun.
		for (let i = 0; i < text.length; i++) bytes[at++] = text[i] as number;
		this.#length = at;
	}

	byte(byte: number): void {
		this.#bytes[this.#length++] = byte;
	}

	spaces(count: number): void {
		for (let i = 0; i < count; i++) this.#bytes[this.#length++] = SPACE;
	}

	newline(): void {
		this.#bytes[this.#length++] = NEWLINE;
	}

	/** A whole number from 0 on, padded on the left. */
	whole(value: number, width: number, padding = SPACE): void {
		let digits = 1;
		for (let limit = 10; value >= limit; limit *= 10) digits++;
		for (let i = digits; i < width; i++) this.#bytes[this.#length++] = padding;
		let rest = value;
		for (let at = this.#length + digits - 1; at >= this.#length; at--) {
			const tenth = Math.floor(rest / 10);
			this.#bytes[at] = ZERO + (rest - tenth * 10);
			rest = tenth;
		}
		this.#length += digits;
	}

	/** Thousandths of a whole number, with a point: 1234567 is "1234.567". */
	thousandths(value: number, width: number): void {
		const whole = Math.floor(value / 1000);
		this.whole(whole, width - 4);
		this.byte(POINT);
		this.whole(value - whole * 1000, 3, ZERO);
	}

	/** Millionths likewise. */
	millionths(value: number, width: number, padding = SPACE): void {
		const whole = Math.floor(value / 1e6);
		this.whole(whole, width - 7, padding);
		this.byte(POINT);
		this.whole(value - whole * 1e6, 6, ZERO);
	}
}

/** Lines of text in bytes, for so many that a string for each part would take too long. */
const SPACE = 0x20;
const ZERO = 0x30;
const POINT = 0x2e;
const COLON = 0x3a;
const DAY_US = 86_400e6;
const NEWLINE = 0x0a;
const MINUS = 0x2d;
const LETTER_X = 0x78;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const HEX = new TextEncoder().encode('0123456789abcdef');
/** By byte: what follows a backslash; 0: it has no letter; PLAIN: it needs no backslash. */
const LETTERS = new Uint8Array(256);
const PLAIN = 1;
LETTERS.fill(PLAIN, SPACE, 0x7f);
for (const [byte, letter] of [
	[0x09, 't'],
	[0x0a, 'n'],
	[0x0b, 'v'],
	[0x0c, 'f'],
	[0x0d, 'r'],
	[QUOTE, '"'],
	[BACKSLASH, '\\'],
] as const)
	LETTERS[byte] = letter.charCodeAt(0);

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

	/** "15:04:05.000123": of a moment in whole µs since midnight of some day, by the clock on the wall. */
	timeOfDay(local_us: number): void {
		const day_us = local_us % DAY_US;
		const minute = Math.floor(day_us / 60e6);
		this.whole(Math.floor(minute / 60), 2, ZERO);
		this.byte(COLON);
		this.whole(minute % 60, 2, ZERO);
		this.byte(COLON);
		this.millionths(day_us - minute * 60e6, 9, ZERO);
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

	/** A number of 64 bits, given in two halves, with its sign. */
	signed64(low: number, high: number): void {
		if (high >>> 31 === 0) {
			this.unsigned64(low, high);
			return;
		}
		this.byte(MINUS);
		const negated = (~low + 1) >>> 0;
		this.unsigned64(negated, (~high + (negated === 0 ? 1 : 0)) >>> 0);
	}

	/** A number of 64 bits, given in two halves. */
	unsigned64(low: number, high: number): void {
		const value = (high >>> 0) * 2 ** 32 + (low >>> 0);
		if (Number.isSafeInteger(value)) this.whole(value, 1);
		else
			for (const digit of `${(BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)}`)
				this.byte(digit.charCodeAt(0));
	}

	/** The same with 0x in front. */
	hex64(low: number, high: number): void {
		this.byte(ZERO);
		this.byte(LETTER_X);
		if (high !== 0) this.hexDigits(high, 1);
		this.hexDigits(low, high !== 0 ? 8 : 1);
	}

	/** Digits of a number of 32 bits, at least so many. */
	hexDigits(value: number, least: number): void {
		let digits = least;
		while (digits < 8 && value >>> (4 * digits) !== 0) digits++;
		for (let i = digits - 1; i >= 0; i--)
			this.#bytes[this.#length++] = HEX[(value >>> (4 * i)) & 15] as number;
	}

	/** A number of 32 bits in base 8, with a 0 in front. */
	octal(value: number): void {
		this.byte(ZERO);
		let digits = 0;
		while (digits < 11 && value >>> (3 * digits) !== 0) digits++;
		for (let i = digits - 1; i >= 0; i--) this.byte(ZERO + ((value >>> (3 * i)) & 7));
	}

	/**
	 * Bytes of a stranger's as they are where they are printable ASCII; others as in C: "\\n", "\\0", "\\377". At most
	 * four bytes are written for each.
	 */
	escaped(bytes: Uint8Array, from: number, length: number): void {
		for (let i = from; i < from + length; i++) {
			const byte = bytes[i] as number;
			const letter = LETTERS[byte] as number;
			if (letter === PLAIN) this.#bytes[this.#length++] = byte;
			else if (letter !== 0) this.#backslash(letter);
			else this.#escapedOctal(byte, i + 1 < from + length ? (bytes[i + 1] as number) : 0);
		}
	}

	#backslash(letter: number): void {
		this.byte(BACKSLASH);
		this.byte(letter);
	}

	/** With three digits where a digit follows, which would be taken for one of them. */
	#escapedOctal(byte: number, next: number): void {
		const isThree = next >= ZERO && next <= ZERO + 9;
		this.byte(BACKSLASH);
		if (isThree || byte > 0o77) this.byte(ZERO + (byte >> 6));
		if (isThree || byte > 0o7) this.byte(ZERO + ((byte >> 3) & 7));
		this.byte(ZERO + (byte & 7));
	}
}

/**
 * The kernel's symbols: its own, its modules', its BPF programs'.
 * Source: /proc/kallsyms (man 5 proc; kernel/kallsyms.c), "address type name [module]" in lines.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { firstAtLeast } from '../../ascending.js';
import { boundedName } from '../../bounded-names.js';
import type { Address } from '../../loader/signed-address.js';

const KALLSYMS = '/proc/kallsyms';
const CHUNK_BYTES = 1 << 16;
const NEWLINE = 0x0a;
const SPACE = 0x20;
/** Sixteen digits, a type, a name of one letter, the end. */
const MIN_LINE_BYTES = 21;
/** Where in a line the name begins. */
const NAME_AT = 19;
/** A line is at most 16 digits, a type, KSYM_NAME_LEN (512) and a module's name. */
const MAX_LINE_BYTES = 1024;
/** No function is larger; beyond that an address lies in a gap, behind the last symbol in front. */
const MAX_SYMBOL_BYTES = 2 ** 24;

interface KernelNames {
	/** One for each address. */
	readonly names: ReadonlyArray<string | undefined>;
	/** There are names, but no addresses: this process may not see them. */
	readonly hidden: boolean;
}

/** The names of the functions that these addresses, in ascending order, lie in. */
export function kernelNames(
	wanted: Float64Array,
	text: Iterable<Buffer> = kallsyms(),
): KernelNames {
	const search = new Search(wanted);
	for (const chunk of text) search.read(chunk);
	return search.end();
}

/**
 * Looks all addresses up while the symbols go by: they are megabytes, in no order, and of all the
 * kernel's functions few are ever on a stack.
 */
class Search {
	readonly #wanted: Float64Array;
	/** For each address the nearest symbol at or before it, as far as read. */
	readonly #starts: Float64Array;
	readonly #ranks: Uint8Array;
	readonly #names: Array<string | undefined>;
	/** Of the piece that is read: the lines with the nearest symbols so far, by the addresses that they are for. */
	readonly #lines = new Map<number, { readonly at: number; readonly end: number }>();
	#rest: Buffer = Buffer.alloc(0);
	#addresses = 0;
	#zeros = 0;

	constructor(wanted: Float64Array) {
		this.#wanted = wanted;
		this.#starts = new Float64Array(wanted.length).fill(Number.NEGATIVE_INFINITY);
		this.#ranks = new Uint8Array(wanted.length);
		this.#names = new Array(wanted.length);
	}

	read(chunk: Buffer): void {
		const text = Buffer.concat([this.#rest, chunk]);
		let at = 0;
		for (;;) {
			const end = text.indexOf(NEWLINE, at);
			if (end < 0) break;
			this.#line(text, at, end);
			at = end + 1;
		}
		this.#nameNearest(text);
		// A line that goes on is kept, unless no line is that long.
		this.#rest = text.length - at > MAX_LINE_BYTES ? Buffer.alloc(0) : text.subarray(at);
	}

	end(): KernelNames {
		this.#line(this.#rest, 0, this.#rest.length);
		this.#nameNearest(this.#rest);
		for (let i = 0; i < this.#wanted.length; i++) {
			// With no symbol between it and the address before, both lie behind the same one.
			if (this.#starts[i] === Number.NEGATIVE_INFINITY && i > 0) {
				this.#starts[i] = this.#starts[i - 1] as number;
				this.#names[i] = this.#names[i - 1];
			}
		}
		const names = this.#names.map((name, i) =>
			(this.#wanted[i] as number) - (this.#starts[i] as number) < MAX_SYMBOL_BYTES
				? name
				: undefined,
		);
		return { names, hidden: this.#addresses === 0 && this.#zeros > 0 };
	}

	#line(text: Buffer, at: number, end: number): void {
		if (!isWellFormed(text, at, end)) return;
		const upper = hex(text, at, at + 8);
		const lower = hex(text, at + 8, at + 16);
		// As signed numbers; what is below are offsets of per-CPU data.
		if (upper >= 2 ** 31) this.#symbol((upper - 2 ** 32) * 2 ** 32 + lower, text, at, end);
		else if (upper === 0 && lower === 0) this.#zeros++;
	}

	#symbol(start: Address, text: Buffer, at: number, end: number): void {
		this.#addresses++;
		const i = firstAtLeast(this.#wanted, start);
		if (i === this.#wanted.length || start < (this.#starts[i] as number)) return;
		const rank = rankOf(text, at);
		if (start === this.#starts[i] && rank > (this.#ranks[i] as number)) return;
		this.#starts[i] = start;
		this.#ranks[i] = rank;
		this.#lines.set(i, { at, end });
	}

	/** Of thousands of symbols, each nearer to an address than the one before, only the last one's name is read. */
	#nameNearest(text: Buffer): void {
		for (const [i, { at, end }] of this.#lines) this.#names[i] = nameIn(text, at, end);
		this.#lines.clear();
	}
}

/** Piece by piece; nothing where it cannot be read. */
function* kallsyms(): Generator<Buffer> {
	let fd: number;
	try {
		fd = openSync(KALLSYMS, 'r');
	} catch {
		return;
	}
	try {
		const chunk = Buffer.alloc(CHUNK_BYTES);
		for (;;) {
			const length = readSync(fd, chunk);
			if (length === 0) return;
			yield chunk.subarray(0, length);
		}
	} finally {
		closeSync(fd);
	}
}

/** Of aliases, the least: functions before data, global before local, few underscores. */
function rankOf(text: Buffer, at: number): number {
	const type = String.fromCharCode(text[at + NAME_AT - 2] as number);
	const ranks: Record<string, number> = { T: 0, W: 1, t: 2, w: 2 };
	const rank = ranks[type] ?? 100;
	if (text[at + NAME_AT] !== 0x5f) return rank;
	// System calls that 32-bit programs share have a name for them, too.
	return text.toString('latin1', at + NAME_AT, at + NAME_AT + 7) === '__ia32_'
		? rank + 11
		: rank + 10;
}

function nameIn(text: Buffer, lineAt: number, end: number): string {
	const at = lineAt + NAME_AT;
	let nameEnd = at;
	while (nameEnd < end && (text[nameEnd] as number) > SPACE) nameEnd++;
	const name = boundedName(text.toString('utf8', at, nameEnd));
	// CONFIG_CALL_PADDING: space in front of a function, which none runs in. An interrupted function's
	// very first instruction is looked for there, since a return address lies behind its call.
	return name.startsWith('__pfx_') ? name.slice('__pfx_'.length) : name;
}

/** "ffffffff81000000 T _stext": the digits are always as many as a pointer's. */
function isWellFormed(text: Buffer, at: number, end: number): boolean {
	const length = end - at;
	if (length < MIN_LINE_BYTES - 1 || length > MAX_LINE_BYTES) return false;
	const spaced = text[at + 16] === SPACE && text[at + 18] === SPACE;
	return spaced && (text[at + NAME_AT] as number) > SPACE;
}

/** NaN when there is anything else. */
function hex(text: Buffer, from: number, to: number): number {
	let value = 0;
	for (let at = from; at < to; at++) {
		const byte = text[at] as number;
		if (byte >= 0x30 && byte <= 0x39) value = value * 16 + byte - 0x30;
		else if (byte >= 0x61 && byte <= 0x66) value = value * 16 + byte - 0x57;
		else return Number.NaN;
	}
	return value;
}

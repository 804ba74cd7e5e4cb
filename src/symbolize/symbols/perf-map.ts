/**
 * Perf maps, in which a run-time compiler says what it put where: "START SIZE name" in lines, both
 * in hexadecimal. Where lines overlap, the later one counts, as code is moved and memory used again.
 * Source: tools/perf/Documentation/jit-interface.txt in the kernel's tree.
 */

import { firstAtLeast } from '../../ascending.js';
import { boundedName, MAX_NAME_LENGTH } from '../../bounded-names.js';
import type { Bytes } from '../../elf/bytes.js';

const MAX_FILE_BYTES = 256 * 2 ** 20;
const MAX_LINES = 4_000_000;
const PART_BYTES = 2 ** 20;
/** No function is larger; a line that says so is wrong. */
const MAX_FUNCTION_BYTES = 64 * 2 ** 20;
/** START and SIZE with their spaces, and no more of the name than is kept. */
const MAX_LINE_BYTES = 64 + MAX_NAME_LENGTH;

export interface PerfMapNames {
	/** The name of each address, in their order. */
	readonly names: (string | undefined)[];
	/** The file is longer than what is read of it. */
	readonly cut: boolean;
}

/** A line that says something of an address; its name is read when it is known to count. */
interface Range {
	readonly start: number;
	readonly end: number;
	readonly nameOffset: number;
	readonly nameBytes: number;
}

/**
 * Finds the addresses (ascending, each once) in a perf map; reads it once, and keeps no more of it
 * than what the addresses need. Throws SymbolError when it cannot be read.
 */
export function searchPerfMap(file: Bytes, wanted: Float64Array): PerfMapNames {
	const size = Math.min(file.size_bytes, MAX_FILE_BYTES);
	let ranges: Range[] = [];
	let lines = 0;
	let at = 0;
	while (at < size && lines < MAX_LINES) {
		const part = file.read(at, Math.min(PART_BYTES, size - at));
		let begin = 0;
		for (let end = part.indexOf(10); end >= 0; end = part.indexOf(10, begin)) {
			const range = parseLine(part, begin, end, at);
			if (range && covers(range, wanted)) ranges.push(range);
			begin = end + 1;
			lines++;
		}
		// The last line may not be complete yet; one that fills a whole part is none.
		at += begin || part.length;
		if (begin === 0 && part.length < PART_BYTES) break;
		if (ranges.length > 2 * wanted.length + 4096) {
			const counting = new Set(latest(ranges, wanted));
			ranges = ranges.filter((range) => counting.has(range));
		}
	}
	const names = latest(ranges, wanted).map((range) => range && nameOf(file, range));
	return { names, cut: lines >= MAX_LINES || file.size_bytes > size };
}

function covers({ start, end }: Range, wanted: Float64Array): boolean {
	const next = wanted[firstAtLeast(wanted, start)];
	return next !== undefined && next < end;
}

/** For each address the last of the ranges that it lies in. */
function latest(ranges: readonly Range[], wanted: Float64Array) {
	const found: (Range | undefined)[] = new Array(wanted.length).fill(undefined);
	// From the end, so that an address is given once; `next` leads past those that were.
	const next = Uint32Array.from({ length: wanted.length + 1 }, (_, i) => i);
	const free = (from: number): number => {
		let i = from;
		while (next[i] !== i) {
			next[i] = next[next[i] as number] as number;
			i = next[i] as number;
		}
		return i;
	};
	for (let r = ranges.length - 1; r >= 0; r--) {
		const range = ranges[r] as Range;
		let i = free(firstAtLeast(wanted, range.start));
		while (i < wanted.length && (wanted[i] as number) < range.end) {
			found[i] = range;
			next[i] = i + 1;
			i = free(i + 1);
		}
	}
	return found;
}

function parseLine(part: Buffer, begin: number, end: number, at: number): Range | undefined {
	const start = hexAt(part, begin, end);
	if (!start) return undefined;
	const size = hexAt(part, start.next, end);
	if (!size || size.value === 0 || size.value > MAX_FUNCTION_BYTES) return undefined;
	const nameBytes = Math.min(end - size.next, MAX_LINE_BYTES);
	if (nameBytes <= 0) return undefined;
	return {
		start: start.value,
		end: start.value + size.value,
		nameOffset: at + size.next,
		nameBytes,
	};
}

/** A number with its space; `next` is what follows. */
function hexAt(part: Buffer, begin: number, end: number) {
	let value = 0;
	let at = begin;
	// "0x" is in front in what some write.
	if (part[at] === 0x30 && part[at + 1] === 0x78) at += 2;
	const first = at;
	for (; at < end && at - first < 16; at++) {
		const digit = hexDigit(part[at] as number);
		if (digit < 0) break;
		value = value * 16 + digit;
	}
	const complete = at > first && at < end && part[at] === 0x20;
	return complete && value <= Number.MAX_SAFE_INTEGER ? { value, next: at + 1 } : undefined;
}

function hexDigit(byte: number): number {
	if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
	const lower = byte | 0x20;
	return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

function nameOf(file: Bytes, range: Range): string {
	return boundedName(file.read(range.nameOffset, range.nameBytes).toString('utf8').trimEnd());
}

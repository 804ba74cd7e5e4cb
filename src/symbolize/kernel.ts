/**
 * The kernel's symbols: its own, its modules', its BPF programs'.
 * Source: /proc/kallsyms (man 5 proc; kernel/kallsyms.c), "address type name [module]" in lines.
 */
import { readFileSync } from 'node:fs';
import type { Address } from '../loader/address.js';
import { boundedName } from './names.js';
import { firstAtLeast } from './symbol-search.js';

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

/** Where a symbol begins, and the first address behind it. */
export interface AddressRange {
	readonly start: Address;
	readonly end: Address;
}

export class KernelSymbols {
	/** There are names, but no addresses: this process may not see them. */
	readonly hidden: boolean;
	readonly #text: Buffer;
	/** Ascending; and where each one's line begins, and its name. */
	readonly #addresses: Float64Array;
	readonly #nameOffsets: Uint32Array;

	/** Takes what /proc/kallsyms says. Lines that are malformed are left out. */
	constructor(text: Buffer) {
		this.#text = text;
		const { addresses, nameOffsets, hidden } = parse(text);
		this.hidden = hidden;
		this.#addresses = addresses.slice();
		this.#nameOffsets = nameOffsets.slice();
		// Modules are not in order, but each of them is: an array's sort makes use of that.
		const order = [...addresses.keys()];
		order.sort((a, b) => (addresses[a] as number) - (addresses[b] as number));
		for (let i = 0; i < order.length; i++) {
			this.#addresses[i] = addresses[order[i] as number] as number;
			this.#nameOffsets[i] = nameOffsets[order[i] as number] as number;
		}
	}

	/** Those of the running kernel; none where it has no /proc/kallsyms. */
	static read(): KernelSymbols {
		try {
			return new KernelSymbols(readFileSync('/proc/kallsyms'));
		} catch {
			return new KernelSymbols(Buffer.alloc(0));
		}
	}

	/** The name of the function that the address lies in. */
	nameOf(address: Address): string | undefined {
		const i = firstAtLeast(this.#addresses, address + 1) - 1;
		const start = this.#addresses[i];
		if (start === undefined || address - start > MAX_SYMBOL_BYTES) return undefined;
		let best: string | undefined;
		let bestRank = Infinity;
		for (let alias = i; this.#addresses[alias] === start; alias--) {
			const rank = this.#rank(alias);
			if (rank <= bestRank) {
				best = this.#name(alias);
				bestRank = rank;
			}
		}
		return best;
	}

	/** Whether a function begins there. */
	isStart(address: Address): boolean {
		return this.#addresses[firstAtLeast(this.#addresses, address)] === address;
	}

	/** What the function of this name takes up; of several, the first. Undefined without one. */
	range(name: string): AddressRange | undefined {
		for (let i = 0; i < this.#addresses.length; i++) {
			if (!this.#isNamed(i, name)) continue;
			const start = this.#addresses[i] as number;
			const next = this.#addresses[firstAtLeast(this.#addresses, start + 1)];
			return { start, end: Math.min(next ?? Infinity, start + MAX_SYMBOL_BYTES) };
		}
		return undefined;
	}

	/** Of aliases: functions before data, global before local, few underscores. */
	#rank(i: number): number {
		const at = this.#nameOffsets[i] as number;
		const type = String.fromCharCode(this.#text[at - 2] as number);
		const ranks: Record<string, number> = { T: 0, W: 1, t: 2, w: 2 };
		const rank = ranks[type] ?? 100;
		if (this.#text[at] !== 0x5f) return rank;
		// System calls that 32-bit programs share have a name for them, too.
		return this.#name(i).startsWith('__ia32_') ? rank + 11 : rank + 10;
	}

	#name(i: number): string {
		const at = this.#nameOffsets[i] as number;
		let end = at;
		while (end < this.#text.length && (this.#text[end] as number) > SPACE) end++;
		return boundedName(this.#text.toString('utf8', at, end));
	}

	#isNamed(i: number, name: string): boolean {
		const at = this.#nameOffsets[i] as number;
		// The first letter first: a comparison of 100,000 names without a string for each.
		return this.#text[at] === name.charCodeAt(0) && this.#name(i) === name;
	}
}

function parse(text: Buffer) {
	const most = Math.ceil(text.length / MIN_LINE_BYTES);
	const addresses = new Float64Array(most);
	const nameOffsets = new Uint32Array(most);
	let count = 0;
	let zeros = 0;
	for (let at = 0; at < text.length; ) {
		const newline = text.indexOf(NEWLINE, at);
		const end = newline < 0 ? text.length : newline;
		if (isWellFormed(text, at, end)) {
			const upper = hex(text, at, at + 8);
			const lower = hex(text, at + 8, at + 16);
			// As signed numbers; what is below are offsets of per-CPU data.
			if (upper >= 2 ** 31) {
				addresses[count] = (upper - 2 ** 32) * 2 ** 32 + lower;
				nameOffsets[count++] = at + NAME_AT;
			} else if (upper === 0 && lower === 0) {
				zeros++;
			}
		}
		at = end + 1;
	}
	return {
		addresses: addresses.subarray(0, count),
		nameOffsets: nameOffsets.subarray(0, count),
		hidden: count === 0 && zeros > 0,
	};
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

/** What runs, in front of the traced function, because it is traced. */
const OWN_FRAMES = new RegExp(
	`^(${[
		'bpf_prog_',
		'bpf_trace_run\\d',
		'__bpf_trace_',
		'__traceiter_',
		'bpf_trampoline_',
		'_*bpf_get_(task_)?stack',
		'_*bpf_prog_',
		'bpf_dispatcher_',
		'bpf_overflow_handler',
		'bpf_iter_',
		'bpf_seq_read',
		'trace_call_bpf',
		'perf_trace_(run_bpf|sched_)',
		'perf_callchain',
		'get_perf_callchain',
	].join('|')})`,
);

/** How deep they go: stack walking, the helper, the program, the tracepoint. */
const OWN_FRAMES_AT_MOST = 12;

/** Whether this kernel function is tracing at work rather than what is traced. */
export function isTracersOwn(name: string): boolean {
	return OWN_FRAMES.test(name);
}

/** How many frames at the leaf are the tracer's own; takes names, leaf first. */
export function countOwnFrames(names: readonly string[]): number {
	for (let i = Math.min(names.length, OWN_FRAMES_AT_MOST) - 1; i >= 0; i--) {
		if (isTracersOwn(names[i] as string)) return i + 1;
	}
	return 0;
}

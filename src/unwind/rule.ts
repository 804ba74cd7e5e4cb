/**
 * A rule says how to get from a frame to the frame of its caller. The numbers are those of
 * bpf/lib/unwind/tables.h, `struct unwind_rule`: 12 bytes, here three words.
 */

/** Where the canonical frame address is: the stack pointer of the caller, after the return. */
export const CFA = {
	/** The file says nothing about this address. */
	gap: 0,
	/** sp + cfaOffset */
	sp: 1,
	/** fp + cfaOffset */
	fp: 2,
	/** What is in memory at sp + cfaOffset, plus cfaAddend. */
	spDeref: 3,
	/** What is in memory at fp + cfaOffset, plus cfaAddend. */
	fpDeref: 4,
	/** sp + 8, and 8 more from the byte `cfaOffset` of an entry of the procedure linkage table on. */
	plt: 5,
	/** All registers are in the signal frame that the kernel put at sp. */
	signal: 6,
	/** The first function of its thread: nobody called it. */
	end: 7,
	/** The file says something that a rule cannot say. */
	unknown: 8,
	/** fp + cfaOffset, which may be on another stack than sp: the function has changed to that. */
	elsewhere: 9,
	/** Behind the stack pointer that Go's asmcgocall has kept, at sp + cfaOffset, while it calls C: see step.ts. */
	goC: 10,
} as const;

/** Where the caller's frame pointer is. */
export const FP = {
	/** It has not changed. */
	same: 0,
	/** In memory, at CFA + fpOffset. */
	atCfa: 1,
	/** Nobody knows. */
	undefined: 2,
	/** In memory, at fp + fpOffset: functions that align their stack. */
	atFp: 3,
} as const;

/** Where the return address is. */
export const RA = {
	/** In memory, at CFA + raOffset. */
	atCfa: 0,
	/** In the link register of arm64: in functions that call no other. */
	register: 1,
} as const;

export interface UnwindRule {
	/** One of CFA. */
	readonly cfa: number;
	readonly cfaOffset: number;
	readonly cfaAddend: number;
	/** One of FP. */
	readonly fp: number;
	readonly fpOffset: number;
	/** One of RA. */
	readonly ra: number;
	readonly raOffset: number;
}

/** What says which rule of a RuleSet holds at an address. */
export interface RuleSource {
	/** Of the file, about. */
	readonly bytesKept: number;
	/** The number of the rule at an address, as it is linked. */
	ruleAt(address: number): number;
}

/** Of an address that nothing is said of. */
export const GAP: UnwindRule = {
	cfa: CFA.gap,
	cfaOffset: 0,
	cfaAddend: 0,
	fp: FP.same,
	fpOffset: 0,
	ra: RA.atCfa,
	raOffset: 0,
};

/** Numbers of the two rules that every set begins with. */
export const GAP_RULE = 0;
export const UNKNOWN_RULE = 1;

const WORDS = 3;
export const RULE_BYTES = WORDS * 4;
/** More than that many rules with the same hash are not kept: somebody has made them up. */
const MAX_PROBES = 64;

/** Rules without repetition, by number. */
export class RuleSet {
	/** As the kernel has them. */
	readonly words: Int32Array;
	/** Numbers of rules, plus one. */
	readonly #slots: Int32Array;
	readonly #mask: number;
	#count = 0;
	#isExceeded = false;

	/** Holds at most `capacity` rules, 65,536 or fewer. */
	constructor(readonly capacity: number) {
		this.words = new Int32Array(capacity * WORDS);
		const slots = 2 ** (32 - Math.clz32(capacity * 2));
		this.#slots = new Int32Array(slots);
		this.#mask = slots - 1;
		this.add(0, 0, CFA.gap);
		this.add(0, 0, CFA.unknown);
	}

	get count(): number {
		return this.#count;
	}

	/** In memory, whatever is in it. */
	get bytesKept(): number {
		return this.words.byteLength + this.#slots.byteLength;
	}

	/** A rule was asked for that there was no room for. */
	get isExceeded(): boolean {
		return this.#isExceeded;
	}

	/** The number of the rule with these words; UNKNOWN_RULE when there is no room for it. */
	add(first: number, second: number, third: number): number {
		const { words } = this;
		let slot = hash(first, second, third) & this.#mask;
		for (let probes = 0; probes < MAX_PROBES; probes++) {
			const number = (this.#slots[slot] as number) - 1;
			if (number < 0) return this.#put(slot, first, second, third);
			const at = number * WORDS;
			if (words[at] === first && words[at + 1] === second && words[at + 2] === third) return number;
			slot = (slot + 1) & this.#mask;
		}
		this.#isExceeded = true;
		return UNKNOWN_RULE;
	}

	/** The numbers that the rules of another set have here; UNKNOWN_RULE for those without room. */
	addAll(other: RuleSet): Uint16Array {
		return Uint16Array.from({ length: other.count }, (_, number) => {
			const at = number * WORDS;
			const [first = 0, second = 0, third = 0] = other.words.subarray(at, at + WORDS);
			return this.add(first, second, third);
		});
	}

	/** Rule `number`, to look at. */
	get(number: number): UnwindRule {
		const [first = 0, second = 0, third = 0] = this.words.subarray(number * WORDS);
		return {
			cfa: third & 0xff,
			cfaOffset: first,
			cfaAddend: third >>> 24,
			fp: (third >>> 8) & 0xff,
			fpOffset: (second << 16) >> 16,
			ra: (third >>> 16) & 0xff,
			raOffset: second >> 16,
		};
	}

	#put(slot: number, first: number, second: number, third: number): number {
		if (this.#count === this.capacity) {
			this.#isExceeded = true;
			return UNKNOWN_RULE;
		}
		const number = this.#count++;
		this.#slots[slot] = number + 1;
		this.words.set([first, second, third], number * WORDS);
		return number;
	}
}

function hash(first: number, second: number, third: number): number {
	let all = Math.imul(first, 0x9e3779b1) ^ Math.imul(second, 0x85ebca77);
	all = Math.imul(all ^ (all >>> 15) ^ third, 0xc2b2ae3d);
	return all ^ (all >>> 13);
}

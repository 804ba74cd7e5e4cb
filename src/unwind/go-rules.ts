/**
 * Rules of Go's functions, by the table that Go's own runtime walks stacks by: how far the stack pointer is from where
 * it was as the function began. Compilers write no .eh_frame for Go, and strippers leave this table. Source: Go's
 * src/runtime/symtab.go (pcvalue, step), traceback.go, asm_amd64.s and asm_arm64.s; cmd/internal/obj/x86/obj6.go
 * (preprocess) and arm64/obj7.go for where functions save the frame pointer.
 */
import { type Elf, MACHINE, PF_X, SEGMENT_TYPE, type Segment } from '../elf/elf.js';
import { GO_FLAG, type GoFunction, type GoTable } from '../elf/go-table.js';
import type { RowSink } from './cfi.js';
import { callsOfC, savesPointer, switchesFrom, switchesTo } from './go-code.js';
import { CFA, FP, GAP_RULE, RA, type RuleSet, UNKNOWN_RULE } from './rule.js';

/** First functions of stacks; with Go 1.17 and later, a flag says the same. */
const FIRST = /^(runtime\.(goexit|mstart|rt0_go)|_rt0_\w+_linux|_rt0_(amd64|arm64))$/;
/** Has the flag of a first function, but returns to what restores the registers that a signal has interrupted. */
const HANDLERS = /^runtime\.(sigtramp|cgoSigtramp|sigprofNonGoWrapper)$/;
/** Handlers return to it; it asks the kernel for these registers. */
const SIGNAL_RETURN = /^runtime\.sigreturn(__sigaction)?$/;
/**
 * They go to the stack of the scheduler, or of a new thread, and do not come back: a function that they call there has
 * no other caller.
 */
const LEAVES = /^runtime\.(mcall|morestack|clone|switchToCrashStack0)$/;
/** It comes back. Who called it is on the other stack; from Go 1.21 on the frame pointer leads there. */
const SYSTEM_STACK = 'runtime.systemstack';
/** The same for functions of C. */
const CALLS_C = 'runtime.asmcgocall';
/** Functions that set the stack pointer, where no flag says so: Go 1.16. */
const SWITCHES =
	/^(gogo|time\.now|runtime\.(mcall|systemstack|morestack|clone|gogo|asmcgocall|cgocallback|nanotime1|walltime1))$/;
/** What is written there keeps the frame pointer while it calls; in cryptography it may hold anything. */
const KEEPS_POINTER = /^(runtime|time)\./;

/** Functions are small where the code of one is looked at. */
const MAX_CODE_BYTES = 4096;
/** How often that is read, of one file: caddy has 269 such functions. Behind them nothing is said of those. */
const MAX_CODES = 2 ** 14;
/** Segments with code; linkers write one. */
const MAX_SEGMENTS = 16;
/** Of one file: caddy has 188,048. Tables that all functions share may have been made up to have many. */
const MAX_STEPS = 2 ** 24;
/** Deeper stacks than this no rule of arm64 can say. */
const MAX_OFFSET = 0x7000;
/** Longer than any of the names above. */
const MAX_NAME_BYTES = 48;

/** What functions do that their tables do not say. */
type Kind = 'plain' | 'first' | 'signal return' | 'leaves' | 'switches';

interface Row {
	readonly address: number;
	/** Bytes on the stack of the function's own. Undefined: not said. */
	readonly depth: number | undefined;
}

export class GoRules {
	readonly #isArm64: boolean;
	/** With code. */
	readonly #segments: readonly Segment[];
	#steps = 0;
	#codes = 0;
	/** Of the function that was looked at last, and where that begins. */
	#code: Buffer = Buffer.alloc(0);
	#codeAt = Number.NaN;

	constructor(
		private readonly elf: Elf,
		private readonly table: GoTable,
		private readonly rules: RuleSet,
	) {
		this.#isArm64 = elf.machine === MACHINE.arm64;
		this.#segments = elf.segments
			.filter(({ type, flags }) => type === SEGMENT_TYPE.load && (flags & PF_X) !== 0)
			.slice(0, MAX_SEGMENTS);
	}

	/** There were too many steps; what followed has no rules. */
	get isExceeded(): boolean {
		return this.#steps > MAX_STEPS;
	}

	/**
	 * Where its rows begin, as it is linked: return addresses are looked up one byte in front, and what a handler
	 * returns to was not called.
	 */
	beginOf(fn: GoFunction): number {
		return this.#kindOf(fn) === 'signal return' ? fn.start - 1 : fn.start;
	}

	/** Whether its code has to be looked at; all others can be told from the table alone. Throws SymbolError. */
	readsCode(fn: GoFunction): boolean {
		return (fn.flags & GO_FLAG.assembly) !== 0 || this.#kindOf(fn) !== 'plain';
	}

	/** Gives the rows of a function. Throws SymbolError where what is said of it lies outside the table. */
	rowsOf(fn: GoFunction, sink: RowSink): void {
		const kind = this.#kindOf(fn);
		if (kind === 'first') sink(fn.start, this.rules.add(0, 0, CFA.end));
		else if (kind === 'signal return') sink(fn.start - 1, this.rules.add(0, 0, CFA.signal));
		else if (this.#codes > MAX_CODES && this.readsCode(fn)) sink(fn.start, UNKNOWN_RULE);
		else if (kind === 'plain') this.#plain(fn, this.#depths(fn), sink);
		else this.#switching(fn, kind === 'leaves', sink);
	}

	#kindOf(fn: GoFunction): Kind {
		// From Go 1.18 on they all have a flag, if only that they are assembly.
		if (fn.flags === 0 && this.table.hasFlags) return 'plain';
		const name = this.table.nameOf(fn, MAX_NAME_BYTES);
		if (SIGNAL_RETURN.test(name)) return 'signal return';
		if (HANDLERS.test(name)) return 'plain';
		if ((fn.flags & GO_FLAG.top) !== 0 || FIRST.test(name)) return 'first';
		if (LEAVES.test(name)) return 'leaves';
		return (fn.flags & GO_FLAG.switchesStack) !== 0 || SWITCHES.test(name) ? 'switches' : 'plain';
	}

	/** In the order of their addresses; behind the last nothing is said. */
	#depths(fn: GoFunction): Row[] {
		if (fn.stackOffset === 0 || this.isExceeded) return [];
		const bytes = this.table.stackBytes(fn);
		const rows: Row[] = [];
		let at = 0;
		const number = () => {
			let value = 0;
			for (let shift = 0; at < bytes.length; shift += 7) {
				const byte = bytes[at++] as number;
				if (shift < 32) value |= (byte & 0x7f) << shift;
				if (byte < 0x80) break;
			}
			return value;
		};
		let depth = -1;
		let address = fn.start;
		while (address < fn.end && at < bytes.length && !this.isExceeded) {
			const change = number();
			if (change === 0 && rows.length > 0) break;
			const length = (number() >>> 0) * this.table.quantum;
			if (length === 0) break;
			depth = (depth + ((change >>> 1) ^ -(change & 1))) | 0;
			rows.push({ address, depth });
			address += length;
			this.#steps++;
		}
		if (address < fn.end) rows.push({ address, depth: undefined });
		return rows;
	}

	#plain(fn: GoFunction, depths: readonly Row[], sink: RowSink): void {
		const isAssembly = (fn.flags & GO_FLAG.assembly) !== 0;
		const rise = depths.findIndex(({ depth = 0 }) => depth > 0);
		const isSaved = !isAssembly || this.#savesPointer(fn, depths[rise]?.address);
		for (const [i, { address, depth }] of depths.entries()) {
			if (depth === undefined) sink(address, GAP_RULE);
			else if (i !== rise || !isSaved) sink(address, this.#rule(depth, isSaved));
			else {
				// It is saved by the instruction that is about to run, or was by the one before.
				sink(address, this.#rule(depth, true, FP.same));
				sink(address + 1, this.#rule(depth, true));
			}
		}
	}

	/**
	 * Up to where it sets the stack pointer, the table holds. Behind, its frame pointer leads on, on x86-64, if it has
	 * one; else nobody knows what it did.
	 */
	#switching(fn: GoFunction, isLeaving: boolean, sink: RowSink): void {
		const code = this.#codeOf(fn);
		const depths = this.#depths(fn);
		const switched = switchesFrom(code, this.#isArm64);
		const from = switched === undefined ? fn.end : fn.start + switched;
		this.#plain(fn, depths, (address, rule) => {
			if (address < from) sink(address, rule);
		});
		if (from >= fn.end) return;
		const name = this.table.nameOf(fn, MAX_NAME_BYTES);
		const rise = depths.find(({ depth = 0 }) => depth > 0)?.address;
		const hasFrame = !this.#isArm64 && KEEPS_POINTER.test(name) && this.#savesPointer(fn, rise);
		if (isLeaving) sink(from, this.rules.add(0, 0, CFA.end));
		else if (hasFrame) this.#byPointer(fn, depths, from, code, sink);
		else if (name === SYSTEM_STACK) this.#systemStack(fn, depths, from, code, sink);
		else if (name === CALLS_C) this.#callingC(fn, from, code, sink);
		else sink(from, UNKNOWN_RULE);
	}

	/** By the frame pointer, as long as it is the function's own. */
	#byPointer(fn: GoFunction, depths: readonly Row[], from: number, code: Buffer, sink: RowSink) {
		const elsewhere = this.rules.add(16, words(-16, -8), CFA.elsewhere | (FP.atCfa << 8));
		for (const [i, { address, depth }] of depths.entries()) {
			const { address: end, depth: next = 0 } = depths[i + 1] ?? { address: fn.end };
			if (end <= from) continue;
			const start = Math.max(address, from);
			if (depth === undefined) sink(start, GAP_RULE);
			else sink(start, depth > 0 ? elsewhere : this.#rule(depth, true));
			// The frame pointer is the caller's already, and the stack pointer the function's own again.
			const popped = fn.start + poppedAt(code, end - fn.start);
			if (depth && next <= 0 && popped >= start) sink(popped, this.#rule(depth, true));
		}
	}

	/** Between its two changes of the stack there is no way back to who called it. */
	#systemStack(fn: GoFunction, depths: readonly Row[], from: number, code: Buffer, sink: RowSink) {
		sink(from, this.rules.add(0, 0, CFA.end));
		const back = fn.start + switchesTo(code, this.#isArm64);
		if (back <= from) return;
		const here = depths.filter(({ address }) => address <= back).at(-1);
		this.#plain(fn, depths, (address, rule) => {
			if (address > back) sink(address, rule);
			else if (address === here?.address) sink(back, rule);
		});
	}

	/** While it calls C, it has kept where its own stack is. */
	#callingC({ start }: GoFunction, from: number, code: Buffer, sink: RowSink) {
		sink(from, UNKNOWN_RULE);
		const found = this.#isArm64 ? undefined : callsOfC(code);
		if (!found) return;
		const rule = this.rules.add(found.offset, words(0, -8), CFA.goC | (FP.same << 8));
		for (const call of found.calls) {
			if (start + call.from < from) continue;
			sink(start + call.from, rule);
			sink(start + call.to, UNKNOWN_RULE);
		}
	}

	#savesPointer(fn: GoFunction, rise: number | undefined): boolean {
		if (rise === undefined) return false;
		return savesPointer(this.#codeOf(fn), rise - fn.start, this.#isArm64);
	}

	/** Each is asked for a few times in a row. */
	#codeOf(fn: GoFunction): Buffer {
		if (fn.start !== this.#codeAt) {
			this.#code = this.#readCode(fn);
			this.#codeAt = fn.start;
		}
		return this.#code;
	}

	#readCode({ start, end }: GoFunction): Buffer {
		const segment = this.#segments.find(
			({ address, size_bytes }) => start >= address && start < address + size_bytes,
		);
		if (!segment) return Buffer.alloc(0);
		this.#codes++;
		const skipped = start - segment.address;
		const length = Math.min(end - start, segment.size_bytes - skipped, MAX_CODE_BYTES);
		return this.elf.bytes.read(segment.offset + skipped, length);
	}

	/** `isSaved`: the function has saved its caller's frame pointer, by its first change of the stack. */
	#rule(depth: number, isSaved: boolean, pointer: number = FP.atCfa): number {
		if (depth < 0 || depth % 8 !== 0) return UNKNOWN_RULE;
		const fp = isSaved && depth > 0 ? pointer : FP.same;
		const atCfa = fp === FP.atCfa;
		if (!this.#isArm64) {
			// push %rbp, or sub $depth, %rsp and mov %rbp, depth - 8(%rsp).
			return this.rules.add(depth + 8, words(atCfa ? -16 : 0, -8), CFA.sp | (fp << 8));
		}
		if (depth === 0) return this.rules.add(0, 0, CFA.sp | (RA.register << 16));
		// The link register is saved at the stack pointer, and the frame pointer below it.
		if (depth > MAX_OFFSET || !isSaved) return UNKNOWN_RULE;
		return this.rules.add(depth, words(atCfa ? -depth - 8 : 0, -depth), CFA.sp | (fp << 8));
	}
}

const words = (fpOffset: number, raOffset: number) => (fpOffset & 0xffff) | (raOffset << 16);

/** Where `add $n, %rsp` is that ends at `end`, by which functions give their stack back; -Infinity: there is none. */
function poppedAt(code: Buffer, end: number): number {
	const isAdd = (length: number, operation: number) =>
		end >= length && end <= code.length && code.readUIntLE(end - length, 3) === operation;
	if (isAdd(4, 0xc48348)) return end - 4;
	return isAdd(7, 0xc48148) ? end - 7 : Number.NEGATIVE_INFINITY;
}

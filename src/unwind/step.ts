/**
 * From a frame to its caller's, outside the kernel: the same as bpf/lib/unwind/frame.h does, so
 * that each can be tested against the other.
 */
import { CFA, FP, RA, type UnwindRule } from './rule.js';

/** How a walk ends; `enum unwind_end` of bpf/lib/unwind/tables.h. */
export const END = {
	/** At the first function of the thread. */
	whole: 1,
	/** In a file that has no table. */
	noTable: 2,
	/** At a rule that is unknown. */
	noRule: 3,
	/** Where there is no rule, and the frame pointer leads nowhere. */
	gap: 4,
	/** At memory that cannot be read. */
	unreadable: 5,
	/** At a return address where no code is, or in a stack that goes backwards. */
	astray: 6,
	/** With as many frames as were asked for. */
	tooDeep: 7,
	/** Where frame pointers ended. */
	guessed: 8,
	/** At a return address of 0: some first functions have that, and so has memory that is none. */
	zero: 9,
} as const;

export type WalkEnd = (typeof END)[keyof typeof END];

/** What the registers of a thread have in one of its functions. */
export interface Frame {
	readonly ip: number;
	/** Undefined: nobody knows. */
	readonly sp: number | undefined;
	readonly fp: number;
	/** The link register of arm64, in the function that was interrupted. */
	readonly link: number | undefined;
	/** `ip` is the next instruction; elsewhere it is the one behind a call. */
	readonly isExact: boolean;
	/** Frame pointers led here. */
	readonly isByPointer: boolean;
}

/**
 * Memory of the thread's process; undefined when it cannot be read. Who implements it decides
 * whether memory of files is read, which may take as long as whoever provides the file pleases.
 */
export type ReadMemory = (address: number, length_bytes: number) => DataView | undefined;

/** What is different from one kind of processor to the other. */
export interface Processor {
	readonly isArm64: boolean;
}

/** arch/x86/include/asm/sigframe.h, struct rt_sigframe behind its return address. */
const SIGNAL_X64 = { fp: 120, sp: 160, ip: 168, link: undefined };
/** arch/arm64/kernel/signal.c, struct rt_sigframe: behind siginfo and ucontext, regs from 29 on. */
const SIGNAL_ARM64 = { fp: 544, link: 552, sp: 560, ip: 568 };
/** mov $__NR_rt_sigreturn, %rax; syscall. And: mov x8, #__NR_rt_sigreturn; svc #0. */
const SIGNAL_RETURN_X64 = [0x0fc0c748, 0x0f000000] as const;
const SIGNAL_RETURN_ARM64 = [0xd2801168, 0xd4000001] as const;
/** So much of them tells them from all else. */
export const SIGNAL_RETURN_BYTES = 8;

/** Documentation/admin-guide/sysctl/vm.rst, mmap_min_addr: its largest usual value. */
const LOWEST_STACK = 0x10000;
/** Above these bits of an address arm64 keeps its signature. */
const HIGH_BITS_ARM64 = 0xffff;

/** The caller's frame by a rule, which is no gap; or how the walk ends. */
export function step(
	rule: UnwindRule,
	frame: Frame,
	read: ReadMemory,
	processor: Processor,
): Frame | WalkEnd {
	if (rule.cfa === CFA.end) return END.whole;
	if (rule.cfa === CFA.signal) return signalStep(frame, read, processor);
	const cfa = cfaOf(rule, frame, read, processor);
	if (cfa === undefined) return END.unreadable;
	if (!(cfa > 0)) return END.noRule;
	// A stack that points into itself. A leaf of arm64 may have nothing on it.
	const lowest = rule.cfa >= CFA.elsewhere ? 0 : (frame.sp ?? 0);
	if (cfa < lowest || (cfa === lowest && frame.link === undefined)) return END.astray;
	const isInLink = rule.ra === RA.register;
	if (isInLink && frame.link === undefined) return END.noRule;
	const ip = isInLink ? frame.link : wordAt(cfa + rule.raOffset, read, processor);
	const fp = callerPointer(rule, frame, cfa, read, processor);
	if (ip === undefined || fp === undefined) return END.unreadable;
	return callerAt(ip, cfa, fp, false);
}

/** The caller's frame by the frame pointer. `isFirst`: of the walk. */
export function pointerStep(
	frame: Frame,
	isFirst: boolean,
	read: ReadMemory,
	processor: Processor,
): Frame | WalkEnd {
	const { fp, sp = 0 } = frame;
	// The code that begins a thread leaves 0 there; so may code that uses the register for something else.
	if (fp === 0 && !isFirst) return END.guessed;
	if (fp < LOWEST_STACK || fp % 8 !== 0 || fp < sp) return END.gap;
	const caller = wordAt(fp, read, processor);
	const ip = wordAt(fp + 8, read, processor);
	if (caller === undefined || ip === undefined || (caller !== 0 && caller <= fp)) return END.gap;
	// The record that x29 points to lies somewhere in the frame of its function.
	return callerAt(ip, processor.isArm64 ? undefined : fp + 16, caller, true);
}

/** What a signal interrupted. */
export function signalStep({ sp }: Frame, read: ReadMemory, processor: Processor): Frame | WalkEnd {
	if (sp === undefined) return END.gap;
	const at = processor.isArm64 ? SIGNAL_ARM64 : SIGNAL_X64;
	const word = (offset: number) => wordAt(sp + offset, read, processor);
	const [ip, callerSp, fp] = [word(at.ip), word(at.sp), word(at.fp)];
	if (ip === undefined || callerSp === undefined || fp === undefined) return END.unreadable;
	const link = at.link === undefined ? undefined : word(at.link);
	return { ip, sp: callerSp, fp, link, isExact: true, isByPointer: false };
}

/** Whether code, of SIGNAL_RETURN_BYTES, returns from a signal's handler. */
export function isSignalReturn(code: DataView, { isArm64 }: Processor): boolean {
	const [first, second] = isArm64 ? SIGNAL_RETURN_ARM64 : SIGNAL_RETURN_X64;
	return code.getUint32(0, true) === first && code.getUint32(4, true) === second;
}

/** NaN: the rule does not say it. Undefined: it cannot be read. */
function cfaOf(
	rule: UnwindRule,
	frame: Frame,
	read: ReadMemory,
	processor: Processor,
): number | undefined {
	const { cfa, cfaOffset, cfaAddend, fpOffset } = rule;
	const deref = (base: number) => {
		const found = wordAt(base + cfaOffset, read, processor);
		return found === undefined ? undefined : found + cfaAddend;
	};
	if (cfa === CFA.fp || cfa === CFA.elsewhere) return frame.fp + cfaOffset;
	if (cfa === CFA.fpDeref) return deref(frame.fp);
	if (frame.sp === undefined) return keepsRecord(rule) ? frame.fp - fpOffset : Number.NaN;
	if (cfa === CFA.sp) return frame.sp + cfaOffset;
	if (cfa === CFA.spDeref) return deref(frame.sp);
	if (cfa === CFA.goC) return behindGo(frame.sp + cfaOffset, read, processor);
	if (cfa === CFA.plt) return frame.sp + (frame.ip % 16 >= cfaOffset ? 16 : 8);
	return Number.NaN;
}

/**
 * A function that saves fp and the return address side by side. Most of these keep a frame record: fp points to the pair.
 * Whoever saves fp alone may use the register for anything.
 */
function keepsRecord({ cfa, fp, fpOffset, ra, raOffset }: UnwindRule): boolean {
	const isPair = ra === RA.atCfa && raOffset === fpOffset + 8;
	return cfa === CFA.sp && fp === FP.atCfa && isPair;
}

/**
 * The CFA of asmcgocall, up to Go 1.20: at `at` it keeps its stack pointer, counted from the end of the goroutine's stack,
 * which may move meanwhile; behind it, which goroutine that is. Without one, it keeps the stack pointer itself. Source:
 * Go's src/runtime/asm_amd64.s, asmcgocall; runtime2.go, g and stack.
 */
function behindGo(at: number, read: ReadMemory, processor: Processor): number | undefined {
	const [kept, goroutine] = [wordAt(at, read, processor), wordAt(at + 8, read, processor)];
	if (kept === undefined || goroutine === undefined) return undefined;
	if (goroutine === 0) return kept + 8;
	const end = wordAt(goroutine + 8, read, processor);
	return end === undefined ? undefined : end - kept + 8;
}

/** 0: nobody knows it. Undefined: it cannot be read. */
function callerPointer(
	{ fp, fpOffset }: UnwindRule,
	frame: Frame,
	cfa: number,
	read: ReadMemory,
	processor: Processor,
): number | undefined {
	if (fp === FP.same) return frame.fp;
	if (fp === FP.atCfa) return wordAt(cfa + fpOffset, read, processor);
	return fp === FP.atFp ? wordAt(frame.fp + fpOffset, read, processor) : 0;
}

function callerAt(
	ip: number,
	sp: number | undefined,
	fp: number,
	isByPointer: boolean,
): Frame | WalkEnd {
	if (ip === 0) return END.zero;
	return { ip, sp, fp, link: undefined, isExact: false, isByPointer };
}

/** An address in memory; exact for all that there can be. */
function wordAt(address: number, read: ReadMemory, { isArm64 }: Processor): number | undefined {
	const view = read(address, 8);
	if (!view) return undefined;
	const high = view.getUint32(4, true);
	return (isArm64 ? high & HIGH_BITS_ARM64 : high) * 2 ** 32 + view.getUint32(0, true);
}

/** What a table of frames says about one address, and the rule that says the same. */
import { MACHINE } from '../elf/elf.js';
import { EXPRESSION, type Expression } from './expression.js';
import { CFA, FP, RA, type RuleSet, UNKNOWN_RULE } from './rule.js';

/** Numbers that DWARF gives to the registers that matter. Source: the ABIs' supplements. */
export interface FrameRegisters {
	readonly sp: number;
	readonly fp: number;
	readonly ra: number;
	/** A function that does not save it has the return address in a register. */
	readonly hasLink: boolean;
}

const REGISTERS_X64: FrameRegisters = { sp: 7, fp: 6, ra: 16, hasLink: false };
const REGISTERS_ARM64: FrameRegisters = { sp: 31, fp: 29, ra: 30, hasLink: true };

/** Those of an ELF file's processor; undefined for one that tstrace does not know. */
export function registersOf(machine: number): FrameRegisters | undefined {
	if (machine === MACHINE.x64) return REGISTERS_X64;
	return machine === MACHINE.arm64 ? REGISTERS_ARM64 : undefined;
}

/** Where a register of the caller is. */
export const WHERE = {
	/** Nothing was said: it has not changed, or, for the stack pointer, it is the CFA. */
	unsaid: 0,
	same: 1,
	undefined: 2,
	/** In memory, at CFA + offset. */
	atCfa: 3,
	/** In memory, at fp + offset, and at sp + offset. */
	atFp: 4,
	atSp: 5,
	other: 6,
} as const;

/** `kind` of a CFA that is register + offset, as DW_CFA_def_cfa says it. */
const BY_REGISTER = 4;

/** Where glibc's __restore_rt says that registers are: in struct rt_sigframe behind sp. */
const SIGNAL_X64 = { sp: 160, ra: 168, fp: 120 };

/** A place of the frame pointer in one number, as rules are made a million times: one of FP, and its offset below. */
const FP_BITS = 16;
const FP_SAME = FP.same << FP_BITS;
const FP_UNDEFINED = FP.undefined << FP_BITS;
const fpAt = (fp: number, offset: number) => (fp << FP_BITS) | (offset & 0xffff);

const fitsByte = (value: number) => value >= 0 && value <= 0xff;
const fitsShort = (value: number) => value >= -0x8000 && value <= 0x7fff;
const fitsWord = (value: number) => value === (value | 0);

export class FrameState {
	/** One of EXPRESSION, or BY_REGISTER; of "other" nothing is known. */
	cfaKind: number = EXPRESSION.other;
	/** As they were said last, also while an expression counts. */
	cfaRegister = 0;
	cfaOffset = 0;
	/** Of the expression. */
	baseRegister = 0;
	baseOffset = 0;
	addend = 0;
	/** Each one of WHERE. */
	fp: number = WHERE.unsaid;
	fpOffset = 0;
	ra: number = WHERE.unsaid;
	raOffset = 0;
	sp: number = WHERE.unsaid;
	/** The function is a signal's trampoline (augmentation S). */
	isSignal = false;

	constructor(readonly registers: FrameRegisters) {}

	copyFrom(other: FrameState): void {
		this.cfaKind = other.cfaKind;
		this.cfaRegister = other.cfaRegister;
		this.cfaOffset = other.cfaOffset;
		this.baseRegister = other.baseRegister;
		this.baseOffset = other.baseOffset;
		this.addend = other.addend;
		this.fp = other.fp;
		this.fpOffset = other.fpOffset;
		this.ra = other.ra;
		this.raOffset = other.raOffset;
		this.sp = other.sp;
		this.isSignal = other.isSignal;
	}

	setCfa(register: number, offset: number): void {
		this.setCfaRegister(register);
		this.cfaOffset = offset;
	}

	/** With the offset as it was; in code written by hand, the one in front of an expression. */
	setCfaRegister(register: number): void {
		this.cfaKind = BY_REGISTER;
		this.cfaRegister = register;
	}

	setCfaExpression({ kind, register, offset, addend }: Expression): void {
		this.cfaKind = kind;
		this.baseRegister = register;
		this.baseOffset = offset;
		this.addend = addend;
	}

	/** Says where a register is; true when it is one that matters. */
	setRegister(register: number, where: number, offset: number): boolean {
		const { fp, ra, sp } = this.registers;
		if (register === fp) {
			this.fp = where;
			this.fpOffset = offset;
		} else if (register === ra) {
			this.ra = where;
			this.raOffset = offset;
		} else if (register === sp) {
			this.sp = where;
		}
		return register === fp || register === ra || register === sp;
	}

	/** As it was in another state. */
	restoreRegister(register: number, initial: FrameState): boolean {
		const { fp, ra, sp } = this.registers;
		if (register === fp) return this.setRegister(register, initial.fp, initial.fpOffset);
		if (register === ra) return this.setRegister(register, initial.ra, initial.raOffset);
		return register === sp && this.setRegister(register, initial.sp, 0);
	}

	/** A register that is in memory where an expression says. */
	setRegisterExpression(register: number, { kind, register: base, offset }: Expression): boolean {
		const { fp, sp } = this.registers;
		let where: number = WHERE.other;
		if (kind === EXPRESSION.register && base === fp) where = WHERE.atFp;
		if (kind === EXPRESSION.register && base === sp) where = WHERE.atSp;
		return this.setRegister(register, where, offset);
	}

	/** The number in `rules` of the rule that says this. */
	ruleIn(rules: RuleSet): number {
		if (this.ra === WHERE.undefined) return rules.add(0, 0, CFA.end);
		if (this.#isSignalFrame()) return rules.add(0, 0, CFA.signal);
		// Where the stack pointer of the caller is not the CFA, a rule cannot say where it is.
		if (this.isSignal || this.sp !== WHERE.unsaid) return UNKNOWN_RULE;
		const cfa = this.#cfa();
		const isByRegister = this.cfaKind === BY_REGISTER;
		const cfaOffset = isByRegister ? this.cfaOffset : this.baseOffset;
		const addend = isByRegister ? 0 : this.addend;
		const ra = this.#ra();
		const isSaid = cfa !== CFA.unknown && fitsWord(cfaOffset) && fitsByte(addend);
		if (!isSaid || ra < 0) return UNKNOWN_RULE;
		const raOffset = ra === RA.atCfa ? this.raOffset : 0;
		const fp = this.#fp(cfa === CFA.sp ? cfaOffset : Number.NaN);
		const offsets = (fp & 0xffff) | (raOffset << 16);
		const fpBits = (fp >> FP_BITS) << 8;
		return rules.add(cfaOffset, offsets, cfa | fpBits | (ra << 16) | (addend << 24));
	}

	/** As `fpAt` has it. What counts from sp does so from the CFA, if `cfaFromSp` is known. */
	#fp(cfaFromSp: number): number {
		if (this.fp <= WHERE.same) return FP_SAME;
		const offset = this.fp === WHERE.atSp ? this.fpOffset - cfaFromSp : this.fpOffset;
		if (!fitsShort(offset)) return FP_UNDEFINED;
		if (this.fp === WHERE.atCfa || this.fp === WHERE.atSp) return fpAt(FP.atCfa, offset);
		return this.fp === WHERE.atFp ? fpAt(FP.atFp, offset) : FP_UNDEFINED;
	}

	#isSignalFrame(): boolean {
		const { registers, cfaKind, cfaRegister, cfaOffset } = this;
		if (!registers.hasLink) {
			const { sp, fp, ra } = SIGNAL_X64;
			const isDeref = cfaKind === EXPRESSION.deref && this.baseRegister === registers.sp;
			const isCfa = isDeref && this.baseOffset === sp && this.addend === 0;
			const isRa = this.ra === WHERE.atSp && this.raOffset === ra;
			const isFp = this.fp === WHERE.atSp && this.fpOffset === fp;
			return isCfa && isRa && isFp;
		}
		// The vdso of arm64 up to Linux 5.8: the frame record that the kernel made for unwinders.
		const isCfa = cfaKind === BY_REGISTER && cfaRegister === registers.fp && cfaOffset === 0;
		const isFp = this.fp === WHERE.atCfa && this.fpOffset === 0;
		const isRa = this.ra === WHERE.atCfa && this.raOffset === 8;
		return this.isSignal && isCfa && isFp && isRa;
	}

	#cfa(): number {
		const { cfaKind, registers } = this;
		if (cfaKind === EXPRESSION.plt) return registers.hasLink ? CFA.unknown : CFA.plt;
		if (cfaKind === EXPRESSION.other) return CFA.unknown;
		const isDeref = cfaKind === EXPRESSION.deref;
		const register = cfaKind === BY_REGISTER ? this.cfaRegister : this.baseRegister;
		if (register === registers.sp) return isDeref ? CFA.spDeref : CFA.sp;
		if (register === registers.fp) return isDeref ? CFA.fpDeref : CFA.fp;
		return CFA.unknown;
	}

	/** -1: a rule cannot say it. */
	#ra(): number {
		if (this.ra === WHERE.atCfa) return fitsShort(this.raOffset) ? RA.atCfa : -1;
		const isInLink = this.ra === WHERE.unsaid || this.ra === WHERE.same;
		return isInLink && this.registers.hasLink ? RA.register : -1;
	}
}

/**
 * Executes call frame instructions: what a table of frames says, address by address.
 * Source: DWARF 5, 6.4; LSB 5, 10.6; gcc's unwind-dw2.c for the vendors' instructions.
 */
import type { Cursor, Origins } from './cursor.js';
import { type Expression, readExpression } from './expression.js';
import { type FrameRegisters, FrameState, WHERE } from './frame-state.js';
import { type RuleSet, UNKNOWN_RULE } from './rule.js';

/** gcc needs one or two. */
const MAX_REMEMBERED = 32;

/** What the functions of a CIE have in common. */
export interface CommonEntry {
	readonly cursor: Cursor;
	readonly origins: Origins;
	readonly codeFactor: number;
	readonly dataFactor: number;
	/** How the functions' addresses are written. */
	readonly encoding: number;
	/** The functions have augmentation data, with their length in front. */
	readonly hasData: boolean;
	/** What its own instructions say, which all its functions begin with. */
	readonly initial: FrameState;
}

/** Takes the rows of a function, in the order of their addresses. */
export type RowSink = (address: number, rule: number) => void;

export class CfiMachine {
	readonly #state: FrameState;
	readonly #remembered: FrameState[] = [];
	#depth = 0;
	readonly #expression: Expression = { kind: 0, register: 0, offset: 0, addend: 0 };
	#address = 0;
	/** What was said since the last row changes it. */
	#isChanged = true;
	#isDamaged = false;

	constructor(
		private readonly registers: FrameRegisters,
		private readonly rules: RuleSet,
		private readonly sink: RowSink,
	) {
		this.#state = new FrameState(registers);
	}

	/** The state after a CIE's instructions, at the cursor and up to its end; undefined if damaged. */
	initialState(common: CommonEntry): FrameState | undefined {
		this.#begin(common, 0);
		this.#execute(common, 0);
		if (this.#isDamaged) return undefined;
		common.initial.copyFrom(this.#state);
		return common.initial;
	}

	/**
	 * Gives the rows of the function that begins at `address`, whose instructions are at the cursor
	 * and up to its end. False when they are damaged: from there on the rule is unknown.
	 */
	rows(common: CommonEntry, address: number): boolean {
		this.#begin(common, address);
		this.#execute(common, Number.POSITIVE_INFINITY);
		if (this.#isDamaged) this.sink(this.#address, UNKNOWN_RULE);
		else if (this.#isChanged) this.#emit();
		return !this.#isDamaged;
	}

	#begin(common: CommonEntry, address: number): void {
		this.#state.copyFrom(common.initial);
		this.#depth = 0;
		this.#address = address;
		this.#isChanged = true;
		this.#isDamaged = false;
	}

	#execute(common: CommonEntry, limit: number): void {
		const { cursor } = common;
		const state = this.#state;
		while (cursor.at < cursor.end && !this.#isDamaged) {
			const byte = cursor.u8();
			const low = byte & 0x3f;
			switch (byte >> 6) {
				case 1:
					this.#advance(low * common.codeFactor, limit);
					break;
				case 2:
					this.#note(state.setRegister(low, WHERE.atCfa, cursor.uleb() * common.dataFactor));
					break;
				case 3:
					this.#note(state.restoreRegister(low, common.initial));
					break;
				default:
					this.#executeLong(low, common, limit);
			}
		}
		if (cursor.isPast) this.#isDamaged = true;
	}

	/** Instructions that have a byte of their own. */
	#executeLong(code: number, common: CommonEntry, limit: number): void {
		const { cursor, codeFactor } = common;
		switch (code) {
			case 0x00: // nop
			case 0x2c: // AARCH64_negate_ra_state_with_pc
			case 0x2d: // AARCH64_negate_ra_state: the address is signed, which walks take off anyway
				break;
			case 0x01: // set_loc
				this.#moveTo(cursor.pointer(common.encoding, common.origins), limit);
				break;
			case 0x02: // advance_loc1
				this.#advance(cursor.u8() * codeFactor, limit);
				break;
			case 0x03: // advance_loc2
				this.#advance(cursor.u16() * codeFactor, limit);
				break;
			case 0x04: // advance_loc4
				this.#advance(cursor.u32() * codeFactor, limit);
				break;
			case 0x1d: // MIPS_advance_loc8
				this.#advance(cursor.s64() * codeFactor, limit);
				break;
			case 0x0a: // remember_state
				this.#remember();
				break;
			case 0x0b: // restore_state
				this.#restore();
				break;
			case 0x2e: // GNU_args_size
				cursor.uleb();
				break;
			default:
				if (isOfCfa(code)) this.#setCfa(code, common);
				else this.#note(this.#setRegister(code, cursor.uleb(), common));
		}
	}

	#setCfa(code: number, { cursor, dataFactor }: CommonEntry): void {
		const state = this.#state;
		this.#isChanged = true;
		switch (code) {
			case 0x0c: // def_cfa
				state.setCfa(cursor.uleb(), cursor.uleb());
				break;
			case 0x0d: // def_cfa_register
				state.setCfaRegister(cursor.uleb());
				break;
			case 0x0e: // def_cfa_offset
				state.cfaOffset = cursor.uleb();
				break;
			case 0x12: // def_cfa_sf
				state.setCfa(cursor.uleb(), cursor.sleb() * dataFactor);
				break;
			case 0x13: // def_cfa_offset_sf
				state.cfaOffset = cursor.sleb() * dataFactor;
				break;
			default: // def_cfa_expression
				readExpression(cursor, this.#expression);
				state.setCfaExpression(this.#expression);
		}
	}

	/** True when it is a register that matters. */
	#setRegister(code: number, register: number, common: CommonEntry): boolean {
		const { cursor, dataFactor, initial } = common;
		const state = this.#state;
		switch (code) {
			case 0x05: // offset_extended
				return state.setRegister(register, WHERE.atCfa, cursor.uleb() * dataFactor);
			case 0x11: // offset_extended_sf
				return state.setRegister(register, WHERE.atCfa, cursor.sleb() * dataFactor);
			case 0x2f: // GNU_negative_offset_extended
				return state.setRegister(register, WHERE.atCfa, -cursor.uleb() * dataFactor);
			case 0x06: // restore_extended
				return state.restoreRegister(register, initial);
			case 0x07: // undefined
				return state.setRegister(register, WHERE.undefined, 0);
			case 0x08: // same_value
				return state.setRegister(register, WHERE.same, 0);
			case 0x10: // expression
				readExpression(cursor, this.#expression);
				return state.setRegisterExpression(register, this.#expression);
			default:
				return state.setRegister(register, this.#valueOf(code, register, cursor), 0);
		}
	}

	/** For registers whose value, not its place, is said. */
	#valueOf(code: number, register: number, cursor: Cursor): number {
		switch (code) {
			case 0x09: // register
				return cursor.uleb() === register ? WHERE.same : WHERE.other;
			case 0x14: // val_offset
			case 0x15: // val_offset_sf
				return cursor.uleb() === 0 ? this.#cfaItself(register) : WHERE.other;
			case 0x16: // val_expression
				cursor.block();
				return WHERE.other;
			default:
				this.#isDamaged = true;
				return WHERE.other;
		}
	}

	/** The stack pointer has the CFA as its value without being told. */
	#cfaItself(register: number): number {
		return register === this.registers.sp ? WHERE.unsaid : WHERE.other;
	}

	#note(isChanged: boolean): void {
		if (isChanged) this.#isChanged = true;
	}

	#advance(bytes: number, limit: number): void {
		this.#moveTo(this.#address + bytes, limit);
	}

	#moveTo(address: number | undefined, limit: number): void {
		if (address === undefined || !(address >= this.#address) || address > limit) {
			this.#isDamaged = true;
			return;
		}
		if (this.#isChanged && address > this.#address) this.#emit();
		this.#address = address;
	}

	#emit(): void {
		this.sink(this.#address, this.#state.ruleIn(this.rules));
		this.#isChanged = false;
	}

	#remember(): void {
		if (this.#depth === MAX_REMEMBERED) {
			this.#isDamaged = true;
			return;
		}
		this.#remembered[this.#depth] ??= new FrameState(this.registers);
		(this.#remembered[this.#depth++] as FrameState).copyFrom(this.#state);
	}

	#restore(): void {
		const remembered = this.#remembered[this.#depth - 1];
		if (this.#depth === 0 || !remembered) {
			this.#isDamaged = true;
			return;
		}
		this.#depth--;
		this.#state.copyFrom(remembered);
		this.#isChanged = true;
	}
}

const isOfCfa = (code: number) => (code >= 0x0c && code <= 0x0f) || code === 0x12 || code === 0x13;

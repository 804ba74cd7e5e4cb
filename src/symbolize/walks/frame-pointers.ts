/**
 * Whether a program's functions keep frame pointers: by how they begin. Where they begin is in
 * .eh_frame_hdr, which stripped programs have too. Source: Linux Standard Base, "Exception Frames".
 */
import { type Elf, MACHINE, type Section, SHF_EXECINSTR } from '../../elf/elf.js';

/** Version 1; the table's numbers are 32 bits, signed, relative to the section. */
const HEADER = Buffer.from([1, 0x1b, 0x03, 0x3b]);
const HEADER_BYTES = 12;
const ENTRY_BYTES = 8;
/** Shorter functions often call nothing, and compilers let them go without. */
const MIN_FUNCTION_BYTES = 64;
/** In small programs, which have fewer than that, shorter ones must do. */
export const FEW_FUNCTIONS = 10;
const MIN_FEW_BYTES = 16;
/** A check of the stack's limit may come first, as in Go. */
const PROLOGUE_BYTES = 48;
/** The share of functions with frames from which on a file counts as built with them. */
export const MANY = 0.75;
/** Browsers have a million; a table that says it has more is read so far. */
const MAX_FUNCTIONS = 2_000_000;
/** .text, .init, .fini, .text.unlikely and such. */
const MAX_SECTIONS = 32;
/** Spread over all. */
const MAX_SAMPLED = 500;

export interface FrameCount {
	readonly sampled: number;
	readonly withFrame: number;
}

/** Undefined where the file does not say where its functions begin. Throws SymbolError. */
export function countFrames(elf: Elf): FrameCount | undefined {
	const header = elf.section('.eh_frame_hdr');
	if (!header) return undefined;
	const table = elf.contents(header);
	if (table.length < HEADER_BYTES || !table.subarray(0, 4).equals(HEADER)) return undefined;
	const count = Math.floor(
		Math.min(table.readUInt32LE(8), (table.length - HEADER_BYTES) / ENTRY_BYTES, MAX_FUNCTIONS),
	);
	const startOf = (i: number) => header.address + table.readInt32LE(HEADER_BYTES + i * ENTRY_BYTES);
	const code = elf.sections.filter(isCode).slice(0, MAX_SECTIONS);
	const sectionOf = (start: number) => code.find((each) => isIn(each, start));
	const sizeOf = (i: number, { address, size_bytes }: Section) => {
		const end = address + size_bytes;
		return (i + 1 < count ? Math.min(startOf(i + 1), end) : end) - startOf(i);
	};
	const atLeast = (size_bytes: number) => {
		const found: number[] = [];
		for (let i = 0; i < count; i++) {
			const start = startOf(i);
			// Where a program begins nobody called it.
			const section = start === elf.entry ? undefined : sectionOf(start);
			if (section && sizeOf(i, section) >= size_bytes) found.push(i);
		}
		return found;
	};
	const long = atLeast(MIN_FUNCTION_BYTES);
	const functions = long.length < FEW_FUNCTIONS ? atLeast(MIN_FEW_BYTES) : long;
	const sampled = Math.min(functions.length, MAX_SAMPLED);
	let withFrame = 0;
	for (let each = 0; each < sampled; each++) {
		const i = functions[Math.floor((each * functions.length) / sampled)] as number;
		const section = sectionOf(startOf(i)) as Section;
		const at = section.offset + startOf(i) - section.address;
		const prologue = elf.bytes.read(at, Math.min(PROLOGUE_BYTES, sizeOf(i, section)));
		if (keepsFrame(prologue, elf.machine)) withFrame++;
	}
	return sampled === 0 ? undefined : { sampled, withFrame };
}

function isCode({ flags, name }: Section): boolean {
	return (flags & SHF_EXECINSTR) !== 0 && !name.startsWith('.plt');
}

function isIn({ address, size_bytes }: Section, start: number): boolean {
	return start >= address && start < address + size_bytes;
}

/** Whether a function that begins like this sets up a frame. */
export function keepsFrame(code: Buffer, machine: number): boolean {
	return machine === MACHINE.arm64 ? keepsFrameArm64(code) : keepsFrameX64(code);
}

const MOV_RSP_RBP = [Buffer.from([0x48, 0x89, 0xe5]), Buffer.from([0x48, 0x8b, 0xec])];

/** push %rbp, and some time later mov %rsp,%rbp. */
function keepsFrameX64(code: Buffer): boolean {
	const push = code.indexOf(0x55);
	return push >= 0 && MOV_RSP_RBP.some((mov) => code.indexOf(mov, push + 1) >= 0);
}

/** mov x29, sp, or add x29, sp, #imm. */
function keepsFrameArm64(code: Buffer): boolean {
	for (let at = 0; at + 4 <= code.length; at += 4) {
		if ((code.readUInt32LE(at) & 0xff8003ff) >>> 0 === 0x910003fd) return true;
	}
	return false;
}

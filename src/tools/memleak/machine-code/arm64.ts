/**
 * Probes on arm64 stay at the entry. The kernel simulates branches and PC-relative addresses there,
 * and single-steps a copy of everything else; source: arch/arm64/kernel/probes/decode-insn.c, as far
 * as its versions agree: loads of literals and nop are simulated by some. bl, blr and ret are left
 * out, as calls are on x86-64: a guarded control stack has to be kept too.
 */
import { atEntry, type Placement } from './placement.js';

const SIMULATED: readonly (readonly [mask: number, value: number, name: string])[] = [
	[0xfc000000, 0x14000000, 'b'],
	[0xff000010, 0x54000000, 'b.cond'],
	[0x7f000000, 0x34000000, 'cbz'],
	[0x7f000000, 0x35000000, 'cbnz'],
	[0x7f000000, 0x36000000, 'tbz'],
	[0x7f000000, 0x37000000, 'tbnz'],
	[0x9f000000, 0x10000000, 'adr'],
	[0x9f000000, 0x90000000, 'adrp'],
];

/** As placeProbe(), for a function of arm64's instructions: always the entry. */
export function placeProbeArm64(code: Uint8Array): Placement {
	if (code.length < 4) return atEntry(false, 'tstrace does not know its first instruction');
	const word = new DataView(code.buffer, code.byteOffset, 4).getUint32(0, true);
	const found = SIMULATED.find(([mask, value]) => (word & mask) >>> 0 === value);
	if (found) return atEntry(true, `the kernel simulates ${found[2]}`);
	return atEntry(false, 'on arm64 tstrace does not look for another place');
}

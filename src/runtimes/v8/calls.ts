/** Whether the instruction before an address is a call. Source: Intel SDM vol. 2, Arm ARM C6.2. */

/** As long as a call can be here: a prefix, FF, how it is addressed, SIB, displacement. */
export const MAX_CALL_BYTES = 8;

const CALL_RELATIVE = 0xe8;
const CALL_INDIRECT = 0xff;

/** `before`: the bytes before the address, the last one last. Instructions of other machines are no calls. */
export function endsWithCall(before: DataView, arch: NodeJS.Architecture = process.arch): boolean {
	if (arch === 'x64') return endsWithX64Call(before);
	if (arch !== 'arm64' || before.byteLength < 4) return false;
	const instruction = before.getUint32(before.byteLength - 4, true);
	// BL, BLR.
	return instruction >>> 26 === 0x25 || (instruction & 0xff_ff_fc_1f) >>> 0 === 0xd6_3f_00_00;
}

function endsWithX64Call(before: DataView): boolean {
	const end = before.byteLength;
	if (end >= 5 && before.getUint8(end - 5) === CALL_RELATIVE) return true;
	for (let bytes = 2; bytes <= Math.min(7, end); bytes++) {
		if (before.getUint8(end - bytes) !== CALL_INDIRECT) continue;
		if (indirectBytes(before.getUint8(end - bytes + 1)) === bytes) return true;
	}
	return false;
}

/** How long a call is whose second byte this is, without a prefix; undefined: it is no call. */
function indirectBytes(modrm: number): number | undefined {
	const mode = modrm >>> 6;
	const base = modrm & 7;
	if (((modrm >>> 3) & 7) !== 2) return undefined;
	if (mode === 3) return 2;
	const sib = base === 4 ? 1 : 0;
	if (mode === 0) return 2 + sib + (base === 5 ? 4 : 0);
	return 2 + sib + (mode === 1 ? 1 : 4);
}

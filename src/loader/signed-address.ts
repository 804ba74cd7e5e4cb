/**
 * Addresses as numbers, exactly. A user address is below 2^53; a kernel address lies in the upper
 * half of the 64-bit range and is kept as what it is as a signed number (address − 2^64), which is
 * small again. So the sign tells the two apart.
 */
export type Address = number;

/** A 64-bit address out of memory. */
export function readAddress(view: DataView, offset: number): Address {
	return view.getInt32(offset + 4, true) * 2 ** 32 + view.getUint32(offset, true);
}

/** User space ends at 2^47, or at 2^56 with five levels of page tables. */
const USER_END = 2 ** 56;

export function isUserAddress(address: Address): boolean {
	return address > 0 && address < USER_END;
}

/** As it is written: "ffffffff81000000". */
export function addressText(address: Address): string {
	return BigInt.asUintN(64, BigInt(address)).toString(16);
}

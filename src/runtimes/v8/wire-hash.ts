/**
 * The number by which V8 tells modules of WebAssembly apart in their addresses (wasm://wasm/0d2fab52): the hash that a
 * string of these bytes would have. Source: V8's string-hasher-inl.h; rapidhash.h (BSD 2-Clause, Nicolas De Carli).
 */

/** How the version hashes strings: one byte at a time (Jenkins), or by rapidhash. */
export type WireHash = 'one at a time' | 'rapid';

/** Longer ones are hashed by how long they are. */
export const MAX_HASHED_BYTES = 16_383;
/** The value of a hash; behind it stands what kind of number it is: a hash, and not an array's index. */
const VALUE_BITS = 30;
const VALUE_MASK = 2 ** VALUE_BITS - 1;
const KIND_BITS = 2;
const KIND = 2;
/** What stands for a hash of 0. */
const ZERO_HASH = 27;

const SECRET_0 = 0x2d35_8dcc_aa6c_78a5n;
const SECRET_1 = 0x8bb8_4b93_962e_acc9n;
const SECRET_2 = 0x4b33_a62e_d433_d4a3n;
const WORD_BITS = 64;
/** At once, by three words that are mixed apart from each other. */
const BLOCK_BYTES = 48;

/** In eight digits. `bytes`: all of the module's, more than 16; those of one longer than MAX_HASHED_BYTES are not looked at. */
export function wireHash(bytes: DataView, length_bytes: number, by: WireHash): string {
	const isLong = length_bytes > MAX_HASHED_BYTES;
	const hash = isLong
		? length_bytes
		: (by === 'rapid' ? rapid(bytes) : oneAtATime(bytes)) & VALUE_MASK;
	const word = ((hash || ZERO_HASH) << KIND_BITS) | KIND;
	return (word >>> 0).toString(16).padStart(8, '0');
}

function oneAtATime(bytes: DataView): number {
	let hash = 0;
	for (let i = 0; i < bytes.byteLength; i++) {
		hash = (hash + bytes.getUint8(i)) | 0;
		hash = (hash + (hash << 10)) | 0;
		hash ^= hash >>> 6;
	}
	hash = (hash + (hash << 3)) | 0;
	hash ^= hash >>> 11;
	return (hash + (hash << 15)) | 0;
}

/** The lowest 32 bits of it. */
function rapid(bytes: DataView): number {
	const word = (at: number) => bytes.getBigUint64(at, true);
	const length = BigInt(bytes.byteLength);
	let seed = mixed(SECRET_0, SECRET_1) ^ length;
	let at = 0;
	let left = bytes.byteLength;
	if (left > BLOCK_BYTES) {
		let [second, third] = [seed, seed];
		for (; left >= BLOCK_BYTES; at += BLOCK_BYTES, left -= BLOCK_BYTES) {
			seed = mixed(word(at) ^ SECRET_0, word(at + 8) ^ seed);
			second = mixed(word(at + 16) ^ SECRET_1, word(at + 24) ^ second);
			third = mixed(word(at + 32) ^ SECRET_2, word(at + 40) ^ third);
		}
		seed ^= second ^ third;
	}
	if (left > 16) seed = mixed(word(at) ^ SECRET_2, word(at + 8) ^ seed ^ SECRET_1);
	if (left > 32) seed = mixed(word(at + 16) ^ SECRET_2, word(at + 24) ^ seed);
	const [low, high] = product(word(at + left - 16) ^ SECRET_1, word(at + left - 8) ^ seed);
	return Number(BigInt.asUintN(32, mixed(low ^ SECRET_0 ^ length, high ^ SECRET_1)));
}

/** Both halves of the product of two words, the lower one first. */
function product(a: bigint, b: bigint): [bigint, bigint] {
	const all = a * b;
	return [BigInt.asUintN(WORD_BITS, all), all >> BigInt(WORD_BITS)];
}

function mixed(a: bigint, b: bigint): bigint {
	const [low, high] = product(a, b);
	return low ^ high;
}

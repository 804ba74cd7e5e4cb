/** Writes .eh_frame and .debug_frame as compilers do, in every way that they have. */

/** Where a register of the caller is. */
export type Place =
	| { readonly at: 'same' }
	| { readonly at: 'undefined' }
	| { readonly at: 'elsewhere' }
	| { readonly at: 'cfa' | 'fp' | 'sp'; readonly offset: number };

export type CfaPlace =
	| { readonly of: 'sp' | 'fp' | 'another'; readonly offset: number }
	| { readonly of: '*sp' | '*fp'; readonly offset: number; readonly addend: number }
	| { readonly of: 'plt'; readonly offset: number }
	| { readonly of: 'nobody knows' };

/** What holds for some bytes of a function. */
export interface Stretch {
	readonly bytes: number;
	readonly cfa: CfaPlace;
	readonly fp: Place;
	readonly ra: Place;
	/** The caller's stack pointer is not the CFA. */
	readonly movesSp: boolean;
	/** Which of the ways to write it; a number whose bits are used up. */
	readonly how: number;
}

export interface Writing {
	readonly isArm64: boolean;
	readonly isDebug: boolean;
	readonly version: 1 | 3 | 4;
	readonly encoding: number;
	readonly hasLongLengths: boolean;
	readonly augmentation: '' | 'zR' | 'zPLR' | 'zRB' | 'zRS';
	readonly codeFactor: number;
	readonly sectionAddress: number;
	readonly dataAddress: number;
}

export interface WrittenFunction {
	readonly start: number;
	readonly stretches: readonly Stretch[];
}

const DATA_FACTOR = -8;

export function uleb(value: number): number[] {
	const bytes: number[] = [];
	let rest = value;
	do {
		bytes.push((rest % 128) + (rest >= 128 ? 128 : 0));
		rest = Math.floor(rest / 128);
	} while (rest > 0);
	return bytes;
}

function sleb(value: number): number[] {
	const bytes: number[] = [];
	for (let rest = value; ; ) {
		const byte = ((rest % 128) + 128) % 128;
		rest = Math.floor(rest / 128);
		const isLast = (rest === 0 && byte < 64) || (rest === -1 && byte >= 64);
		bytes.push(isLast ? byte : byte + 128);
		if (isLast) return bytes;
	}
}

export function little(value: number, bytes: number): number[] {
	const out = Buffer.alloc(8);
	out.writeBigInt64LE(BigInt(value));
	return [...out.subarray(0, bytes)];
}

const block = (bytes: readonly number[]) => [...uleb(bytes.length), ...bytes];

/** Takes one of several, by the lowest part of `how`. */
function pick(how: number, ways: readonly number[][]): number[] {
	return ways[how % ways.length] as number[];
}

const registersOf = ({ isArm64 }: Writing) =>
	isArm64 ? { sp: 31, fp: 29, ra: 30, another: 19 } : { sp: 7, fp: 6, ra: 16, another: 10 };

function cfaWords(cfa: CfaPlace, writing: Writing, how: number): number[] {
	const numbers = registersOf(writing);
	if (cfa.of === 'nobody knows') return [0x0f, ...block([0x70 + numbers.sp, 8, 0x06, 0x06])];
	if (cfa.of === 'plt') {
		const k = 0x30 + cfa.offset;
		return [0x0f, ...block([0x77, 8, 0x80, 0, 0x3f, 0x1a, k, 0x2a, 0x33, 0x24, 0x22])];
	}
	if (cfa.of === '*sp' || cfa.of === '*fp') {
		const base = 0x70 + (cfa.of === '*sp' ? numbers.sp : numbers.fp);
		const more = cfa.addend > 0 ? [0x23, ...uleb(cfa.addend)] : [];
		return [0x0f, ...block([base, ...sleb(cfa.offset), 0x06, ...more])];
	}
	const register = uleb(numbers[cfa.of]);
	const factored = sleb(cfa.offset / DATA_FACTOR);
	const signed = [
		[0x12, ...register, ...factored],
		[0x12, ...register, ...sleb(1), 0x13, ...factored],
		[0x0f, ...block([0x70 + numbers[cfa.of], ...sleb(cfa.offset)])],
	];
	if (cfa.offset < 0) return pick(how, signed);
	const offset = uleb(cfa.offset);
	return pick(how, [
		[0x0c, ...register, ...offset],
		[0x0c, ...register, 0, 0x0e, ...offset],
		[0x0c, 3, ...offset, 0x0d, ...register],
		...signed,
	]);
}

function placeWords(register: number, place: Place, writing: Writing, how: number): number[] {
	const number = uleb(register);
	// To restore is to take back what the CIE says, which is nothing.
	const same = [[0x08, ...number], [0xc0 + register], [0x06, ...number]];
	if (place.at === 'same') return pick(how, same);
	if (place.at === 'undefined') return [0x07, ...number];
	if (place.at === 'elsewhere') {
		const elsewhere = [
			[0x09, ...number, 3],
			[0x14, ...number, 5],
			[0x16, ...number, ...block([0x70, 0])],
		];
		return pick(how, elsewhere);
	}
	if (place.at === 'fp' || place.at === 'sp') {
		const base = 0x70 + registersOf(writing)[place.at];
		return [0x10, ...number, ...block([base, ...sleb(place.offset)])];
	}
	const factored = place.offset / DATA_FACTOR;
	const signed = [0x11, ...number, ...sleb(factored)];
	if (factored < 0) return pick(how, [signed, [0x2f, ...number, ...uleb(-factored)]]);
	return pick(how, [
		[0x80 + register, ...uleb(factored)],
		[0x05, ...number, ...uleb(factored)],
		signed,
	]);
}

function advanceWords(bytes: number, { codeFactor }: Writing, how: number): number[] {
	const steps = bytes / codeFactor;
	const ways: number[][] = [[0x04, ...little(steps, 4)]];
	if (steps < 2 ** 16) ways.push([0x03, ...little(steps, 2)]);
	if (steps < 2 ** 8) ways.push([0x02, steps]);
	if (steps < 2 ** 6) ways.push([0x40 + steps]);
	return pick(how, ways);
}

/** What changes nothing: nop; an argument's size; a state that is remembered and restored. */
function nothingWords(writing: Writing, how: number): number[] {
	const { sp, ra, fp } = registersOf(writing);
	const detour = [0x0c, sp, 99, 0x07, ra, 0x09, fp, 3];
	return pick(how, [[], [0], [0x2e, ...uleb(300)], [0x0a, ...detour, 0x0b], [0x2d]]);
}

function instructions({ stretches }: WrittenFunction, writing: Writing): number[] {
	const { fp, ra, sp } = registersOf(writing);
	return stretches.flatMap((stretch, i) => [
		...(i > 0 ? advanceWords((stretches[i - 1] as Stretch).bytes, writing, stretch.how) : []),
		...nothingWords(writing, stretch.how >> 3),
		...cfaWords(stretch.cfa, writing, stretch.how >> 6),
		...placeWords(fp, stretch.fp, writing, stretch.how >> 9),
		...placeWords(ra, stretch.ra, writing, stretch.how >> 12),
		// Its value is the CFA; or it is somewhere else.
		...(stretch.movesSp ? [0x09, sp, 3] : [0x14, sp, 0]),
		...nothingWords(writing, stretch.how >> 15),
	]);
}

function pointer(address: number, at: number, writing: Writing): number[] {
	const { encoding, sectionAddress, dataAddress } = writing;
	const here = sectionAddress + at;
	if (encoding === 0x50) return [...Array(-here & 7).fill(0), ...little(address, 8)];
	const base = { 16: here, 48: dataAddress }[encoding & 0x70] ?? 0;
	return number(address - base, encoding);
}

function number(value: number, encoding: number): number[] {
	const format = encoding & 0xf;
	if (format === 1) return uleb(value);
	if (format === 9) return sleb(value);
	const bytes = { 2: 2, 3: 4, 10: 2, 11: 4 }[format] ?? 8;
	return little(value, bytes);
}

/** With its length in front, and filled up. */
function entry(at: number, { hasLongLengths }: Writing, body: (at: number) => number[]): number[] {
	const before = hasLongLengths ? 12 : 4;
	const bytes = body(at + before);
	const filled = [...bytes, ...Array(-(bytes.length + before) & 7).fill(0)];
	const length = little(filled.length, hasLongLengths ? 8 : 4);
	return [...(hasLongLengths ? [255, 255, 255, 255] : []), ...length, ...filled];
}

function commonBody(writing: Writing): number[] {
	const { version, augmentation, codeFactor, isDebug, hasLongLengths, encoding } = writing;
	const { sp, ra } = registersOf(writing);
	const idBytes = hasLongLengths && isDebug ? 8 : 4;
	// The personality's pointer has two bytes.
	const data = {
		'': [],
		zR: [encoding],
		zPLR: [0x02, 1, 2, 0x0b, encoding],
		zRB: [encoding],
		zRS: [encoding],
	};
	return [
		...Array(idBytes).fill(isDebug ? 255 : 0),
		version,
		...Buffer.from(`${augmentation}\0`),
		...(version === 4 ? [8, 0] : []),
		...uleb(codeFactor),
		...sleb(DATA_FACTOR),
		...(version === 1 ? [ra] : uleb(ra)),
		...(augmentation ? block(data[augmentation]) : []),
		...[0x0c, sp, 8],
	];
}

function functionBody(at: number, fn: WrittenFunction, writing: Writing): number[] {
	const { isDebug, hasLongLengths, augmentation, encoding } = writing;
	const id = isDebug ? little(0, hasLongLengths ? 8 : 4) : little(at, 4);
	const size = fn.stretches.reduce((sum, { bytes }) => sum + bytes, 0);
	const format = encoding === 0x50 ? 0 : encoding;
	return [
		...id,
		...pointer(fn.start, at + id.length, writing),
		...number(size, format),
		...(augmentation === 'zPLR' ? block([1, 2, 3, 4]) : augmentation ? [0] : []),
		...instructions(fn, writing),
	];
}

/** A section with these functions, in this order. */
export function writeFrames(functions: readonly WrittenFunction[], writing: Writing): Buffer {
	const bytes = entry(0, writing, () => commonBody(writing));
	for (const fn of functions) {
		bytes.push(...entry(bytes.length, writing, (at) => functionBody(at, fn, writing)));
	}
	return Buffer.from(writing.isDebug ? bytes : [...bytes, 0, 0, 0, 0]);
}

/** Lines of a script's source, by position. */

const NEWLINE = 0x0a;
const RETURN = 0x0d;
/** LINE SEPARATOR and PARAGRAPH SEPARATOR end lines of JavaScript, too. */
const SEPARATORS: readonly number[] = [0x2028, 0x2029];

/** Where lines end, in characters, ascending; undefined: they are more than `limit`. `bytesEach`: of a character. */
export function lineEnds(source: Buffer, bytesEach: 1 | 2, limit: number): Uint32Array | undefined {
	if (bytesEach === 1 && !source.includes(RETURN)) return newlines(source, limit);
	const ends: number[] = [];
	const count = Math.floor(source.length / bytesEach);
	const at = (i: number) => (bytesEach === 1 ? (source[i] as number) : source.readUInt16LE(i * 2));
	for (let i = 0; i < count; i++) {
		if (ends.length > limit) return undefined;
		const character = at(i);
		const isReturn = character === RETURN && !(i + 1 < count && at(i + 1) === NEWLINE);
		if (character === NEWLINE || isReturn || SEPARATORS.includes(character)) ends.push(i);
	}
	return ends.length > limit ? undefined : Uint32Array.from(ends);
}

/** Most sources are so, and large ones take a tenth of the time. */
function newlines(source: Buffer, limit: number): Uint32Array | undefined {
	const ends: number[] = [];
	for (let at = source.indexOf(NEWLINE); at >= 0; at = source.indexOf(NEWLINE, at + 1)) {
		if (ends.length >= limit) return undefined;
		ends.push(at);
	}
	return Uint32Array.from(ends);
}

/** The line that a position is in, from 0 on. */
export function lineAt(ends: Uint32Array, position: number): number {
	let low = 0;
	let high = ends.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if ((ends[middle] as number) < position) low = middle + 1;
		else high = middle;
	}
	return low;
}

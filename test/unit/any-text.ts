/**
 * Text of any code points. fast-check's own (`unit: 'binary'`) first makes a table of all of them: two seconds in
 * each process.
 */
import fc from 'fast-check';

const LAST = 0x10ffff;
/** Halves of pairs are no text. */
const [SURROGATES, BEHIND] = [0xd800, 0xe000];

const point = fc
	.oneof(fc.nat(0x7f), fc.nat(0x2fff), fc.nat(LAST - (BEHIND - SURROGATES)))
	.map((i) => String.fromCodePoint(i < SURROGATES ? i : i + BEHIND - SURROGATES));

/** Of objects that are used as tables without care. */
const NAMES = ['__proto__', 'then', ...Object.getOwnPropertyNames(Object.prototype)];

export function anyText({ minLength = 0, maxLength = 30 } = {}): fc.Arbitrary<string> {
	const named = NAMES.filter(({ length }) => length >= minLength && length <= maxLength);
	const points = fc.array(point, { minLength, maxLength }).map((all) => all.join(''));
	if (named.length === 0) return points;
	return fc.oneof({ arbitrary: points, weight: 9 }, fc.constantFrom(...named));
}

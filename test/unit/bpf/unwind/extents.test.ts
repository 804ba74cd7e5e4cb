import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Extents } from '../../../../src/bpf/unwind/extents.js';

const SIZE = 64;

interface Piece {
	readonly first: number;
	readonly count: number;
}

/** The elements of a piece. */
const within = ({ first, count }: Piece) => Array.from({ length: count }, (_, i) => first + i);

/** Does as it is told: takes so many elements, or gives back the piece of that number (negative). */
function piecesAfter(room: Extents, actions: readonly number[]): Piece[] {
	const pieces: Piece[] = [];
	for (const action of actions) {
		const first = action > 0 ? room.take(action) : undefined;
		if (first !== undefined) pieces.push({ first, count: action });
		const [given] = action > 0 ? [] : pieces.splice(-action, 1);
		if (given) room.give(given.first, given.count);
	}
	return pieces;
}

test('no two pieces share an element, and all room comes back', () => {
	const actions = fc.array(fc.integer({ min: -8, max: 20 }), { maxLength: 200 });
	fc.assert(
		fc.property(actions, (all) => {
			const room = new Extents(SIZE);
			const pieces = piecesAfter(room, all);
			const used = pieces.flatMap(within);
			assert.equal(new Set(used).size, used.length);
			assert.ok(used.every((element) => element >= 0 && element < SIZE));
			for (const { first, count } of pieces) room.give(first, count);
			assert.equal(room.take(SIZE), 0);
			assert.equal(room.take(1), undefined);
		}),
	);
});

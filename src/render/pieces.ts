/** Long texts in pieces: all stacks of a large machine are more than a string holds. */

const PIECE_LENGTH = 1 << 16;

/** The same text, in pieces of so many characters or more. */
export function* inPieces(texts: Iterable<string>): Generator<string> {
	let piece = '';
	for (const text of texts) {
		piece += text;
		if (piece.length < PIECE_LENGTH) continue;
		yield piece;
		piece = '';
	}
	yield piece;
}

/** Which of the valid words somebody may have meant. */

/** The candidate that the fewest edits make out of `word`; the first of several. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
	let best: string | undefined;
	let fewest = Number.POSITIVE_INFINITY;
	for (const candidate of candidates) {
		const edits = editDistance(word.toLowerCase(), candidate.toLowerCase());
		if (edits < fewest) [best, fewest] = [candidate, edits];
	}
	return best;
}

/** Levenshtein: how many letters to insert, delete or replace. */
export function editDistance(from: string, to: string): number {
	// Edits to make the letters of `from` so far into the first j letters of `to`.
	let row = Array.from({ length: to.length + 1 }, (_, j) => j);
	for (const [i, letter] of [...from].entries()) {
		const next = [i + 1];
		for (let j = 1; j <= to.length; j++) {
			const replace = (row[j - 1] ?? 0) + (letter === to[j - 1] ? 0 : 1);
			next.push(Math.min(replace, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
		}
		row = next;
	}
	return row[to.length] ?? 0;
}

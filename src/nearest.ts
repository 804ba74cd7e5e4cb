/** Which of the valid words somebody may have meant. */

/** Of the letters of the longer word, so many may be wrong: of "foo" one, of "cgroup" two. */
const WRONG_SHARE = 0.4;
/** A beginning shorter than that could mean anything. */
const FEWEST_LETTERS = 2;

/**
 * The candidate that `word` is the beginning of, the shortest of several; else the one that the fewest
 * edits make out of it, the first of several. Undefined where none is close.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
	const typed = word.toLowerCase();
	return shortestFrom(typed, candidates) ?? fewestEdits(typed, candidates);
}

function shortestFrom(typed: string, candidates: readonly string[]): string | undefined {
	if (typed.length < FEWEST_LETTERS) return undefined;
	return candidates
		.filter((candidate) => candidate.toLowerCase().startsWith(typed))
		.sort((a, b) => a.length - b.length)[0];
}

function fewestEdits(typed: string, candidates: readonly string[]): string | undefined {
	let best: string | undefined;
	let fewest = Number.POSITIVE_INFINITY;
	for (const candidate of candidates) {
		const most = WRONG_SHARE * Math.max(typed.length, candidate.length);
		// Each letter that one has more is an edit at least.
		if (Math.abs(typed.length - candidate.length) > most) continue;
		const edits = editDistance(typed, candidate.toLowerCase());
		if (edits <= most && edits < fewest) [best, fewest] = [candidate, edits];
	}
	return best;
}

/** ": did you mean read?", for behind an error; nothing where no candidate is close. */
export function didYouMean(word: string, candidates: readonly string[]): string {
	const meant = nearest(word, candidates);
	return meant === undefined ? '' : `: did you mean ${meant}?`;
}

/** How many letters to insert, delete, replace, or swap with their neighbour (optimal string alignment). */
export function editDistance(from: string, to: string): number {
	const letters = [...from];
	// Edits to make the letters of `from` so far into the first j letters of `to`; of two letters before, too.
	let earlier: number[] = [];
	let row = Array.from({ length: to.length + 1 }, (_, j) => j);
	for (const [i, letter] of letters.entries()) {
		const next = [i + 1];
		for (let j = 1; j <= to.length; j++) {
			const replace = (row[j - 1] ?? 0) + (letter === to[j - 1] ? 0 : 1);
			const swapped = i > 0 && j > 1 && letter === to[j - 2] && letters[i - 1] === to[j - 1];
			const swap = swapped ? (earlier[j - 2] ?? 0) + 1 : replace;
			next.push(Math.min(replace, swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
		}
		[earlier, row] = [row, next];
	}
	return row[to.length] ?? 0;
}

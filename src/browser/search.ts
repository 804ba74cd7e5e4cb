/** What a search term finds, in pictures and on pages. */
import { typedPattern } from '../aggregate/pattern.js';

/** A regular expression, or where it is none plain text. Capitals matter if there are any. */
export function matcher(term: string): (name: string) => boolean {
	try {
		const pattern = typedPattern(term);
		return (name) => pattern.test(name);
	} catch {
		const plain = typedPattern(escaped(term));
		return (name) => plain.test(name);
	}
}

/** The term that finds this name and no longer one. */
export function exactly(name: string): string {
	return `^${escaped(name)}$`;
}

function escaped(text: string): string {
	return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** What a search term finds, in pictures and on pages. */

/** A regular expression, or where it is none plain text. Capitals matter if there are any. */
export function matcher(term: string): (name: string) => boolean {
	const capitals = /\p{Lu}/u.test(term);
	try {
		const pattern = new RegExp(term, capitals ? 'u' : 'iu');
		return (name) => pattern.test(name);
	} catch {
		const plain = term.toLowerCase();
		return (name) => (capitals ? name.includes(term) : name.toLowerCase().includes(plain));
	}
}

/** The term that finds this name and no longer one. */
export function exactly(name: string): string {
	return `^${name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`;
}

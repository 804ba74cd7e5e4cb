/** Search by name: a text, or a regular expression; capitals matter if there are any. */

export function matcher(term: string): (name: string) => boolean {
	const flags = /\p{Lu}/u.test(term) ? 'u' : 'iu';
	try {
		const pattern = new RegExp(term, flags);
		return (name) => pattern.test(name);
	} catch {
		return (name) => name.includes(term);
	}
}

/** The expression that matches this name and no longer one. */
export function exactly(name: string): string {
	return `^${name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`;
}

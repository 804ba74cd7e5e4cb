/** Patterns that people type. Needs nothing of node: pages in a browser search with it too. */

/**
 * A regular expression in which capitals matter if there are any; those of classes such as \\S do not
 * count. Throws SyntaxError.
 */
export function typedPattern(text: string): RegExp {
	const capitals = /\p{Lu}/u.test(text.replace(/\\./gs, ''));
	return new RegExp(text, capitals ? 'u' : 'iu');
}

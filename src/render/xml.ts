/** Escapes text for XML and HTML. */
import { printable } from './terminal.js';

const ENTITIES: Readonly<Record<string, string>> = {
	'&': '&amp;',
	'<': '&lt;',
	'>': '&gt;',
	'"': '&quot;',
	"'": '&#39;',
};

/** Text or an attribute's value. What XML 1.0 has no place for becomes visible or U+FFFD. */
export function escapeXml(text: string): string {
	return printable(text)
		.replace(/[&<>"']/g, (character) => ENTITIES[character] as string)
		.replace(/\p{Surrogate}|[\ufffe\uffff]/gu, '\ufffd');
}

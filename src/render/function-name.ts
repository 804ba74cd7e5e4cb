/** Names of functions that fit: what is left out is what says least, and nothing is cut in its middle. */

/** What compilers put behind a name; the function is the same. */
const SUFFIX = /(\.(constprop|isra|part|cold|llvm)\b[.\w]*| \[clone [.\w]*\])$/;
/** Of longer names the beginning must do: what takes them apart goes over them again and again. */
const MAX_LENGTH = 2048;
/** Behind a blank, which no arguments have: "handle (/srv/app/server.js:15)". */
const HAS_PLACE = /\S \([^()]*\)$/;
const CLOSES: Readonly<Record<string, string>> = { ')': '(', '>': '<' };

/**
 * A name in at most `width` columns: without its arguments, then its template's, folders of its file,
 * outer namespaces; at last cut at its end.
 */
export function fittedName(name: string, width: number): string {
	let fitted = name.slice(0, MAX_LENGTH);
	for (const shorter of [withoutSuffix, withoutArguments, withoutTemplates, withoutFolders]) {
		if (fits(fitted, width)) return fitted;
		fitted = shorter(fitted);
	}
	for (let inner = fitted; !fits(fitted, width); fitted = `…::${inner}`) {
		const namespace = inner.indexOf('::');
		if (namespace < 0) break;
		inner = inner.slice(namespace + 2);
	}
	const characters = [...fitted];
	return characters.length <= width ? fitted : `${characters.slice(0, width - 1).join('')}…`;
}

/** Where there is room for a name only: "v8::Function::Call", "do_poll"; "handle (server.js:15)", which says where it is. */
export function bareName(name: string): string {
	if (HAS_PLACE.test(name)) return withoutFolders(name.slice(0, MAX_LENGTH));
	return withoutTemplates(withoutArguments(withoutSuffix(name.slice(0, MAX_LENGTH))));
}

const withoutSuffix = (name: string): string => name.replace(SUFFIX, '') || name;

/** A character is one or two of UTF-16. */
const fits = (text: string, width: number): boolean =>
	text.length <= width || (text.length <= 2 * width && [...text].length <= width);

/** Without "(int, char const*) const", if anything is left: "(anonymous namespace)::f" keeps its own. */
function withoutArguments(name: string): string {
	const end = name.lastIndexOf(')');
	if (
		HAS_PLACE.test(name) ||
		end < 0 ||
		!/^\)(\s*(const|volatile|&|&&|noexcept))*$/.test(name.slice(end))
	)
		return name;
	const begin = opening(name, end);
	if (begin <= 0 || name.slice(0, begin).endsWith('operator')) return name;
	return name.slice(0, begin);
}

/** "std::vector<int, std::allocator<int> >::push_back" → "std::vector<>::push_back". */
function withoutTemplates(name: string): string {
	let kept = '';
	let rest = name;
	for (;;) {
		const end = rest.lastIndexOf('>');
		const begin = end < 0 ? -1 : opening(rest, end);
		// "operator>", "<lambda>", "<T as Trait>::f": what stands alone is the name.
		if (
			begin <= 0 ||
			!/[\w\]]$/.test(rest.slice(0, begin)) ||
			rest.slice(0, begin).endsWith('operator')
		)
			return rest + kept;
		kept = `<>${rest.slice(end + 1)}${kept}`;
		rest = rest.slice(0, begin);
	}
}

/** "JS:*roots /srv/shop/app.js:3:15" → "JS:*roots app.js:3:15". */
function withoutFolders(name: string): string {
	return name.replace(/(^|[\s:(])(?:file:\/\/)?\/[^\s:]*\/(?=[^/\s]+$)/, '$1');
}

/** Where the bracket opens that closes at `end`; -1 where it does not. */
function opening(text: string, end: number): number {
	const close = text[end] as string;
	const open = CLOSES[close] as string;
	let depth = 0;
	for (let at = end; at >= 0; at--) {
		if (text[at] === close && !(close === '>' && text[at - 1] === '-')) depth++;
		else if (text[at] === open) depth--;
		if (depth === 0) return at;
	}
	return -1;
}

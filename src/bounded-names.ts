/** Names out of strangers' bytes. */

/** Longer than any name that helps; mangled names of templates reach thousands. */
export const MAX_NAME_LENGTH = 4096;

/**
 * A name as it may be passed on: of a bounded length, on one line, without NUL. Other control
 * characters stay as they are: the code that prints a name escapes it.
 */
export function boundedName(text: string): string {
	const short = text.length > MAX_NAME_LENGTH ? text.slice(0, MAX_NAME_LENGTH) : text;
	return short.replace(/[\0\n\r\u2028\u2029]/g, ' ');
}

/** "libc.so.6+0x1234": an address that has no name, as what is known of it. */
export function offsetName(path: string, address: number): string {
	const base = path.slice(path.lastIndexOf('/') + 1) || path;
	return boundedName(`${base}+0x${address.toString(16)}`);
}

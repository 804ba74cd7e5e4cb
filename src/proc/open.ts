/** Opens files that strangers named, and may have put something else in the place of. */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';

import { FileBytes, SymbolError } from '../elf/bytes.js';
import { answers } from './answers.js';

/** include/uapi/asm-generic/fcntl.h: find it without opening it. node has no name for it. */
const O_PATH = 0o10000000;

export interface OpenFile {
	readonly fd: number;
	readonly stat: Stats;
}

/**
 * Opens a regular file for reading; undefined when it cannot, or is anything else: a device or a
 * pipe may wait, or do something, when it is opened, so it is looked at before; or when its file system
 * does not answer, which `asked` says is known. Unless `follow`, a symbolic link is not a regular file either (as the
 * last part of the path).
 */
export function openRegular(
	path: string,
	{ follow = true, asked = false } = {},
): OpenFile | undefined {
	if (!asked && !answers(path)) return undefined;
	let found: number | undefined;
	try {
		found = openSync(path, O_PATH | (follow ? 0 : constants.O_NOFOLLOW));
		if (!fstatSync(found).isFile()) return undefined;
		// The very file that was looked at, whatever the path means by now.
		const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
		const fd = openSync(`/proc/self/fd/${found}`, flags);
		return { fd, stat: fstatSync(fd) };
	} catch {
		return undefined;
	} finally {
		if (found !== undefined) closeSync(found);
	}
}

/** As openRegular, when it also passes this test; closed again when it does not. */
export function openIf(path: string, test: (stat: Stats) => boolean): OpenFile | undefined {
	const file = openRegular(path);
	if (!file || test(file.stat)) return file;
	closeSync(file.fd);
	return undefined;
}

/**
 * What `use` makes of a file, which is closed then; what `otherwise` does where there is none, or SymbolError
 * is thrown.
 */
export function readFile<T>(
	file: OpenFile | undefined,
	use: (bytes: FileBytes) => T,
	otherwise: (error?: SymbolError) => T,
): T {
	if (!file) return otherwise();
	try {
		return use(new FileBytes(file.fd, file.stat.size));
	} catch (error) {
		if (error instanceof SymbolError) return otherwise(error);
		throw error;
	} finally {
		closeSync(file.fd);
	}
}

/** What tells a script from other files, and its interpreter. */
const BEGINNING_BYTES = 256;

/** A file's first bytes, each a character; undefined when it cannot be read. */
export function beginningOf(path: string): string | undefined {
	const fd = openRegular(path)?.fd;
	if (fd === undefined) return undefined;
	try {
		const bytes = Buffer.alloc(BEGINNING_BYTES);
		return bytes.toString('latin1', 0, readSync(fd, bytes));
	} catch {
		return undefined;
	} finally {
		closeSync(fd);
	}
}

/** The C library, and what comes with it: by whose functions programs call the kernel. */
import { FileBytes, SymbolError } from '../../elf/bytes.js';
import { Elf } from '../../elf/elf.js';
import type { OpenFile } from '../../proc/open.js';
import { countFrames, MANY } from './frame-pointers.js';

/** glibc and musl. */
export const LIBC = /\/(libc\.so\.6|libc-2\.\d+\.so|ld-musl-[^/]+\.so\.1|libc\.musl-[^/]+\.so\.1)$/;

/**
 * Its other parts (before 2.34 glibc had its threads in a file of their own), its loader, and C++'s
 * library: between a program and a system call they say nothing that the kernel's functions do not.
 */
const ITS_PARTS =
	/\/(lib(pthread|rt|dl|anl|stdc\+\+|c\+\+)|ld-linux[\w-]*|ld64|ld)[-.][\d.]*so[\d.]*$/;

/** Whether a file, by its name, is the C library or goes with it. */
export function isCLibrary(path: string): boolean {
	return LIBC.test(path) || ITS_PARTS.test(path);
}

/** Whether most of a file's functions keep frame pointers; true where the file does not tell. */
export function keepsFramePointers({ fd, stat }: OpenFile): boolean {
	try {
		const frames = countFrames(new Elf(new FileBytes(fd, stat.size)));
		return !frames || frames.withFrame / frames.sampled >= MANY;
	} catch (error) {
		if (error instanceof SymbolError) return true;
		throw error;
	}
}

/** Memory that the kernel or libbpf owns, seen in place. */
import { TstraceError } from '../errors.js';
import { failure, libc, type Pointer } from './ffi.js';
import { koffi } from './koffi.js';

/** man 2 mmap */
export const PROT = { read: 1, write: 2 } as const;
const MAP_SHARED = 1;
/** mmap's error value, (void *)-1. */
const MAP_FAILED = 0xffff_ffff_ffff_ffffn;
const SC_PAGESIZE = 30;

/** malloc.h */
const M_MMAP_THRESHOLD = -3;
const SEPARATE_BYTES = 2 ** 17;

/**
 * From now on large buffers go back to the system when they are freed. glibc raises the size from which they do
 * with each that is freed, up to 32 MB; what is below it is kept for later.
 */
export function giveLargeBuffersBack(): void {
	libc().mallopt?.(M_MMAP_THRESHOLD, SEPARATE_BYTES);
}

/** The size of a page of memory in bytes. */
export function pageSizeBytes(): number {
	return libc().sysconf(SC_PAGESIZE);
}

/** An ArrayBuffer over memory that outlives it; nothing is copied. */
export function viewMemory(pointer: Pointer, bytes: number): ArrayBuffer {
	return koffi().view(pointer, bytes);
}

/** A mapping of a file descriptor. After `unmap` its buffer must not be touched. */
export class SharedMapping {
	readonly buffer: ArrayBuffer;
	#pointer: Pointer;

	/** Throws TstraceError with the errno's name ("EPERM") as its detail. */
	constructor(fd: number, bytes: number, protection: number, offsetBytes: number) {
		const pointer = libc().mmap(null, bytes, protection, MAP_SHARED, fd, offsetBytes);
		if (pointer === null || BigInt.asUintN(64, pointer) === MAP_FAILED) {
			const errno = failure();
			throw new TstraceError(`cannot map ${bytes} bytes of kernel memory: ${errno}`, errno);
		}
		this.#pointer = pointer;
		this.buffer = viewMemory(pointer, bytes);
	}

	unmap(): void {
		if (this.#pointer !== null) libc().munmap(this.#pointer, this.buffer.byteLength);
		this.#pointer = null;
	}
}

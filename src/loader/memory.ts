/** Memory that the kernel or libbpf owns, seen in place. */
import { closeSync, fstatSync, openSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { TstraceError } from '../errors.js';
import { failure, libc, type Pointer } from './ffi.js';
import { koffi } from './koffi.js';

/** man 2 mmap */
export const PROT = { read: 1, write: 2 } as const;
const MAP_SHARED = 1;
const MAP_PRIVATE = 2;
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

/**
 * From now on V8 collects garbage whenever its heap has grown by a quarter, and not only when it is up to four times as
 * large. That takes about a tenth more CPU time. Tools call this where the result has an entry for each thread and there
 * are very many threads.
 */
export function growHeapSlowly(): void {
	setFlagsFromString('--heap-growing-percent=25');
}

/** The size of a page of memory in bytes. */
export function pageSizeBytes(): number {
	return libc().sysconf(SC_PAGESIZE);
}

/** An ArrayBuffer over memory that outlives it; nothing is copied. */
export function viewMemory(pointer: Pointer, bytes: number): ArrayBuffer {
	return koffi().view(pointer, bytes);
}

/**
 * A file of the kernel's own memory, seen in place for as long as this process runs. Throws TstraceError with the
 * errno's name ("ENODEV") as its detail where the kernel does not let it be mapped.
 */
export function viewKernelFile(path: string): Uint8Array {
	const fd = openSync(path, 'r');
	try {
		const bytes = fstatSync(fd).size;
		return new Uint8Array(viewMemory(map(fd, bytes, PROT.read, MAP_PRIVATE, 0), bytes));
	} finally {
		closeSync(fd);
	}
}

function map(fd: number, bytes: number, protection: number, flags: number, offsetBytes: number) {
	const pointer = libc().mmap(null, bytes, protection, flags, fd, offsetBytes);
	if (pointer !== null && BigInt.asUintN(64, pointer) !== MAP_FAILED) return pointer;
	const errno = failure();
	throw new TstraceError(`cannot map ${bytes} bytes of kernel memory: ${errno}`, errno);
}

/** A mapping of a file descriptor. After `unmap` its buffer must not be touched. */
export class SharedMapping {
	readonly buffer: ArrayBuffer;
	#pointer: Pointer;

	/** Throws TstraceError with the errno's name ("EPERM") as its detail. */
	constructor(fd: number, bytes: number, protection: number, offsetBytes: number) {
		this.#pointer = map(fd, bytes, protection, MAP_SHARED, offsetBytes);
		this.buffer = viewMemory(this.#pointer, bytes);
	}

	unmap(): void {
		if (this.#pointer !== null) libc().munmap(this.#pointer, this.buffer.byteLength);
		this.#pointer = null;
	}
}

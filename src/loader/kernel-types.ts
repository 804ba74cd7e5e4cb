/** Has libbpf look for the kernel's types where there are only those that an object's programs refer to. */
import { closeSync, openSync, writevSync } from 'node:fs';
import { BtfError } from './btf-types.js';
import { libc } from './ffi.js';
import { kernelBtf } from './kernel.js';
import { PointingStruct } from './pointing-struct.js';

/** sys/mman.h */
const MFD_CLOEXEC = 1;

/** libbpf.h, struct bpf_object_open_opts: its first members, and among these btf_custom_path. */
const OPTIONS_BYTES = 56;
const PATH_AT = 48;

/** Undefined also where a newer kernel's BTF is not understood: libbpf may be newer, too. */
function subsetOf(names: readonly string[]): Uint8Array[] | undefined {
	try {
		return kernelBtf().subset(names);
	} catch (error) {
		if (error instanceof BtfError) return undefined;
		throw error;
	}
}

/** A file in memory that has BTF of a few of the kernel's types. */
export class KernelTypes {
	readonly #fd: number;
	readonly #path: string;

	private constructor(fd: number) {
		this.#fd = fd;
		this.#path = `/proc/self/fd/${fd}`;
	}

	/**
	 * Of these types, "struct task_struct". Undefined: libbpf has to look by itself, among all types and among those of modules: the kernel has
	 * none of one of these types, or such a file cannot be had. Throws TstraceError where the kernel has no BTF.
	 */
	static of(names: readonly string[]): KernelTypes | undefined {
		const parts = subsetOf(names);
		const fd = parts && (libc().memfd_create?.('tstrace-types', MFD_CLOEXEC) ?? -1);
		if (parts === undefined || fd === undefined || fd < 0) return undefined;
		const types = new KernelTypes(fd);
		try {
			// Less than all where a file may not be larger: man 2 setrlimit, RLIMIT_FSIZE.
			const bytes = parts.reduce((sum, { length }) => sum + length, 0);
			if (writevSync(fd, parts) < bytes) throw new Error('cut');
			// Of a process with capabilities of its own /proc/self/fd is root's.
			closeSync(openSync(types.#path, 'r'));
			return types;
		} catch {
			types.close();
			return undefined;
		}
	}

	/** Calls libbpf with the options that name the file. */
	give<T>(open: (options: Uint8Array) => T): T {
		const options = new PointingStruct(OPTIONS_BYTES);
		options.view.setBigUint64(0, BigInt(OPTIONS_BYTES), true);
		options.point(PATH_AT, Buffer.from(`${this.#path}\0`));
		return options.give(open);
	}

	close(): void {
		closeSync(this.#fd);
	}
}

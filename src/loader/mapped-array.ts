/** An array of one element that is not declared in an object: made when it is needed. */
import { closeSync } from 'node:fs';
import { TstraceError } from '../errors.js';
import { map_create, uapi } from '../generated/uapi.js';
import { failure, libc } from './ffi.js';
import { PROT, SharedMapping } from './memory.js';
import { BPF_SYSCALL_NUMBER } from './probes.js';

export class MappedArray {
	readonly fd: number;
	readonly #memory: SharedMapping;

	/**
	 * Its element has `bytes` bytes, all 0. Throws TstraceError when the kernel refuses: there is no memory, or no
	 * file descriptor left.
	 */
	constructor(bytes: number) {
		const attributes = new DataView(new ArrayBuffer(map_create.size));
		const set = (name: keyof typeof map_create.fields, value: number) =>
			attributes.setUint32(map_create.fields[name].offset, value, true);
		set('map_type', uapi.MAP_TYPE_ARRAY);
		set('key_size', 4);
		set('value_size', bytes);
		set('max_entries', 1);
		set('map_flags', uapi.MAP_MMAPABLE);
		const given = new Uint8Array(attributes.buffer);
		const fd = Number(libc().bpf(BPF_SYSCALL_NUMBER, uapi.CMD_MAP_CREATE, given, given.length));
		if (fd < 0) throw new TstraceError(`cannot make a BPF map of ${bytes} bytes: ${failure()}`);
		this.fd = fd;
		try {
			this.#memory = new SharedMapping(fd, bytes, PROT.read | PROT.write, 0);
		} catch (error) {
			closeSync(fd);
			throw error;
		}
	}

	/** The element, shared with the kernel; not to be touched after `close`. */
	get buffer(): ArrayBuffer {
		return this.#memory.buffer;
	}

	/** Programs that have the map keep it. */
	close(): void {
		this.#memory.unmap();
		closeSync(this.fd);
	}
}

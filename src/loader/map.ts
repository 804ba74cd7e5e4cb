/** BPF maps: single elements, per-CPU elements, batches. Source: man 2 bpf, libbpf's bpf.h. */
import { closeSync } from 'node:fs';
import { constants } from 'node:os';
import { TstraceError } from '../errors.js';
import { failure, libbpf, libc, type Pointer } from './ffi.js';
import { viewMemory } from './memory.js';

/** Elements that one batch call takes, at first; the kernel asks for more where it needs more. */
const BATCH_ELEMENTS = 4096;
/** fcntl.h: a descriptor of the same, which programs that are executed do not get. */
const F_DUPFD_CLOEXEC = 1030;
const BPF_ANY = 0;
const BPF_F_NO_PREALLOC = 1;
/** How long another thread may take to begin, and how often to look. */
const PATIENCE_MS = 20;
const POLL_MS = 0.1;
const { ENOENT, ENOSPC } = constants.errno;

/** A key for array maps, or any that is a u32. */
export function u32Key(value: number): Uint8Array {
	const key = new Uint8Array(4);
	new DataView(key.buffer).setUint32(0, value, true);
	return key;
}

/** Gets a batch of keys and values; the memory is used again for the next. */
type BatchReader = (keys: DataView, values: DataView, count: number) => void;

export class BpfMap {
	readonly name: string;
	readonly keySize: number;
	readonly valueSize: number;
	readonly #pointer: Pointer;

	constructor(pointer: Pointer) {
		const c = libbpf();
		this.#pointer = pointer;
		this.name = c.bpf_map__name(pointer);
		this.keySize = c.bpf_map__key_size(pointer);
		this.valueSize = c.bpf_map__value_size(pointer);
	}

	/** Before loading: how many elements there is room for. */
	setMaxEntries(entries: number): void {
		this.#check(libbpf().bpf_map__set_max_entries(this.#pointer, entries), 'resize');
	}

	/**
	 * Before loading: an element takes memory when it is added, and gives it back some time after it is deleted;
	 * else room for all of them is taken at once. See growing-maps.ts for where that works.
	 */
	setGrowing(): void {
		const flags = libbpf().bpf_map__map_flags(this.#pointer) | BPF_F_NO_PREALLOC;
		this.#check(libbpf().bpf_map__set_map_flags(this.#pointer, flags), 'set flags of');
	}

	/** Before loading: whether to create the map at all. */
	setAutocreate(create: boolean): void {
		this.#check(libbpf().bpf_map__set_autocreate(this.#pointer, create), 'skip');
	}

	get maxEntries(): number {
		return libbpf().bpf_map__max_entries(this.#pointer);
	}

	get fd(): number {
		return libbpf().bpf_map__fd(this.#pointer);
	}

	/** Before loading: the memory that a data section such as ".rodata" begins with, in place. */
	initialValue(): DataView {
		const size: [number] = [0];
		const pointer = libbpf().bpf_map__initial_value(this.#pointer, size);
		if (pointer === null) throw new TstraceError(`map ${this.name} has no memory of its own`);
		return new DataView(viewMemory(pointer, size[0]));
	}

	/** The value of a key on each possible CPU, `perCpuStride` bytes apart; undefined if none. */
	lookupPerCpu(key: Uint8Array): DataView | undefined {
		const value = new Uint8Array(this.perCpuStride * possibleCpus());
		const result = libbpf().bpf_map_lookup_elem(this.fd, key, value);
		if (result === -ENOENT) return undefined;
		this.#check(result, 'read');
		return new DataView(value.buffer);
	}

	/** The value of a key, of a map that is not by CPU; undefined if none. */
	lookup(key: Uint8Array): DataView | undefined {
		const value = new Uint8Array(this.valueSize);
		const result = libbpf().bpf_map_lookup_elem(this.fd, key, value);
		if (result === -ENOENT) return undefined;
		this.#check(result, 'read');
		return new DataView(value.buffer);
	}

	/** The kernel rounds each CPU's value up to 8 bytes. */
	get perCpuStride(): number {
		return Math.ceil(this.valueSize / 8) * 8;
	}

	/** Sets a key's value. For a per-CPU map give a value for each possible CPU. */
	update(key: Uint8Array, value: Uint8Array): void {
		const result = libbpf().bpf_map_update_elem(this.fd, key, value, BPF_ANY);
		this.#check(result, 'write to');
	}

	/**
	 * Puts a map into a map of maps, at a key that has none. Programs find it at once, but the system call returns only
	 * when all programs that ran before have ended, after 5 to 20 ms. So another thread makes it. Throws TstraceError.
	 */
	addInner(key: Uint8Array, fd: number): void {
		const isAsked = this.#updateAside(key, fd);
		const until_ms = performance.now() + PATIENCE_MS;
		while (isAsked && performance.now() < until_ms) {
			if (this.lookup(key) !== undefined) return;
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
		}
		// No other thread has done it in time: this one does it, or says why it cannot.
		this.update(key, u32Key(fd));
	}

	/**
	 * Has another thread put a map there; false: no thread can be asked. The thread may begin when our descriptors are
	 * closed and their numbers are used again, so it gets descriptors of its own.
	 */
	#updateAside(key: Uint8Array, fd: number): boolean {
		const owned = [this.fd, fd].map((each) => libc().fcntl(each, F_DUPFD_CLOEXEC, 0));
		const [to = -1, inner = -1] = owned;
		const close = () => {
			for (const each of owned) if (each >= 0) closeSync(each);
		};
		if (to >= 0 && inner >= 0) {
			const value = u32Key(inner);
			const done = () => {
				close();
				return [key, value]; // held until now
			};
			try {
				libbpf().bpf_map_update_elem_aside(to, key, value, BPF_ANY, done);
				return true;
			} catch {
				// koffi makes so many calls at once, and no more.
			}
		}
		close();
		return false;
	}

	/** Adds a value to a queue. */
	push(value: Uint8Array): void {
		this.#check(libbpf().bpf_map_update_elem(this.fd, null, value, BPF_ANY), 'add to');
	}

	/** Zeroes a key's values on all CPUs. */
	clearPerCpu(key: Uint8Array): void {
		this.update(key, new Uint8Array(this.perCpuStride * possibleCpus()));
	}

	/** Takes a key out; false when it was not there. */
	delete(key: Uint8Array): boolean {
		const result = libbpf().bpf_map_delete_elem(this.fd, key);
		if (result === -ENOENT) return false;
		this.#check(result, 'delete from');
		return true;
	}

	/** Whether there is no key in it. */
	isEmpty(): boolean {
		const first = new Uint8Array(this.keySize);
		const result = libbpf().bpf_map_get_next_key(this.fd, null, first);
		if (result === -ENOENT) return true;
		this.#check(result, 'read');
		return false;
	}

	/**
	 * Takes all elements out of a hash, in batches (5.6). `each` gets a batch's keys and values;
	 * the memory is used again for the next. No program may write to the map meanwhile.
	 */
	drain(each: BatchReader): void {
		this.#batches(libbpf().bpf_map_lookup_and_delete_batch, each);
	}

	/**
	 * Reads all elements of a hash, in batches (5.6), as `drain` does, and leaves them there. What
	 * programs add meanwhile may be among them or not, and what they take out, too.
	 */
	readAll(each: BatchReader): void {
		this.#batches(libbpf().bpf_map_lookup_batch, each);
	}

	#batches(nextBatch: ReturnType<typeof libbpf>['bpf_map_lookup_batch'], each: BatchReader): void {
		let room = Math.min(BATCH_ELEMENTS, this.maxEntries);
		let position: Uint8Array | null = null;
		for (;;) {
			const keys = new Uint8Array(room * this.keySize);
			const values = new Uint8Array(room * this.valueSize);
			const next = new Uint8Array(Math.max(8, this.keySize));
			const count: [number] = [room];
			const result: number = nextBatch(this.fd, position, next, keys, values, count, null);
			if (result === -ENOSPC && room < this.maxEntries) {
				// One bucket of the hash holds more than there is room for.
				room = Math.min(room * 2, this.maxEntries);
				continue;
			}
			if (result !== -ENOENT) this.#check(result, 'read');
			if (count[0] > 0) each(new DataView(keys.buffer), new DataView(values.buffer), count[0]);
			if (result === -ENOENT) return;
			position = next;
		}
	}

	#check(result: number, action: string): void {
		if (result < 0) {
			throw new TstraceError(`cannot ${action} BPF map ${this.name}: ${failure(result)}`);
		}
	}
}

let cpus = 0;

/** The number of CPUs the kernel keeps per-CPU values for, present or not. */
export function possibleCpus(): number {
	cpus ||= libbpf().libbpf_num_possible_cpus();
	return cpus;
}

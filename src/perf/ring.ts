/**
 * The reader's side of the ring of a perf event, read in place: no call into C for a record.
 * Source: include/uapi/linux/perf_event.h, man 2 perf_event_open.
 */
import { perf_event_header, perf_event_mmap_page } from '../generated/uapi.js';
import { PROT, pageSizeBytes, SharedMapping } from '../loader/memory.js';

/** Where in the first page the positions stand, in 64-bit words. */
const HEAD = perf_event_mmap_page.fields.data_head.offset / 8;
const TAIL = perf_event_mmap_page.fields.data_tail.offset / 8;

const HEADER_BYTES = perf_event_header.size;
const SIZE_AT = perf_event_header.fields.size.offset;
/** Records are as long as their 16-bit size can say. */
const RECORD_MAX_BYTES = 1 << 16;

/** How much is read before its room is freed: at each record would cost more than reading it. */
const FREE_EVERY_BYTES = 4096;

/** For records that wrap around; nobody keeps a record longer than the call it comes with. */
const scratch = new Uint8Array(RECORD_MAX_BYTES);

interface RingMemory {
	readonly buffer: ArrayBuffer;
	unmap(): void;
}

export class PerfRing {
	readonly #memory: RingMemory;
	readonly #dataAt: number;
	readonly #dataBytes: number;
	readonly #positions: BigUint64Array;
	readonly #view: DataView;
	readonly #bytes: Uint8Array;
	#tail: number;
	#nearlyFull = false;
	#closed = false;

	/** Over memory as the kernel lays it out: a page of control, then 2^n pages of data. */
	constructor(memory: RingMemory, pageBytes: number) {
		this.#memory = memory;
		this.#dataAt = pageBytes;
		this.#dataBytes = memory.buffer.byteLength - pageBytes;
		this.#positions = new BigUint64Array(memory.buffer, 0, pageBytes / 8);
		this.#view = new DataView(memory.buffer);
		this.#bytes = new Uint8Array(memory.buffer);
		this.#tail = Number(Atomics.load(this.#positions, TAIL));
	}

	/**
	 * Maps the ring of an event. `bytes` of data are a power of two of pages. Throws TstraceError;
	 * its detail is EPERM when it is more than this user may lock (man 2 perf_event_open, under
	 * perf_event_mlock_kb).
	 */
	static map(fd: number, bytes: number): PerfRing {
		const pageBytes = pageSizeBytes();
		return new PerfRing(
			new SharedMapping(fd, pageBytes + bytes, PROT.read | PROT.write, 0),
			pageBytes,
		);
	}

	/** Whether the last `read` found so little room that a record may have found none. */
	get nearlyFull(): boolean {
		return this.#nearlyFull;
	}

	/**
	 * Hands over the records that are there as it begins, in order, and frees their room. A view
	 * is valid during its call only. Returns false where it met something that is no record; what
	 * followed it is skipped.
	 */
	read(each: (record: DataView) => void): boolean {
		if (this.#closed) return true;
		// An acquire, so that the records are seen as they were before the kernel moved the head.
		const head = Number(Atomics.load(this.#positions, HEAD));
		const used = head - this.#tail;
		this.#nearlyFull = this.#dataBytes - used < RECORD_MAX_BYTES;
		if (used > this.#dataBytes) {
			this.#free(head);
			return false;
		}
		let freed = this.#tail;
		let position = freed;
		try {
			while (position < head) {
				const at = position % this.#dataBytes;
				const size = this.#view.getUint16(this.#dataAt + at + SIZE_AT, true);
				if (size < HEADER_BYTES || size % 8 !== 0 || size > head - position) {
					position = head;
					return false;
				}
				position += size;
				each(this.#record(at, size));
				if (position - freed >= FREE_EVERY_BYTES) {
					this.#free(position);
					freed = position;
				}
			}
			return true;
		} finally {
			this.#free(position);
		}
	}

	/** Unmaps the memory. Twice is once. */
	close(): void {
		if (!this.#closed) this.#memory.unmap();
		this.#closed = true;
	}

	#record(at: number, size: number): DataView {
		const start = this.#dataAt + at;
		const beforeEnd = this.#dataBytes - at;
		if (size <= beforeEnd) return new DataView(this.#memory.buffer, start, size);
		scratch.set(this.#bytes.subarray(start));
		scratch.set(this.#bytes.subarray(this.#dataAt, this.#dataAt + size - beforeEnd), beforeEnd);
		return new DataView(scratch.buffer, 0, size);
	}

	/** A release, so that the kernel writes there only after we have read. */
	#free(position: number): void {
		this.#tail = position;
		if (!this.#closed) Atomics.store(this.#positions, TAIL, BigInt(position));
	}
}

/**
 * The consumer's side of a BPF ring buffer (5.8), read in place through mapped memory: no call
 * into C for a record. Source: kernel/bpf/ringbuf.c, Documentation/bpf/ringbuf.rst.
 */
import type { node } from 'koffi';
import { uapi } from '../generated/uapi.js';
import { koffi } from './koffi.js';
import type { BpfMap } from './map.js';
import { PROT, pageSizeBytes, SharedMapping } from './memory.js';

const { RINGBUF_BUSY: BUSY, RINGBUF_DISCARD: DISCARD, RINGBUF_HEADER_BYTES: HEADER_BYTES } = uapi;
const LENGTH_MASK = ~(BUSY | DISCARD);
/** Room is given back in steps of so many bytes, as each step costs as much as a record. */
const FREED_BYTES = 1 << 14;

export class RingBuffer {
	readonly #consumer: SharedMapping;
	readonly #producer: SharedMapping;
	readonly #consumed: BigUint64Array;
	readonly #produced: BigUint64Array;
	readonly #headers: Int32Array;
	readonly #data: ArrayBuffer;
	readonly #dataAt: number;
	readonly #mask: number;
	#poll: node.PollHandle | undefined;
	#words: Uint32Array | undefined;
	#batchEnd = 0;

	/** Maps the ring of a loaded map of type BPF_MAP_TYPE_RINGBUF. */
	constructor(map: BpfMap) {
		const page = pageSizeBytes();
		const bytes = map.maxEntries;
		this.#mask = bytes - 1;
		// The consumer's page may be written; the producer's page and the data may not. The data
		// is mapped twice in a row, so that a record that wraps around is still in one piece.
		this.#consumer = new SharedMapping(map.fd, page, PROT.read | PROT.write, 0);
		this.#producer = new SharedMapping(map.fd, page + 2 * bytes, PROT.read, page);
		this.#consumed = new BigUint64Array(this.#consumer.buffer, 0, 1);
		this.#produced = new BigUint64Array(this.#producer.buffer, 0, 1);
		this.#data = this.#producer.buffer;
		this.#dataAt = page;
		this.#headers = new Int32Array(this.#data);
	}

	/**
	 * Calls `onReadable` when there are records, which it takes with `read`; and not again before
	 * it has settled.
	 */
	watch(fd: number, onReadable: () => Promise<void>): void {
		const readable = { readable: true };
		const wake = () => {
			this.#poll?.stop();
			void onReadable().finally(() => this.#poll?.start(readable, wake));
		};
		this.#poll = koffi().node.poll(fd, readable, wake);
	}

	/**
	 * Hands over every record that is complete, in order, and frees its room some time afterwards. The view
	 * is valid during the call only. Returns how many there were.
	 */
	read(each: (record: DataView) => void): number {
		let count = 0;
		let position = Number(Atomics.load(this.#consumed, 0));
		let freed = position;
		// What is there now. Were it what comes meanwhile too, a storm would never let us go.
		const end = this.produced;
		try {
			while (position < end) {
				const at = this.#dataAt + (position % (this.#mask + 1));
				const header = Atomics.load(this.#headers, at / 4);
				if (header & BUSY) break;
				const length = header & LENGTH_MASK;
				// Before `each`: a record whose callback throws is not handed over again.
				position += (length + HEADER_BYTES + 7) & ~7;
				if (header & DISCARD) continue;
				count++;
				each(new DataView(this.#data, at + HEADER_BYTES, length));
				if (position - freed < FREED_BYTES) continue;
				this.#free(position);
				freed = position;
			}
		} finally {
			this.#free(position);
		}
		return count;
	}

	#free(position: number): void {
		Atomics.store(this.#consumed, 0, BigInt(position));
	}

	/** How many bytes programs have put in so far. */
	get produced(): number {
		return Number(Atomics.load(this.#produced, 0));
	}

	/** The mapped data in words, which `batch` tells places in. */
	get words(): Uint32Array {
		this.#words ??= new Uint32Array(this.#data);
		return this.#words;
	}

	/**
	 * For records by the million, without an object for each: puts the places of complete records
	 * into `places`, as indices of `words`, and returns how many. They stay until `release`. `end`: what
	 * `produced` was; were it what comes meanwhile too, a storm would never let us go.
	 */
	batch(places: Uint32Array, end: number): number {
		const position = Number(Atomics.load(this.#consumed, 0));
		const firstAt = position % (this.#mask + 1);
		let count = 0;
		let done = 0;
		while (count < places.length && position + done < end) {
			const at = (this.#dataAt + ((firstAt + done) & this.#mask)) / 4;
			const header = Atomics.load(this.#headers, at);
			if (header & BUSY) break;
			if (!(header & DISCARD)) places[count++] = at + HEADER_BYTES / 4;
			done += ((header & LENGTH_MASK) + HEADER_BYTES + 7) & ~7;
		}
		this.#batchEnd = position + done;
		return count;
	}

	/** Frees the room of the last batch. */
	release(): void {
		this.#free(this.#batchEnd);
	}

	/** Stops watching and unmaps the memory. */
	close(): void {
		this.#poll?.close();
		this.#poll = undefined;
		this.#consumer.unmap();
		this.#producer.unmap();
	}
}

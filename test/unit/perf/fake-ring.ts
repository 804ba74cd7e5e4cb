/** The kernel's side of a ring: kernel/events/ring_buffer.c. */
export const PAGE_BYTES = 4096;
const [HEAD_AT, TAIL_AT] = [1024, 1032];

export class FakeRing {
	readonly buffer: ArrayBuffer;
	unmapped = 0;
	readonly #view: DataView;
	readonly #dataBytes: number;

	constructor(dataBytes: number, position = 0) {
		this.#dataBytes = dataBytes;
		this.buffer = new ArrayBuffer(PAGE_BYTES + dataBytes);
		this.#view = new DataView(this.buffer);
		this.#view.setBigUint64(TAIL_AT, BigInt(position), true);
		this.head = position;
	}

	unmap(): void {
		this.unmapped++;
	}

	get head(): number {
		return Number(this.#view.getBigUint64(HEAD_AT, true));
	}

	set head(position: number) {
		this.#view.setBigUint64(HEAD_AT, BigInt(position), true);
	}

	get tail(): number {
		return Number(this.#view.getBigUint64(TAIL_AT, true));
	}

	/** A record whose bytes all are `fill`; false if there is no room. */
	write(size: number, fill: number): boolean {
		const bytes = new Uint8Array(size).fill(fill);
		new DataView(bytes.buffer).setUint16(6, size, true);
		return this.put(bytes);
	}

	/** A record as it is; false if there is no room. */
	put(record: Uint8Array): boolean {
		if (record.length > this.#dataBytes - (this.head - this.tail)) return false;
		for (const [i, byte] of record.entries()) this.poke(this.head + i, byte);
		this.head += record.length;
		return true;
	}

	poke(position: number, byte: number): void {
		this.#view.setUint8(PAGE_BYTES + (position % this.#dataBytes), byte);
	}
}

/** Structs for the kernel that have addresses of other memory in them. */
import { koffi } from './koffi.js';

/** What is at a fixed address, and stays there while the object is referenced. */
type Memory = Uint8Array | BigUint64Array;

/**
 * A struct that points to memory. An address is only a number: nothing in it keeps the memory from being
 * collected while the kernel reads there. So the struct holds what it points to, and `give` holds the
 * struct until the caller's synchronous work is over.
 */
export class PointingStruct {
	readonly view: DataView;
	readonly #bytes: Uint8Array;
	readonly #held: Memory[] = [];

	constructor(size_bytes: number) {
		this.#bytes = new Uint8Array(size_bytes);
		this.view = new DataView(this.#bytes.buffer);
	}

	/** Writes the address of `memory`. */
	point(at: number, memory: Memory): void {
		this.#held.push(memory);
		this.view.setBigUint64(at, koffi().address(memory), true);
	}

	/** Calls the kernel with the struct, and returns what it says. */
	give<T>(call: (bytes: Uint8Array) => T): T {
		// A variable ends where it is last used, as soon as code is optimised. What a WeakRef is made of
		// is kept to the end of the synchronous work: ECMAScript, AddToKeptObjects.
		new WeakRef(this.#held);
		return call(this.#bytes);
	}
}

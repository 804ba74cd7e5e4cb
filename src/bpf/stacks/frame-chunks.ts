/** The frames of stacks, which lie in an array whose elements are a megabyte each. */

import { stack_constant } from '../../generated/common.js';
import type { BpfMap } from '../../loader/map.js';
import { PROT, SharedMapping } from '../../loader/memory.js';

/** bpf/lib/stacks/stacks.h: the same in all objects that include it. */
const { CHUNK_FRAMES } = stack_constant;

/**
 * Maps a chunk when a stack in it is read. Of mapped memory of a BPF map every page counts as resident,
 * whether it was touched or not; most runs fill one chunk of seventeen.
 */
export class FrameChunks {
	readonly #map: BpfMap;
	readonly #mappings = new Map<number, { mapping: SharedMapping; view: DataView }>();

	/** `map`: `frames` of a loaded object. Throws TstraceError. */
	constructor(map: BpfMap) {
		this.#map = map;
		// If it cannot be mapped, that shows before tracing begins.
		this.#add(0);
	}

	/** Where the frame with this number lies; those of one stack are in one chunk. Throws TstraceError. */
	find(frame: number): { view: DataView; at: number } {
		const chunk = Math.floor(frame / CHUNK_FRAMES);
		const { view } = this.#mappings.get(chunk) ?? this.#add(chunk);
		return { view, at: (frame % CHUNK_FRAMES) * 8 };
	}

	/** What `find` gave must not be read any more, and nothing be found. */
	close(): void {
		for (const { mapping } of this.#mappings.values()) mapping.unmap();
		this.#mappings.clear();
	}

	#add(chunk: number): { mapping: SharedMapping; view: DataView } {
		const { fd, valueSize: bytes } = this.#map;
		const mapping = new SharedMapping(fd, bytes, PROT.read, chunk * bytes);
		const added = { mapping, view: new DataView(mapping.buffer) };
		this.#mappings.set(chunk, added);
		return added;
	}
}

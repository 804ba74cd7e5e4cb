/**
 * Code of WebAssembly, found by an address in it. V8 keeps it in objects of C++, whose layout is the version's; whatever
 * is read there may be forged, or be changed at this moment, and is checked. Source: V8's wasm-code-manager.h,
 * wasm-engine.cc, wasm-import-wrapper-cache.h; libstdc++'s stl_tree.h.
 */
import type { RuntimeMemory } from '../runtime.js';
import type { WasmForm } from './versions.js';

/** Where V8 has it. */
export interface WasmLayout extends WasmForm {
	/** The variable that points to what V8 has of WebAssembly. */
	readonly state: number;
}

/** std::map, from the colour of its header on: the root; of a node: what is smaller, what is larger, key and value. */
const ROOT_AT = 8;
const NODE = { left: 16, right: 24, key: 32, value: 40 } as const;
/** More than a red-black tree of all memory has. */
const MAX_STEPS = 96;
/** What a region has behind its beginning and its end: the module. */
const REGION_MODULE_AT = NODE.value + 8;
/** Behind the header of a module's map of code: a vector of code that is not in the map yet. */
const VECTOR_AT = 40;
const POINTER_BYTES = 8;
/** WasmCode: its module, and its instructions. */
const CODE_START_AT = 8;
/** V8 takes no module with more functions, 1,000,000 of its own and 100,000 imported ones. */
const MAX_FUNCTIONS = 1_100_000;
const MAX_CODE_BYTES = 1 << 30;
/** Code that is not in maps yet: what is read for one address, the next for the next, and what is known of all modules. */
const MAX_NEW = 128;
const MAX_NEW_KEPT = 200_000;

export interface WasmCode {
	/** Its NativeModule; 0: it is of no one module. */
	readonly module: number;
	readonly start: number;
	readonly end: number;
	/** Of its function; -1: of none. */
	readonly number: number;
	/** It calls JavaScript. */
	readonly isToJs: boolean;
}

/** What was read of a vector. */
interface Known {
	readonly begin: number;
	/** Where the objects are. */
	readonly objects: number[];
	readonly codes: (WasmCode | undefined)[];
}

export class WasmCodes {
	readonly #memory: RuntimeMemory;
	readonly #layout: WasmLayout;
	/** Of a WasmCode, with all that is looked at. */
	readonly #code_bytes: number;
	/** By module: its code that was not in the map. */
	readonly #new = new Map<number, Known>();
	#newKept = 0;

	constructor(memory: RuntimeMemory, layout: WasmLayout) {
		this.#memory = memory;
		this.#layout = layout;
		const { codeSize, codeNumber, codeKind } = layout;
		this.#code_bytes = Math.max(codeSize + 4, codeNumber + 4, (codeKind?.at ?? 0) + 1);
	}

	/**
	 * 'none': the address is in no memory that is for such code. Undefined: it is, and no code was found; or V8's
	 * objects could not be read, as they are swapped out, or change at this moment.
	 */
	at(address: number): WasmCode | 'none' | undefined {
		const state = this.word(this.#layout.state);
		if (state === undefined) return undefined;
		if (state === 0) return 'none';
		const region = this.#lastNode(state + this.#layout.regions, address);
		if (region === 'none') return this.#wrapperAt(state, address);
		const end = region === undefined ? undefined : this.word(region + NODE.value);
		if (region === undefined || end === undefined) return undefined;
		if (address >= end) return this.#wrapperAt(state, address);
		const module = this.word(region + REGION_MODULE_AT);
		return module ? this.#codeOf(module, address) : undefined;
	}

	/** A number of 64 bits. */
	word(at: number): number | undefined {
		const view = this.#memory.read(at, POINTER_BYTES);
		return view && wordIn(view, 0);
	}

	/** Code by which any module calls JavaScript. */
	#wrapperAt(state: number, address: number): WasmCode | 'none' | undefined {
		const { wrappers } = this.#layout;
		const code = wrappers === undefined ? 'none' : this.#lastIn(state + wrappers, 0, address);
		if (code === 'none' || code === undefined) return code;
		return isIn(code, address) ? { ...code, isToJs: true } : 'none';
	}

	#codeOf(module: number, address: number): WasmCode | undefined {
		const map = module + this.#layout.moduleCode;
		const code = this.#lastIn(map, module, address);
		if (code && code !== 'none' && isIn(code, address)) return code;
		return this.#inVector(map + VECTOR_AT, module, address);
	}

	/** The last code of a map that begins at or before this address; undefined: it could not be read. */
	#lastIn(map: number, module: number, address: number): WasmCode | 'none' | undefined {
		const node = this.#lastNode(map, address);
		if (node === 'none' || node === undefined) return node;
		const object = this.word(node + NODE.value);
		return object ? this.#code(object, module) : undefined;
	}

	/** V8 moves code from there into the map when it looks for some itself. */
	#inVector(vector: number, module: number, address: number): WasmCode | undefined {
		const known = this.#knownOf(vector, module);
		const at = known?.codes.findLastIndex((code) => code && isIn(code, address)) ?? -1;
		const object = known?.objects[at];
		const code = object === undefined ? undefined : this.#code(object, module);
		return code && isIn(code, address) ? code : undefined;
	}

	/** What is in a vector, with some that was not read before. */
	#knownOf(vector: number, module: number): Known | undefined {
		const begin = this.word(vector);
		const end = this.word(vector + POINTER_BYTES);
		if (!begin || end === undefined) return undefined;
		const known = this.#stillThere(module, begin) ?? { begin, objects: [], codes: [] };
		const from = known.objects.length;
		const count = Math.min((end - begin) / POINTER_BYTES - from, MAX_NEW);
		if (this.#newKept + count > MAX_NEW_KEPT) {
			this.#new.clear();
			this.#newKept = 0;
			return undefined;
		}
		const view =
			count >= 1 && Number.isInteger(count)
				? this.#memory.read(begin + from * POINTER_BYTES, count * POINTER_BYTES)
				: undefined;
		for (let at = 0; view && at < view.byteLength; at += POINTER_BYTES) {
			const object = wordIn(view, at);
			known.objects.push(object);
			known.codes.push(this.#code(object, module));
		}
		this.#newKept += view ? count : 0;
		if (known.objects.length > 0) this.#new.set(module, known);
		return known;
	}

	/** What was read of a vector, if it has not been emptied since: then others would be last. */
	#stillThere(module: number, begin: number): Known | undefined {
		const known = this.#new.get(module);
		const last = known?.objects.at(-1);
		if (!known || last === undefined) return undefined;
		const place = begin + (known.objects.length - 1) * POINTER_BYTES;
		// It moves as it grows.
		if (this.word(place) === last) return { ...known, begin };
		this.#newKept -= known.objects.length;
		this.#new.delete(module);
		return undefined;
	}

	/** Undefined: there is no code of the module's. */
	#code(at: number, module: number): WasmCode | undefined {
		const { codeSize, codeNumber, codeKind } = this.#layout;
		// At once: objects that lie across two pages are not kept when they are read.
		const view = this.#memory.read(at, this.#code_bytes);
		if (!view || wordIn(view, 0) !== module) return undefined;
		const start = wordIn(view, CODE_START_AT);
		const size_bytes = view.getInt32(codeSize, true);
		const number = view.getInt32(codeNumber, true);
		if (size_bytes <= 0 || size_bytes > MAX_CODE_BYTES) return undefined;
		if (number < -1 || number > MAX_FUNCTIONS) return undefined;
		const isToJs =
			codeKind !== undefined && (view.getUint8(codeKind.at) & codeKind.mask) === codeKind.toJs;
		return { module, start, end: start + size_bytes, number, isToJs };
	}

	/** In a std::map by address: the node with the last key at or before this one; undefined: it could not be read. */
	#lastNode(map: number, address: number): number | 'none' | undefined {
		let node = this.word(map + ROOT_AT);
		let found: number | 'none' = 'none';
		for (let steps = 0; node && steps < MAX_STEPS; steps++) {
			const key = this.word(node + NODE.key);
			if (key === undefined) return undefined;
			if (key <= address) found = node;
			node = this.word(node + (key <= address ? NODE.right : NODE.left));
		}
		// A tree that does not end is none.
		return node === 0 ? found : undefined;
	}
}

const wordIn = (view: DataView, at: number): number =>
	view.getUint32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);

const isIn = ({ start, end }: WasmCode, address: number): boolean =>
	address >= start && address < end;

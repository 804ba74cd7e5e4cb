/**
 * Functions of WebAssembly, found by an address in their code: V8 keeps for the whole process where the code of each
 * module is. These are objects of C++, whose layout is the version's; whatever is read there is checked. Source: V8's
 * wasm-code-manager.h, wasm-engine.cc; libstdc++'s stl_tree.h.
 */
import type { LanguageFunction, RuntimeMemory } from '../runtime.js';
import type { WasmForm } from './versions.js';
import { WireBytes } from './wire-bytes.js';

/** Where V8 has it. */
export interface WasmLayout extends WasmForm {
	/** The variable that points to what V8 has of WebAssembly. */
	readonly state: number;
}

/** std::map, from the colour of its header on: the root; of a node: what is smaller, what is larger, key and value. */
const ROOT_AT = 8;
const NODE = { left: 16, right: 24, key: 32, value: 40 } as const;
/** Behind the header: a vector of code that is not in the map yet. */
const VECTOR_AT = 40;
/** What a region has behind its beginning: its end, and the module. */
const REGION_MODULE_AT = NODE.value + 8;
/** A red-black tree of all memory that there is. */
const MAX_STEPS = 96;
/** WasmCode: its module, and its instructions. */
const CODE_START_AT = 8;
/** Vector<const uint8_t>: how long it is. */
const LENGTH_AT = 8;
/** V8 takes no module with more; imported ones besides. */
const MAX_FUNCTIONS = 1_100_000;
const MAX_CODE_BYTES = 1 << 30;
/** Code that is not in the map yet: what is looked at for one address. */
const MAX_NEW = 4096;
/** Modules whose names are known, and names in all of them. */
const MAX_MODULES = 256;
const MAX_NAMES = 1_000_000;

interface Code {
	readonly module: number;
	readonly start: number;
	readonly size_bytes: number;
	/** Of its function; -1: of none. */
	readonly number: number;
	readonly isToJs: boolean;
}

export class WasmFunctions {
	readonly #memory: RuntimeMemory;
	readonly #layout: WasmLayout;
	/** By their NativeModule. */
	readonly #modules = new Map<number, WireBytes>();
	#namesKept = 0;

	constructor(memory: RuntimeMemory, layout: WasmLayout) {
		this.#memory = memory;
		this.#layout = layout;
	}

	/** 'none': this is no code of WebAssembly's functions. Undefined: it is, and could not be read. */
	at(address: number): LanguageFunction | 'none' | undefined {
		const state = this.#word(this.#layout.state);
		if (!state) return 'none';
		const region = this.#last(state + this.#layout.regions, address);
		const end = region && this.#word(region + NODE.value);
		if (!region || end === undefined || address >= end) return 'none';
		const module = this.#word(region + REGION_MODULE_AT);
		const code = module && this.#codeIn(module, address);
		if (!code) return undefined;
		if (code.number < 0) return 'none';
		const wire = this.#wireOf(code.module);
		if (!wire) return undefined;
		const own = wire.nameOf(code.number) ?? `wasm-function[${code.number}]`;
		const name = code.isToJs ? 'wasm-to-js' : own;
		return { name, file: wire.address, line: undefined };
	}

	#codeIn(module: number, address: number): Code | undefined {
		const map = module + this.#layout.moduleCode;
		const node = this.#last(map, address);
		const known = node && this.#word(node + NODE.value);
		const code = known ? this.#code(known, module) : undefined;
		return code && isIn(code, address) ? code : this.#newCodeIn(module, map + VECTOR_AT, address);
	}

	/** V8 puts code into the map when it looks there itself. */
	#newCodeIn(module: number, vector: number, address: number): Code | undefined {
		const begin = this.#word(vector);
		const end = this.#word(vector + 8);
		if (begin === undefined || end === undefined || end <= begin) return undefined;
		const count = Math.min((end - begin) / 8, MAX_NEW);
		// Those that came last.
		const view = Number.isInteger(count)
			? this.#memory.read(end - count * 8, count * 8)
			: undefined;
		for (let i = count - 1; view && i >= 0; i--) {
			const code = this.#code(addressIn(view, i * 8), module);
			if (code && isIn(code, address)) return code;
		}
		return undefined;
	}

	/** Undefined: there is no code of the module's. */
	#code(at: number, module: number): Code | undefined {
		const { codeSize, codeNumber, codeKind } = this.#layout;
		if (this.#word(at) !== module) return undefined;
		const start = this.#word(at + CODE_START_AT);
		const size_bytes = this.#int32(at + codeSize);
		const number = this.#int32(at + codeNumber);
		if (start === undefined || size_bytes === undefined || number === undefined) return undefined;
		if (size_bytes <= 0 || size_bytes > MAX_CODE_BYTES || number < -1 || number > MAX_FUNCTIONS)
			return undefined;
		const flags = codeKind && this.#memory.read(at + codeKind.at, 1)?.getUint8(0);
		const isToJs = codeKind !== undefined && ((flags ?? 0) & codeKind.mask) === codeKind.toJs;
		return { module, start, size_bytes, number, isToJs };
	}

	#wireOf(module: number): WireBytes | undefined {
		const bytes = this.#word(module + this.#layout.moduleWire);
		const at = bytes && this.#word(bytes);
		const length = bytes && this.#word(bytes + LENGTH_AT);
		if (!at || !length) return undefined;
		const known = this.#modules.get(module);
		if (known?.isAt(at, length)) return known;
		const wire = WireBytes.read(this.#memory, at, length, this.#layout.hash);
		if (!wire) return undefined;
		this.#namesKept += wire.count - (known?.count ?? 0);
		if (this.#modules.size >= MAX_MODULES || this.#namesKept > MAX_NAMES) {
			this.#modules.clear();
			this.#namesKept = wire.count;
		}
		this.#modules.set(module, wire);
		return wire;
	}

	/** In a std::map by address: the node with the last key at or before this one. */
	#last(map: number, address: number): number | undefined {
		let node = this.#word(map + ROOT_AT);
		let found: number | undefined;
		for (let steps = 0; node && steps < MAX_STEPS; steps++) {
			const key = this.#word(node + NODE.key);
			if (key === undefined) return undefined;
			if (key <= address) found = node;
			node = this.#word(node + (key <= address ? NODE.right : NODE.left));
		}
		// A tree that does not end is none.
		return node === 0 ? found : undefined;
	}

	#word(at: number): number | undefined {
		const view = this.#memory.read(at, 8);
		return view && addressIn(view, 0);
	}

	#int32(at: number): number | undefined {
		return this.#memory.read(at, 4)?.getInt32(0, true);
	}
}

const addressIn = (view: DataView, at: number): number =>
	view.getUint32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);

const isIn = ({ start, size_bytes }: Code, address: number): boolean =>
	address >= start && address < start + size_bytes;

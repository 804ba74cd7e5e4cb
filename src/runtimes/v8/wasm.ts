/** Names of functions of WebAssembly, by an address in their code: as V8's own profiles have them. */
import type { LanguageFunction, RuntimeMemory } from '../runtime.js';
import { WasmCodes, type WasmLayout } from './wasm-code.js';
import { WireBytes } from './wire-bytes.js';

/** Code between JavaScript and WebAssembly, one way and the other. */
export const JS_TO_WASM = 'js-to-wasm';
const WASM_TO_JS = 'wasm-to-js';

/** Vector<const uint8_t>: how long it is. */
const LENGTH_AT = 8;
/** Modules whose names are known, and names in all of them. */
const MAX_MODULES = 256;
const MAX_NAMES = 1_000_000;

export class WasmFunctions {
	readonly #memory: RuntimeMemory;
	readonly #layout: WasmLayout;
	readonly #codes: WasmCodes;
	/** By their NativeModule. */
	readonly #modules = new Map<number, WireBytes>();
	#namesKept = 0;

	constructor(memory: RuntimeMemory, layout: WasmLayout) {
		this.#memory = memory;
		this.#layout = layout;
		this.#codes = new WasmCodes(memory, layout);
	}

	/** 'none': this is no code of WebAssembly's functions. Undefined: it is, and could not be read. */
	at(address: number): LanguageFunction | 'none' | undefined {
		const code = this.#codes.at(address);
		if (code === undefined || code === 'none') return code;
		const { module, number, isToJs } = code;
		if (module === 0) return { name: WASM_TO_JS, file: undefined, line: undefined };
		// Tables of jumps, and the like.
		if (number < 0) return 'none';
		const wire = this.#wireOf(module);
		if (!wire) return undefined;
		const name = isToJs ? WASM_TO_JS : wire.nameOf(number);
		return name === undefined ? undefined : { name, file: wire.address, line: undefined };
	}

	/** The bytes of a module. */
	#wireOf(module: number): WireBytes | undefined {
		const bytes = this.#codes.word(module + this.#layout.moduleWire);
		const at = bytes && this.#codes.word(bytes);
		const length = bytes && this.#codes.word(bytes + LENGTH_AT);
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
}

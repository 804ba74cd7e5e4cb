/** Names of functions of WebAssembly, by an address in their code: as V8's own profiles have them. */
import type { LanguageFunction, RuntimeMemory } from '../runtime.js';
import { WasmCodes, type WasmLayout } from './wasm-code.js';
import { WireBytes } from './wire-bytes.js';

/** Code between JavaScript and WebAssembly, one way and the other. */
export const JS_TO_WASM = 'js-to-wasm';
const WASM_TO_JS = 'wasm-to-js';

/** Vector<const uint8_t>: how long it is. */
const LENGTH_AT = 8;
/** Modules whose names are known, names in all of them, and functions that were found. */
const MAX_MODULES = 256;
const MAX_NAMES = 1_000_000;
const MAX_FOUND = 20_000;

/** V8 says no lines. `file`: its module. */
export const wasmFunction = (name: string, file: string | undefined): LanguageFunction => ({
	language: 'wasm',
	name,
	file,
	line: undefined,
});

/** Code by which any module calls JavaScript. */
const SHARED_TO_JS = wasmFunction(WASM_TO_JS, undefined);

interface Module {
	readonly wire: WireBytes;
	/** Its functions that were found, by number. */
	readonly found: Map<number, LanguageFunction>;
	readonly toJs: LanguageFunction;
}

export class WasmFunctions {
	readonly #memory: RuntimeMemory;
	readonly #layout: WasmLayout;
	readonly #codes: WasmCodes;
	/** By their NativeModule. */
	readonly #modules = new Map<number, Module>();
	#namesKept = 0;
	#foundKept = 0;

	constructor(memory: RuntimeMemory, layout: WasmLayout) {
		this.#memory = memory;
		this.#layout = layout;
		this.#codes = new WasmCodes(memory, layout);
	}

	/**
	 * One object for all addresses of a function. 'none': this is no code of WebAssembly's functions. Undefined: it is,
	 * and could not be read.
	 */
	at(address: number): LanguageFunction | 'none' | undefined {
		const code = this.#codes.at(address);
		if (code === undefined || code === 'none') return code;
		if (code.module === 0) return SHARED_TO_JS;
		// Tables of jumps, and the like.
		if (code.number < 0) return 'none';
		const module = this.#moduleAt(code.module);
		return module && (code.isToJs ? module.toJs : this.#functionOf(module, code.number));
	}

	#functionOf({ wire, found }: Module, number: number): LanguageFunction | undefined {
		const known = found.get(number);
		const name = known ? undefined : wire.nameOf(number);
		if (name === undefined) return known;
		const named = wasmFunction(name, wire.address);
		if (++this.#foundKept > MAX_FOUND) this.#forget();
		else found.set(number, named);
		return named;
	}

	#moduleAt(module: number): Module | undefined {
		const bytes = this.#codes.word(module + this.#layout.moduleWire);
		const at = bytes && this.#codes.word(bytes);
		const length = bytes && this.#codes.word(bytes + LENGTH_AT);
		if (!at || !length) return undefined;
		const known = this.#modules.get(module);
		if (known?.wire.isAt(at, length)) return known;
		const wire = WireBytes.read(this.#memory, at, length, this.#layout.hash);
		if (!wire) return undefined;
		this.#namesKept += wire.count - (known?.wire.count ?? 0);
		this.#foundKept -= known?.found.size ?? 0;
		if (this.#modules.size >= MAX_MODULES || this.#namesKept > MAX_NAMES) {
			this.#forget();
			this.#namesKept = wire.count;
		}
		const toJs = wasmFunction(WASM_TO_JS, wire.address);
		const read: Module = { wire, found: new Map(), toJs };
		this.#modules.set(module, read);
		return read;
	}

	#forget(): void {
		this.#modules.clear();
		this.#namesKept = 0;
		this.#foundKept = 0;
	}
}

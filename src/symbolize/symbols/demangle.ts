/**
 * Names as they were in the source: C++ (Itanium ABI) and Rust, old and new. By cpp_demangle and
 * rustc-demangle in WebAssembly, so whatever a stranger's name does to them stays inside.
 *
 * The package's own glue is not used: it remembers where the memory of its first instance is, and reads
 * there whatever a second one wrote. Here each instance has what belongs to it.
 */
import { readFileSync } from 'node:fs';
import { boundedName } from '../../bounded-names.js';

/** Longer ones are shown as they are: the time it takes grows faster than the name. */
const MAX_MANGLED_LENGTH = 2048;

type Demangle = (name: string) => string;

/** What wasm-bindgen makes of `fn demangle_any(name: String) -> String`. */
interface Exports {
	readonly memory: { readonly buffer: ArrayBuffer };
	readonly __wbindgen_start: () => void;
	readonly __wbindgen_malloc: (bytes: number, align: number) => number;
	readonly __wbindgen_free: (at: number, bytes: number, align: number) => void;
	/** Takes over the memory that the name is in; returns where the result is, and how long. */
	readonly demangle_any: (at: number, bytes: number) => [at: number, bytes: number];
}

let loaded: Demangle | undefined;

/**
 * The demangler; `demangle.wasm` lies beside the bundle. A name gives the same each time, whoever asks,
 * in whatever order.
 */
export function loadDemangler(): Demangle {
	loaded ??= newDemangler();
	return loaded;
}

function newDemangler(): Demangle {
	const module = new WebAssembly.Module(readFileSync(new URL('demangle.wasm', import.meta.url)));
	let inside = newInstance(module);
	return (name) => {
		if (!isMangled(name) || name.length > MAX_MANGLED_LENGTH) return name;
		try {
			const demangled = inside(name);
			// What it does not understand it gives back without the first underscore.
			return demangled === name.slice(1) ? name : boundedName(demangled);
		} catch {
			// Out of its stack, say. Its memory is not to be trusted after that.
			inside = newInstance(module);
			return name;
		}
	};
}

/** Calls an instance of its own. Throws whatever ends it. */
function newInstance(module: WebAssembly.Module): Demangle {
	const encoder = new TextEncoder();
	const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
	const instance = new WebAssembly.Instance(module, {
		// For objects of JavaScript that are handed over; there are none.
		'./index_bg.js': { __wbindgen_init_externref_table: () => {} },
	});
	const wasm = instance.exports;
	if (!isOurs(wasm)) throw new TypeError('demangle.wasm is damaged: install tstrace again');
	wasm.__wbindgen_start();
	// It may grow at each call, and is elsewhere then.
	const memory = (at: number, bytes: number) =>
		new Uint8Array(wasm.memory.buffer, at >>> 0, bytes >>> 0);
	return (name) => {
		const bytes = encoder.encode(name);
		const from = wasm.__wbindgen_malloc(bytes.length, 1);
		memory(from, bytes.length).set(bytes);
		const [at, length] = wasm.demangle_any(from, bytes.length);
		const demangled = decoder.decode(memory(at, length));
		wasm.__wbindgen_free(at, length, 1);
		return demangled;
	};
}

/** Whether everything is there that is called. */
function isOurs(exports: object): exports is Exports {
	return (
		typeof Reflect.get(exports, 'memory') === 'object' &&
		FUNCTIONS.every((name) => typeof Reflect.get(exports, name) === 'function')
	);
}

const FUNCTIONS: ReadonlyArray<keyof Exports> = [
	'__wbindgen_start',
	'__wbindgen_malloc',
	'__wbindgen_free',
	'demangle_any',
];

function isMangled(name: string): boolean {
	return name.startsWith('_Z') || name.startsWith('_R') || name.startsWith('__Z');
}

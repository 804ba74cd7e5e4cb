/**
 * Names as they were in the source: C++ (Itanium ABI) and Rust, old and new. By cpp_demangle and
 * rustc-demangle in WebAssembly, so whatever a stranger's name does to them stays inside.
 */
import { readFileSync } from 'node:fs';
import { boundedName } from './names.js';

/** Longer ones are shown as they are: the time it takes grows faster than the name. */
const MAX_MANGLED_LENGTH = 2048;

/** Begins a demangler; `demangle.wasm` lies beside the bundle. */
export async function loadDemangler(): Promise<(name: string) => string> {
	const glue = await import('gecko-profiler-demangle/index_bg.js');
	const module = new WebAssembly.Module(readFileSync(new URL('demangle.wasm', import.meta.url)));
	const { exports } = new WebAssembly.Instance(module, { './index_bg.js': { ...glue } });
	glue.__wbg_set_wasm(exports);
	(exports.__wbindgen_start as () => void)();
	let works = true;
	return (name) => {
		if (!works || !isMangled(name) || name.length > MAX_MANGLED_LENGTH) return name;
		try {
			const demangled = glue.demangle_any(name);
			// What it does not understand it gives back without the first underscore.
			return demangled === name.slice(1) ? name : boundedName(demangled);
		} catch {
			// Out of its stack, say. Its memory is not to be trusted after that; the glue has no way
			// to begin again, and names as they are will do.
			works = false;
			return name;
		}
	};
}

function isMangled(name: string): boolean {
	return name.startsWith('_Z') || name.startsWith('_R') || name.startsWith('__Z');
}

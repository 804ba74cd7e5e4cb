/** What is used of WebAssembly; TypeScript has it with a browser's types only. */
declare namespace WebAssembly {
	class Module {
		constructor(bytes: Uint8Array);
	}
	class Instance {
		readonly exports: Readonly<Record<string, unknown>>;
		constructor(module: Module, imports: Record<string, Record<string, unknown>>);
	}
}

/** The package's own glue, without its way to find the module, which is a bundler's. */
declare module 'gecko-profiler-demangle/index_bg.js' {
	export function demangle_any(name: string): string;
	export function __wbg_set_wasm(exports: WebAssembly.Instance['exports']): void;
	export function __wbindgen_init_externref_table(): void;
}

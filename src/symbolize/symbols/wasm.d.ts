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

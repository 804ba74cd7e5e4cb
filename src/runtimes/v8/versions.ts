/**
 * Versions of V8 whose objects are known here, and what no file tells of them. Looked up in the files of Node.js
 * themselves: v8dbg_… symbols, functions of ScopeInfo, what %DebugPrint shows of functions, and, of WebAssembly, memory
 * of a process with modules whose code and bytes are known.
 */
import type { WireHash } from './wire-hash.js';

/** How a ScopeInfo is laid out. Source: V8's scope-info.tq. */
export interface ScopeForm {
	/** Its flags are a Smi, and not the first 32 bits of their word. */
	readonly isFlagsSmi: boolean;
	/** Where the scope is in the source stands before its local variables, and not behind its names. */
	readonly isPositionFirst: boolean;
	/** The scope of a module says first how many variables it has; undefined: it does not. */
	readonly module: number | undefined;
}

/** Where a Code has what tells of its instructions. Source: V8's code.h. */
export interface CodeForm {
	/** What deoptimisation needs, and the table of positions in the source. */
	readonly codeDeoptimisation: number;
	readonly codePositions: number;
	/** The address of its instructions, and how many bytes they are. */
	readonly codeStart: number;
	readonly codeSize: number;
	/** In the table of positions, what kind each is are the lowest two bits of a step, and not its sign. */
	readonly hasUnsignedSteps: boolean;
}

/** Where V8 has the code and the bytes of modules of WebAssembly. Source: V8's wasm-code-manager.h, wasm-engine.cc. */
export interface WasmForm {
	/** In what V8 has of WebAssembly: the map of all regions of code. */
	readonly regions: number;
	/** The map of code by which modules call JavaScript, of all modules together; undefined: each has its own. */
	readonly wrappers: number | undefined;
	/** In a NativeModule: the map of its code, and its bytes. */
	readonly moduleCode: number;
	readonly moduleWire: number;
	/** In a WasmCode: how many bytes its instructions are, the number of its function, and what kind of code it is. */
	readonly codeSize: number;
	readonly codeNumber: number;
	/** Undefined: modules have no code of their own by which they call JavaScript. */
	readonly codeKind:
		| { readonly at: number; readonly mask: number; readonly toJs: number }
		| undefined;
	readonly hash: WireHash;
}

interface VersionFacts {
	/** Node.js that has it. */
	readonly node: number;
	/** Where a SharedFunctionInfo has its bytecode, or what stands for it. Without the sandbox, a pointer as others. */
	readonly sharedData: number;
	readonly scope: ScopeForm;
	readonly code: CodeForm;
	readonly wasm: WasmForm;
}

const LATE_SCOPE: ScopeForm = { isFlagsSmi: false, isPositionFirst: true, module: 5 };
const LATE_CODE: CodeForm = {
	codeDeoptimisation: 8,
	codePositions: 16,
	codeStart: 40,
	codeSize: 56,
	hasUnsignedSteps: true,
};

const EARLY_WASM: WasmForm = {
	regions: 72,
	wrappers: undefined,
	moduleCode: 312,
	moduleWire: 200,
	codeSize: 24,
	codeNumber: 44,
	codeKind: { at: 80, mask: 3, toJs: 2 },
	hash: 'one at a time',
};
const LATE_WASM: WasmForm = {
	regions: 40,
	wrappers: 168,
	moduleCode: 320,
	moduleWire: 240,
	codeSize: 32,
	codeNumber: 56,
	codeKind: undefined,
	hash: 'rapid',
};

/** Whole versions of Node.js keep to one of these, as their ABI stays. */
const VERSIONS: Readonly<Record<string, VersionFacts>> = {
	'11.3': {
		node: 20,
		sharedData: 8,
		scope: { isFlagsSmi: true, isPositionFirst: false, module: undefined },
		code: { ...LATE_CODE, codeDeoptimisation: 16, codePositions: 24, hasUnsignedSteps: false },
		wasm: EARLY_WASM,
	},
	'12.4': {
		node: 22,
		sharedData: 8,
		scope: { isFlagsSmi: true, isPositionFirst: false, module: 3 },
		code: { ...LATE_CODE, codeSize: 52, hasUnsignedSteps: false },
		wasm: { ...EARLY_WASM, moduleCode: 400 },
	},
	'13.6': {
		node: 24,
		sharedData: 8,
		scope: LATE_SCOPE,
		code: { ...LATE_CODE, hasUnsignedSteps: false },
		wasm: { ...LATE_WASM, hash: 'one at a time' },
	},
	'14.1': { node: 25, sharedData: 8, scope: LATE_SCOPE, code: LATE_CODE, wasm: LATE_WASM },
	'14.6': {
		node: 26,
		sharedData: 8,
		scope: LATE_SCOPE,
		code: LATE_CODE,
		wasm: { ...LATE_WASM, wrappers: 320, moduleCode: 312, moduleWire: 232 },
	},
};

/** Versions of Node.js whose functions have names. */
export const NODE_VERSIONS: readonly number[] = Object.values(VERSIONS).map(({ node }) => node);

/** Of "13.6"; undefined: it is not known. */
export function versionFacts(majorMinor: string): VersionFacts | undefined {
	return Object.hasOwn(VERSIONS, majorMinor) ? VERSIONS[majorMinor] : undefined;
}

/**
 * Versions of V8 whose objects are known here, and what no file tells of them. Looked up in the files of Node.js
 * themselves: v8dbg_… symbols, functions of ScopeInfo, and what %DebugPrint shows of functions.
 */

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

interface VersionFacts {
	/** Node.js that has it. */
	readonly node: number;
	/** Where a SharedFunctionInfo has its bytecode, or what stands for it. Without the sandbox, a pointer as others. */
	readonly sharedData: number;
	readonly scope: ScopeForm;
	readonly code: CodeForm;
}

const LATE_SCOPE: ScopeForm = { isFlagsSmi: false, isPositionFirst: true, module: 5 };
const LATE_CODE: CodeForm = {
	codeDeoptimisation: 8,
	codePositions: 16,
	codeStart: 40,
	codeSize: 56,
	hasUnsignedSteps: true,
};

/** Whole versions of Node.js keep to one of these, as their ABI stays. */
const VERSIONS: Readonly<Record<string, VersionFacts>> = {
	'11.3': {
		node: 20,
		sharedData: 8,
		scope: { isFlagsSmi: true, isPositionFirst: false, module: undefined },
		code: { ...LATE_CODE, codeDeoptimisation: 16, codePositions: 24, hasUnsignedSteps: false },
	},
	'12.4': {
		node: 22,
		sharedData: 8,
		scope: { isFlagsSmi: true, isPositionFirst: false, module: 3 },
		code: { ...LATE_CODE, codeSize: 52, hasUnsignedSteps: false },
	},
	'13.6': {
		node: 24,
		sharedData: 8,
		scope: LATE_SCOPE,
		code: { ...LATE_CODE, hasUnsignedSteps: false },
	},
	'14.1': { node: 25, sharedData: 8, scope: LATE_SCOPE, code: LATE_CODE },
	'14.6': { node: 26, sharedData: 8, scope: LATE_SCOPE, code: LATE_CODE },
};

/** Versions of Node.js whose functions have names. */
export const NODE_VERSIONS: readonly number[] = Object.values(VERSIONS).map(({ node }) => node);

/** Of "13.6"; undefined: it is not known. */
export function versionFacts(majorMinor: string): VersionFacts | undefined {
	return Object.hasOwn(VERSIONS, majorMinor) ? VERSIONS[majorMinor] : undefined;
}

/**
 * Where V8 has what tells of functions: in the file that V8 is in, and in the memory of a process that runs it. The
 * file says most of it itself, for debuggers: symbols v8dbg_… (V8's tools/gen-postmortem-metadata.py).
 */
import { type Elf, SEGMENT_TYPE } from '../../elf/elf.js';
import { type ExportedSymbol, ExportedSymbols } from '../../elf/exported-symbols.js';
import { symbolsNamed } from '../../elf/local-symbols.js';
import type { NotTaken } from '../runtime.js';
import { type CodeForm, type ScopeForm, versionFacts } from './versions.js';
import type { WasmLayout } from './wasm-code.js';

const VERSION = '_ZN2v88internal7Version';
const BUILTINS = 'v8_Default_embedded_blob_code_';
const BUILTINS_SIZE = 'v8_Default_embedded_blob_code_size_';
const WASM = '_ZN2v88internal4wasm12_GLOBAL__N_117global_wasm_stateE';
const INTERPRETER = 'Builtins_InterpreterEntryTrampoline';
/** Frames of optimised code that were made the interpreter's return to the beginning of these. */
const RESUMES: readonly string[] = ['', 'BaselineOr'].map(
	(or) => `Builtins_${or}InterpreterEnterAtNextBytecode`,
);

/** What the file has to say, each a number of 32 bits; the part behind "v8dbg_", by what each version calls it. */
const TOLD = {
	functionShared: ['class_JSFunction__shared__SharedFunctionInfo'],
	mapType: ['class_Map__instance_type__uint16_t'],
	sharedScope: [
		'class_SharedFunctionInfo__name_or_scope_info__Object',
		'class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_',
		'class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_',
	],
	sharedScript: [
		'class_SharedFunctionInfo__script_or_debug_info__HeapObject',
		'class_SharedFunctionInfo__raw_script__Tagged_Object_',
	],
	sharedLength: ['class_SharedFunctionInfo__length__uint16_t'],
	scriptName: ['class_Script__name__Object'],
	scriptSource: ['class_Script__source__Object'],
	uncompiledName: ['class_UncompiledData__inferred_name__String'],
	uncompiledStart: ['class_UncompiledData__start_position__int32_t'],
	stringLength: ['class_String__length__int32_t'],
	charactersOneByte: ['class_SeqOneByteString__chars__char'],
	charactersTwoByte: ['class_SeqTwoByteString__chars__char'],
	consFirst: ['class_ConsString__first__String'],
	consSecond: ['class_ConsString__second__String'],
	thinActual: ['class_ThinString__actual__String'],
	slicedParent: ['class_SlicedString__parent__String'],
	slicedOffset: ['class_SlicedString__offset__SMI'],
	externalResource: ['class_ExternalString__resource__Object'],
	sharedType: ['type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE'],
	scopeType: ['type_ScopeInfo__SCOPE_INFO_TYPE'],
	scriptType: ['type_Script__SCRIPT_TYPE'],
	uncompiledFirstType: [
		'type_UncompiledDataWithPreparseData__UNCOMPILED_DATA_WITH_PREPARSE_DATA_TYPE',
	],
	uncompiledLastType: [
		'type_UncompiledDataWithoutPreparseDataWithJob__UNCOMPILED_DATA_WITHOUT_PREPARSE_DATA_WITH_JOB_TYPE',
	],
	wasmDataType: ['type_WasmExportedFunctionData__WASM_EXPORTED_FUNCTION_DATA_TYPE'],
	streamType: ['type_InstructionStream__INSTRUCTION_STREAM_TYPE'],
	streamStart: ['class_InstructionStream__instruction_start__uintptr_t'],
	codeType: ['type_Code__CODE_TYPE'],
	ownFunctionIndex: [
		'DeoptimizationDataSharedFunctionInfoIndex',
		'DeoptimizationDataWrappedSharedFunctionInfoIndex',
	],
	inlinedCountIndex: ['DeoptimizationDataInlinedFunctionCountIndex'],
	literalsIndex: ['DeoptimizationDataLiteralArrayIndex'],
	inliningPositionsIndex: ['DeoptimizationDataInliningPositionsIndex'],
} as const satisfies Record<string, readonly string[]>;

/** What has to be so, as programs (bpf/lib/runtimes/v8.h) and heap.ts count on it. */
const EXPECTED = {
	off_fp_function: -16,
	off_fp_context: -8,
	TaggedSize: 8,
	SmiValueShift: 1,
	SmiShiftSize: 31,
	HeapObjectTag: 1,
} as const;

/** Offsets in objects of V8's, and numbers of their types. */
type ToldLayout = Readonly<Record<keyof typeof TOLD, number>>;

export interface HeapLayout extends ToldLayout, CodeForm {
	readonly sharedData: number;
	readonly scope: ScopeForm;
}

/** Where code is, from the beginning of the file on. */
interface CodeRange {
	readonly start: number;
	readonly end: number;
}

/** A part of the file, and where it is in memory. */
export interface LoadedPart {
	readonly start: number;
	readonly end: number;
	readonly offset: number;
}

export interface V8Layout {
	readonly heap: HeapLayout;
	/** What of the file is in memory; empty if that is somewhere else in each process. */
	readonly loaded: readonly LoadedPart[];
	/** Code that V8 brings along. */
	readonly builtins: CodeRange;
	/** The part of it that runs functions which are not compiled. */
	readonly interpreter: CodeRange;
	/** Where functions go on that were optimised as they called something. */
	readonly resumes: readonly number[];
	/** Undefined: functions of WebAssembly have no names, as the file does not say where they are in memory. */
	readonly wasm: WasmLayout | undefined;
}

/** A file that V8 is in. */
export interface V8File {
	readonly runtime: 'v8';
	/** "11.3.244" */
	readonly version: string;
	/** Undefined: functions of this version are not named, or the file lacks what it takes. */
	readonly layout: V8Layout | undefined;
	/** Why; undefined: they are named. */
	readonly problem: 'version' | 'symbols' | NotTaken | undefined;
}

/** Undefined: V8 is not in this file. Throws SymbolError. */
export function v8In(elf: Elf): V8File | undefined {
	const numbers = new Numbers(elf);
	const [major, minor, build] = ['major_', 'minor_', 'build_'].map((part) =>
		numbers.find(`${VERSION}6${part}E`),
	);
	if (major === undefined || minor === undefined || build === undefined) return undefined;
	const file = { runtime: 'v8', version: `${major}.${minor}.${build}` } as const;
	const facts = versionFacts(`${major}.${minor}`);
	if (!facts) return { ...file, layout: undefined, problem: 'version' };
	const { sharedData, scope, code: codeForm, wasm: wasmForm } = facts;
	const told = toldBy(numbers);
	const found = told && symbolsNamed(elf, [BUILTINS, BUILTINS_SIZE, INTERPRETER, ...RESUMES, WASM]);
	const code = found && codeIn(elf, numbers, found);
	const state = found?.get(WASM)?.address;
	const wasm = elf.isFixed && state ? { ...wasmForm, state } : undefined;
	const heap = told && { ...told, ...codeForm, sharedData, scope };
	const layout = heap && code && { heap, ...code, wasm, loaded: loadedParts(elf) };
	return { ...file, layout, problem: layout ? undefined : 'symbols' };
}

function toldBy(numbers: Numbers): ToldLayout | undefined {
	for (const [name, value] of Object.entries(EXPECTED))
		if (numbers.find(`v8dbg_${name}`) !== value) return undefined;
	const told: Partial<Record<keyof typeof TOLD, number>> = {};
	for (const [key, names] of Object.entries(TOLD) as [keyof typeof TOLD, readonly string[]][]) {
		const value = numbers.findOne(names.map((name) => `v8dbg_${name}`));
		if (value === undefined) return undefined;
		told[key] = value;
	}
	return told as ToldLayout;
}

/** These names are of a table that `strip` takes away. */
function codeIn(
	elf: Elf,
	numbers: Numbers,
	found: ReadonlyMap<string, ExportedSymbol>,
): Omit<V8Layout, 'heap' | 'wasm' | 'loaded'> | undefined {
	const builtins = found.get(BUILTINS);
	const size = found.get(BUILTINS_SIZE);
	const interpreter = found.get(INTERPRETER);
	const size_bytes = size && numbers.at(size.address);
	if (!builtins || !interpreter || !size_bytes) return undefined;
	const range = (address: number, length_bytes: number) => {
		const start = fileOffsetOf(elf, address);
		return start === undefined ? undefined : { start, end: start + length_bytes };
	};
	const all = range(builtins.address, size_bytes);
	const one = range(interpreter.address, interpreter.size_bytes);
	const resumes = RESUMES.flatMap((name) => {
		const symbol = found.get(name);
		return (symbol && fileOffsetOf(elf, symbol.address)) ?? [];
	});
	return all && one && { builtins: all, interpreter: one, resumes };
}

function loadedParts(elf: Elf): readonly LoadedPart[] {
	if (!elf.isFixed) return [];
	return elf.segments.flatMap(({ type, offset, address, size_bytes }) =>
		type === SEGMENT_TYPE.load ? { start: address, end: address + size_bytes, offset } : [],
	);
}

function fileOffsetOf(elf: Elf, linked: number): number | undefined {
	for (const { type, offset, address, size_bytes } of elf.segments)
		if (type === SEGMENT_TYPE.load && linked >= address && linked < address + size_bytes)
			return linked - address + offset;
	return undefined;
}

/** Variables of 32 bits that a file exports, as they are before it runs. */
class Numbers {
	readonly #elf: Elf;
	readonly #symbols: ExportedSymbols;

	constructor(elf: Elf) {
		this.#elf = elf;
		this.#symbols = new ExportedSymbols(elf);
	}

	find(name: string): number | undefined {
		const symbol = this.#symbols.find(name);
		return symbol && this.at(symbol.address);
	}

	/** Of the first of these that there is. */
	findOne(names: readonly string[]): number | undefined {
		for (const name of names) {
			const value = this.find(name);
			if (value !== undefined) return value;
		}
		return undefined;
	}

	/** What the file does not have is 0 in memory. */
	at(address: number): number {
		const offset = fileOffsetOf(this.#elf, address);
		return offset === undefined ? 0 : this.#elf.bytes.read(offset, 4).readInt32LE(0);
	}
}

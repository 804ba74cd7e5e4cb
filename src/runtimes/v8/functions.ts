/** JavaScript functions, out of the memory of a process that runs V8. Source: V8's shared-function-info.tq. */
import { boundedName } from '../../bounded-names.js';
import type { FunctionReader, FunctionWord, LanguageFunction, RuntimeMemory } from '../runtime.js';
import { printAt } from './frame.js';
import { Heap } from './heap.js';
import { InlinedFunctions } from './inlined.js';
import type { V8Layout } from './layout.js';
import { lineAt, lineEnds } from './lines.js';
import { scopeAt } from './scope.js';
import { JS_TO_WASM, WasmFunctions, wasmFunction } from './wasm.js';

/** Characters. */
const MAX_NAME = 512;
const MAX_PATH = 4096;
/** Of a script: larger ones are bundles of everything. */
const MAX_SOURCE_BYTES = 4 << 20;
const MAX_SOURCE_LINES = 500_000;
/** Of all scripts of a process that are kept together. */
const MAX_SOURCES_BYTES = 64 << 20;
const MAX_LINES = 2_000_000;
const MAX_SCRIPTS = 4096;
/** To read a source, which the collector may be moving. */
const MAX_ATTEMPTS = 3;

/** Where its first line is in a file that it is only a part of; behind its name. */
const LINE_OFFSET_AT = 8;

interface Script {
	/** Undefined: it has no name. */
	readonly file: string | undefined;
	readonly source: number | undefined;
	readonly firstLine: number;
	/** Undefined: it was not found yet, as the collector moves it perhaps; 'unknown': it cannot be read. */
	lineEnds: Uint32Array | 'unknown' | undefined;
	attempts: number;
}

interface FunctionFacts {
	readonly name: string;
	readonly start: number | undefined;
}

/** What is kept of them, and forgotten together. */
class Scripts {
	/** By where they are. */
	readonly byPlace = new Map<number, Script>();
	lines = 0;
	sources_bytes = 0;
}

export class V8Functions implements FunctionReader {
	readonly #heap: Heap;
	readonly #inlined: InlinedFunctions;
	readonly #wasm: WasmFunctions | undefined;
	readonly #loaded: V8Layout['loaded'];
	#scripts = new Scripts();

	constructor(
		memory: RuntimeMemory,
		{ heap, wasm, loaded }: Pick<V8Layout, 'heap' | 'wasm' | 'loaded'>,
	) {
		this.#heap = new Heap(memory, heap);
		this.#inlined = new InlinedFunctions(this.#heap);
		this.#wasm = wasm && new WasmFunctions(memory, wasm);
		this.#loaded = loaded;
	}

	madeAt(address: number): LanguageFunction | 'none' | undefined {
		return this.#wasm ? this.#wasm.at(address) : 'none';
	}

	inlinedAt(address: number, frame: FunctionWord): readonly FunctionWord[] | undefined {
		return this.#inlined.at(address, frame);
	}

	functionAt({ place, print }: FunctionWord): LanguageFunction | 'none' | undefined {
		const { sharedType, sharedScript, scriptType } = this.#heap.layout;
		if (this.#heap.typeOf(place) !== sharedType || printAt(this.#heap, place) !== print)
			return undefined;
		const scriptPointer = this.#heap.pointer(place, sharedScript);
		if (scriptPointer === undefined) return undefined;
		const type = this.#heap.typeOf(scriptPointer);
		if (type === undefined) return undefined;
		// A builtin has none; one that is being debugged has it elsewhere.
		if (type !== scriptType) return 'none';
		const facts = this.#factsAt(place);
		const script = this.#scriptAt(scriptPointer);
		if (!facts || !script) return undefined;
		if (this.#isOfWasm(place)) return wasmFunction(JS_TO_WASM, script.file);
		const line = this.#lineOf(script, facts.start);
		const isLineLater = facts.start !== undefined && script.lineEnds === undefined;
		return {
			language: 'javascript',
			name: facts.name,
			file: script.file,
			line,
			...(isLineLater ? { isLineLater } : {}),
		};
	}

	/** Undefined: it could not be read; what cannot be read may be there. */
	#factsAt(shared: number): FunctionFacts | undefined {
		const { sharedScope, scopeType } = this.#heap.layout;
		if (!this.#heap.has(shared, sharedScope)) return undefined;
		const pointer = this.#heap.pointer(shared, sharedScope);
		const uncompiled = this.#uncompiledOf(shared);
		if (uncompiled === 'unread') return undefined;
		if (pointer === undefined) return this.#facts(undefined, uncompiled?.name, uncompiled?.start);
		if (this.#heap.typeOf(pointer) === scopeType) {
			const scope = scopeAt(this.#heap, pointer);
			return scope && this.#facts(scope.name, scope.inferredName, scope.start);
		}
		return this.#heap.isString(pointer)
			? this.#facts(pointer, uncompiled?.name, uncompiled?.start)
			: undefined;
	}

	#facts(
		name: number | undefined,
		inferredName: number | undefined,
		start: number | undefined,
	): FunctionFacts | undefined {
		const own = this.#textOf(name, MAX_NAME);
		const text = own === '' ? this.#textOf(inferredName, MAX_NAME) : own;
		if (text === undefined) return undefined;
		return { name: boundedName(text) || '(anonymous)', start };
	}

	/** '': there is no string. Undefined: it could not be read. */
	#textOf(object: number | undefined, limit: number): string | undefined {
		if (object === undefined) return '';
		const type = this.#heap.typeOf(object);
		if (type === undefined) return undefined;
		return this.#heap.isString(object) ? this.#heap.text(object, limit) : '';
	}

	/** Whether it is a function that a module of WebAssembly exports: for JavaScript, code that calls the module's. */
	#isOfWasm(shared: number): boolean {
		const { sharedData, wasmDataType } = this.#heap.layout;
		const data = this.#heap.pointer(shared, sharedData);
		return data !== undefined && this.#heap.typeOf(data) === wasmDataType;
	}

	/** Of a function whose bytecode is not there, or not any more; undefined: it is there. */
	#uncompiledOf(shared: number) {
		const { sharedData, uncompiledFirstType, uncompiledLastType, uncompiledName, uncompiledStart } =
			this.#heap.layout;
		const data = this.#heap.pointer(shared, sharedData);
		if (data === undefined) return undefined;
		const type = this.#heap.typeOf(data);
		if (type === undefined) return 'unread';
		if (type < uncompiledFirstType || type > uncompiledLastType) return undefined;
		return {
			name: this.#heap.pointer(data, uncompiledName),
			start: this.#heap.int32(data, uncompiledStart),
		};
	}

	#scriptAt(pointer: number): Script | undefined {
		const { scriptName, scriptSource } = this.#heap.layout;
		const source = this.#heap.pointer(pointer, scriptSource);
		const name = this.#textOf(this.#heap.pointer(pointer, scriptName), MAX_PATH);
		const firstLine = this.#heap.smi(pointer, scriptName + LINE_OFFSET_AT);
		if (name === undefined || firstLine === undefined) return undefined;
		const file = pathOf(name);
		const known = this.#scripts.byPlace.get(pointer);
		if (known && known.source === source && known.file === file) return known;
		if (this.#scripts.byPlace.size >= MAX_SCRIPTS) this.#scripts = new Scripts();
		const script: Script = { file, source, firstLine, lineEnds: undefined, attempts: 0 };
		this.#scripts.byPlace.set(pointer, script);
		return script;
	}

	#lineOf(script: Script, position: number | undefined): number | undefined {
		if (position === undefined || position < 0) return undefined;
		script.lineEnds ??= this.#lineEndsOf(script);
		const { lineEnds: ends, firstLine } = script;
		if (ends === undefined || ends === 'unknown') return undefined;
		return lineAt(ends, position) + firstLine + 1;
	}

	#lineEndsOf(script: Script): Script['lineEnds'] {
		const { source } = script;
		const kept = this.#scripts;
		const characters = source === undefined ? undefined : this.#heap.characters(source);
		if (!characters) return ++script.attempts < MAX_ATTEMPTS ? undefined : 'unknown';
		const length_bytes = characters.length * characters.bytesEach;
		const isTooMuch = kept.sources_bytes + length_bytes > MAX_SOURCES_BYTES;
		if (length_bytes > MAX_SOURCE_BYTES || isTooMuch || kept.lines >= MAX_LINES) return 'unknown';
		kept.sources_bytes += length_bytes;
		const bytes = this.#heap.source(characters, this.#loaded);
		const ends = bytes && lineEnds(bytes, characters.bytesEach, MAX_SOURCE_LINES);
		kept.lines += ends?.length ?? 0;
		return ends ?? 'unknown';
	}
}

/** ES modules have addresses for names. */
function pathOf(name: string | undefined): string | undefined {
	if (!name) return undefined;
	const path = name.startsWith('file:///') ? decoded(name.slice('file://'.length)) : name;
	return boundedName(path);
}

function decoded(path: string): string {
	try {
		return decodeURIComponent(path);
	} catch {
		return path;
	}
}

/**
 * Python functions, out of the memory of a process that runs CPython. All of it may be forged, or be changed while it is
 * read: every read is bounded, and nothing follows more than three pointers. Source: CPython's Include/cpython/code.h,
 * unicodeobject.h.
 */
import { boundedName } from '../../bounded-names.js';
import type { FunctionReader, FunctionWord, LanguageFunction, RuntimeMemory } from '../runtime.js';
import type { PythonLayout } from './layout.js';
import { lineOf } from './lines.js';

/** Characters. */
const MAX_NAME = 512;
const MAX_PATH = 4096;
const TYPE_AT = 8;
/** What walks take of a code object: from co_argcount to co_firstlineno. */
const PRINT = { bytes: 20, keywordOnly: 8, stackSize: 12, firstLine: 16 } as const;
/** FUNCTION_PRINT_BITS. */
const PRINT_MASK = 0x1_ffff;
/** Of a string: how many characters, and how they are kept. */
const LENGTH_AT = 16;
const STATE_AT = 32;
const KIND = { shift: 2, mask: 7 } as const;
const COMPACT = 1 << 5;
const ASCII = 1 << 6;
const REPLACEMENT = 0xfffd;
const MAX_CODE_POINT = 0x10_ffff;
/** Of bytes: how many, and where. */
const BYTES = { length: 16, first: 32 } as const;
/** A function with a longer one has nearly as many instructions. */
const MAX_TABLE_BYTES = 1 << 18;

/** A pointer, or what stands where one may be; undefined: it cannot be read. */
export function pointerAt(memory: RuntimeMemory, address: number): number | undefined {
	const view = memory.read(address, 8);
	return view && view.getUint32(4, true) * 2 ** 32 + view.getUint32(0, true);
}

/** What tells code objects apart that have been at the same place: python_print_of(). Undefined: it is none. */
export function printAt(
	memory: RuntimeMemory,
	code: number,
	codeType: number,
	{ codePrint }: PythonLayout,
): { print: number; firstLine: number } | undefined {
	if (pointerAt(memory, code + TYPE_AT) !== codeType) return undefined;
	const view = memory.read(code + codePrint, PRINT.bytes);
	if (!view) return undefined;
	const firstLine = view.getInt32(PRINT.firstLine, true);
	const all =
		(firstLine ^
			(view.getUint32(PRINT.stackSize, true) << 10) ^
			(view.getUint32(0, true) << 7) ^
			(view.getUint32(PRINT.keywordOnly, true) << 13)) >>>
		0;
	return { print: (all ^ (all >>> 17)) & PRINT_MASK, firstLine };
}

export class PythonFunctions implements FunctionReader {
	/** `base`: where the file that CPython is in would be mapped at offset 0. */
	constructor(
		private readonly memory: RuntimeMemory,
		private readonly layout: PythonLayout,
		private readonly base: number,
	) {}

	functionAt({ place, print, instruction }: FunctionWord): LanguageFunction | undefined {
		const { memory, layout, base } = this;
		const found = printAt(memory, place, base + layout.codeType, layout);
		if (!found || found.print !== print) return undefined;
		const name = this.#textAt(place + layout.codeName, MAX_NAME);
		const file = this.#textAt(place + layout.codeFile, MAX_PATH);
		if (name === undefined || file === undefined) return undefined;
		const executingLine =
			instruction === undefined ? undefined : this.#lineAt(place, found.firstLine, instruction);
		return {
			language: 'python',
			name: boundedName(name) || '(anonymous)',
			file: file === '' ? undefined : boundedName(file),
			line: found.firstLine > 0 ? found.firstLine : undefined,
			...(executingLine === undefined ? {} : { executingLine }),
		};
	}

	/** The line of an instruction of a code object; undefined: that is not known. */
	#lineAt(code: number, firstLine: number, instruction: number): number | undefined {
		const { memory, layout, base } = this;
		const table = layout.lines && pointerAt(memory, code + layout.lines.codeTable);
		if (!table || pointerAt(memory, table + TYPE_AT) !== base + layout.bytesType) return undefined;
		const length = pointerAt(memory, table + BYTES.length) ?? 0;
		if (!layout.lines || length === 0 || length > MAX_TABLE_BYTES) return undefined;
		const bytes = memory.read(table + BYTES.first, length);
		return bytes && lineOf(bytes, layout.lines.format, firstLine, instruction);
	}

	/** The string that a field refers to. */
	#textAt(field: number, limit: number): string | undefined {
		const { memory, layout, base } = this;
		const string = pointerAt(memory, field);
		if (!string || pointerAt(memory, string + TYPE_AT) !== base + layout.stringType)
			return undefined;
		const length = pointerAt(memory, string + LENGTH_AT);
		const state = memory.read(string + STATE_AT, 4)?.getUint32(0, true);
		if (length === undefined || state === undefined || (state & COMPACT) === 0) return undefined;
		const kind = (state >>> KIND.shift) & KIND.mask;
		if (kind !== 1 && kind !== 2 && kind !== 4) return undefined;
		const isAscii = (state & ASCII) !== 0;
		const count = Math.min(length, limit);
		if (count === 0) return '';
		const at = string + (isAscii ? layout.asciiBytes : layout.compactBytes);
		const characters = memory.read(at, count * kind);
		return characters && decoded(characters, kind);
	}
}

/** Characters of 1, 2 or 4 bytes each. */
function decoded(view: DataView, kind: 1 | 2 | 4): string {
	let text = '';
	for (let at = 0; at < view.byteLength; at += kind)
		text += String.fromCodePoint(codeAt(view, at, kind));
	return text;
}

function codeAt(view: DataView, at: number, kind: 1 | 2 | 4): number {
	if (kind === 1) return view.getUint8(at);
	if (kind === 2) return view.getUint16(at, true);
	const code = view.getUint32(at, true);
	return code <= MAX_CODE_POINT ? code : REPLACEMENT;
}

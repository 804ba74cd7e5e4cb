/**
 * Where CPython has what tells of its functions: in the file that it is in, and in the memory of a process that runs it.
 * Since 3.13 the file says most of it itself (_Py_DebugOffsets). Of older versions it is known here. Source: CPython's
 * Include/internal/pycore_runtime.h, pycore_frame.h; Include/cpython/code.h, frameobject.h, unicodeobject.h, pystate.h.
 */
import { type Bytes, readUint64 } from '../../elf/bytes.js';
import { type Elf, PF_X, SEGMENT_TYPE } from '../../elf/elf.js';
import { ExportedSymbols } from '../../elf/exported-symbols.js';
import type { NotTaken } from '../runtime.js';
import type { LineFormat } from './lines.js';

/**
 * What tells how many Python frames a C frame of the interpreter's runs: an entry in their list, a mark in the
 * outermost, or that it is always one.
 */
export type PythonSegments = 'entries' | 'marks' | 'one frame each';

/** Where it says which line a frame is at. */
export interface PythonLines {
	/** In a frame: the instruction that is run. */
	readonly frameInstruction: number;
	/** In a code object: its first instruction, where frames have addresses. Undefined: they have numbers. */
	readonly codeInstructions: number | undefined;
	/** In a code object: the table of lines. */
	readonly codeTable: number;
	readonly format: LineFormat;
}

/** Offsets in structs of CPython's. */
export interface PythonStructs {
	/** In _PyRuntime: the first interpreter. */
	readonly interpreters: number;
	readonly interpreterNext: number;
	readonly interpreterThreads: number;
	readonly threadPrevious: number;
	readonly threadNext: number;
	/** What pthread_self() is in it. */
	readonly threadIdentity: number;
	/** What gettid() is in it; undefined: it does not say. */
	readonly threadNumber: number | undefined;
	readonly threadInterpreter: number;
	/** The interpreter's lock: it is in _PyRuntime, or the interpreter has its address. */
	readonly gil: { readonly in: 'runtime' | 'interpreter'; readonly at: number };
	/** The innermost frame; undefined: the record of the innermost C frame says which it is. */
	readonly threadFrame: number | undefined;
	/** The record (_PyCFrame) of the innermost C frame, which is on that one's stack. Undefined: there are none. */
	readonly threadRecord: number | undefined;
	/** In a record: its innermost frame. */
	readonly recordFrame: number | undefined;
	/** The record of the C frame further out; undefined: records do not tell where C frames are. */
	readonly recordPrevious: number | undefined;
	readonly frameCode: number;
	readonly framePrevious: number;
	readonly segments: PythonSegments;
	/** Who owns the frame; 3.11: whether it is the outermost one that a C frame runs. Undefined: neither is told. */
	readonly frameOwner: number | undefined;
	/** From co_argcount to co_firstlineno. */
	readonly codePrint: number;
	readonly codeFile: number;
	readonly codeName: number;
	/** Of strings: PyASCIIObject, which characters follow, and PyCompactUnicodeObject. */
	readonly asciiBytes: number;
	readonly compactBytes: number;
	/** Undefined: nobody wants the lines that frames are at. */
	readonly lines: PythonLines | undefined;
}

/** Where things are: counted from where the file's code would be mapped at offset 0. */
export interface PythonLayout extends PythonStructs {
	readonly runtime: number;
	readonly codeType: number;
	readonly stringType: number;
	/** Of bytes, which tables of lines are. */
	readonly bytesType: number;
	/** The interpreter's loop, from the beginning of the file on. */
	readonly evalStart: number;
	readonly evalEnd: number;
}

/** A file that CPython is in. */
export interface PythonFile {
	readonly runtime: 'python';
	/** "3.11.2" */
	readonly version: string;
	/** Undefined: functions of this version are not named. */
	readonly layout: PythonLayout | undefined;
	/** Why; undefined: they are. */
	readonly problem: 'version' | 'symbols' | 'free-threaded' | NotTaken | undefined;
}

const SHARED = {
	interpreterNext: 0,
	threadPrevious: 0,
	threadNext: 8,
	threadInterpreter: 16,
	codeFile: 112,
	codeName: 128,
	asciiBytes: 48,
	compactBytes: 72,
} as const;

const IN_3_9: PythonStructs = {
	...SHARED,
	interpreters: 32,
	interpreterThreads: 8,
	threadIdentity: 176,
	threadNumber: undefined,
	threadFrame: 24,
	gil: { in: 'runtime', at: 352 },
	threadRecord: undefined,
	recordFrame: undefined,
	recordPrevious: undefined,
	frameCode: 32,
	framePrevious: 24,
	segments: 'one frame each',
	frameOwner: undefined,
	// From co_kwonlyargcount: other numbers, and as good.
	codePrint: 24,
	codeFile: 104,
	// co_name.
	codeName: 112,
	lines: {
		frameInstruction: 104,
		codeInstructions: undefined,
		codeTable: 120,
		format: 'lnotab',
	},
};

/** Of 3.11 and 3.12. */
const LOCATIONS = { frameInstruction: 56, codeTable: 136, format: 'locations' } as const;

const KNOWN: Readonly<Record<string, PythonStructs>> = {
	'3.9': IN_3_9,
	'3.10': {
		...IN_3_9,
		threadRecord: 48,
		recordPrevious: 8,
		lines: {
			frameInstruction: 96,
			codeInstructions: undefined,
			codeTable: 120,
			format: 'pairs',
		},
	},
	'3.11': {
		...SHARED,
		interpreters: 40,
		interpreterThreads: 16,
		threadIdentity: 152,
		threadNumber: 160,
		gil: { in: 'runtime', at: 360 },
		threadFrame: undefined,
		threadRecord: 56,
		recordFrame: 8,
		recordPrevious: 16,
		frameCode: 32,
		framePrevious: 48,
		segments: 'marks',
		frameOwner: 68,
		codePrint: 56,
		lines: { ...LOCATIONS, codeInstructions: 184 },
	},
	'3.12': {
		...SHARED,
		interpreters: 40,
		interpreterThreads: 72,
		threadIdentity: 136,
		threadNumber: 144,
		gil: { in: 'interpreter', at: 384 },
		threadFrame: undefined,
		threadRecord: 56,
		recordFrame: 0,
		recordPrevious: undefined,
		frameCode: 0,
		framePrevious: 8,
		segments: 'entries',
		frameOwner: 70,
		codePrint: 52,
		asciiBytes: 40,
		compactBytes: 56,
		lines: { ...LOCATIONS, codeInstructions: 192 },
	},
};

/** Where each is in _Py_DebugOffsets, in words: of the versions whose files say it themselves. */
const TOLD_3_13 = {
	interpreters: 5,
	interpreterNext: 8,
	interpreterThreads: 9,
	gil: 14,
	threadPrevious: 20,
	threadNext: 21,
	threadInterpreter: 22,
	threadFrame: 23,
	threadIdentity: 24,
	threadNumber: 25,
	framePrevious: 29,
	frameCode: 30,
	frameInstruction: 31,
	frameOwner: 33,
	codeFile: 35,
	codeName: 37,
	codeTable: 38,
	firstLine: 39,
	codePrint: 40,
	codeInstructions: 43,
	asciiBytes: 70,
} as const;
type Told = Readonly<Record<keyof typeof TOLD_3_13, number>>;
const TOLD: Readonly<Record<string, Told>> = {
	'3.13': TOLD_3_13,
	'3.14': {
		interpreters: 5,
		interpreterNext: 8,
		interpreterThreads: 9,
		gil: 15,
		threadPrevious: 23,
		threadNext: 24,
		threadInterpreter: 25,
		threadFrame: 26,
		threadIdentity: 27,
		threadNumber: 28,
		framePrevious: 32,
		frameCode: 33,
		frameInstruction: 34,
		frameOwner: 36,
		codeFile: 40,
		codeName: 42,
		codeTable: 43,
		firstLine: 44,
		codePrint: 45,
		codeInstructions: 48,
		asciiBytes: 80,
	},
};
const TOLD_WORDS = 96;
const FREE_THREADED_WORD = 2;
const COOKIE = 'xdebugpy';
/** What programs look at is within so much of an object: PYTHON_OBJECT_BYTES. */
const OBJECT_BYTES = 80;
const MAX_OFFSET = 1 << 20;
/** From co_argcount. */
const FIRST_LINE_AT = 16;
/** Of PyCompactUnicodeObject, behind PyASCIIObject. */
const COMPACT_MORE_BYTES = 16;

/** Undefined: CPython is not in this file. Throws SymbolError. */
export function pythonIn(elf: Elf): PythonFile | undefined {
	const symbols = new ExportedSymbols(elf);
	const runtime = symbols.find('_PyRuntime');
	const loop = symbols.find('_PyEval_EvalFrameDefault');
	if (!runtime || !loop) return undefined;
	const version = versionIn(elf, symbols);
	const file = { runtime: 'python', version: version?.text ?? 'before 3.9' } as const;
	const told = toldWords(elf, runtime.address);
	if (told && (told[FREE_THREADED_WORD] ?? 0) !== 0)
		return { ...file, layout: undefined, problem: 'free-threaded' };
	const structs = version && structsOf(version.minor, told);
	if (!structs) return { ...file, layout: undefined, problem: 'version' };
	const codeType = symbols.find('PyCode_Type');
	const stringType = symbols.find('PyUnicode_Type');
	const bytesType = symbols.find('PyBytes_Type');
	const bias = codeBias(elf, loop.address);
	if (!codeType || !stringType || !bytesType || bias === undefined)
		return { ...file, layout: undefined, problem: 'symbols' };
	const layout = {
		...structs,
		runtime: runtime.address - bias,
		codeType: codeType.address - bias,
		stringType: stringType.address - bias,
		bytesType: bytesType.address - bias,
		evalStart: loop.address - bias,
		evalEnd: loop.address - bias + loop.size_bytes,
	};
	return { ...file, layout, problem: undefined };
}

/** Undefined: it is older than all that are known. */
function versionIn(elf: Elf, symbols: ExportedSymbols) {
	// Since 3.11: 0x030b02f0.
	const symbol = symbols.find('Py_Version');
	if (!symbol) return versionBySymbols(symbols);
	const bytes = bytesAt(elf, symbol.address, 4);
	if (!bytes) return undefined;
	const [micro, minor, major] = [bytes[1], bytes[2], bytes[3]];
	return { minor: `${major}.${minor}`, text: `${major}.${minor}.${micro}` };
}

/** Of those that do not say it. Each function is in the API from that version on. */
function versionBySymbols(symbols: ExportedSymbols) {
	const NEW_IN = { '3.10': 'Py_NewRef', '3.9': 'PyFrame_GetCode' } as const;
	for (const [minor, name] of Object.entries(NEW_IN))
		if (symbols.find(name)) return { minor, text: minor };
	return undefined;
}

/** Of a version; `told`: the words of its _Py_DebugOffsets. Undefined: it is not known, or is not as all this counts on it. */
export function structsOf(
	minor: string,
	told: readonly number[] | undefined,
): PythonStructs | undefined {
	const where = TOLD[minor];
	return where ? told && structsTold(told, where) : KNOWN[minor];
}

/** Undefined: what the file says is not as all this counts on it. */
function structsTold(words: readonly number[], where: Told): PythonStructs | undefined {
	const told = Object.fromEntries(
		Object.entries(where).map(([key, at]) => [key, words[at]]),
	) as Record<keyof Told, number>;
	const { frameCode, framePrevious, frameOwner, codePrint, firstLine, gil, ...more } = told;
	const { frameInstruction, codeTable, codeInstructions, ...others } = more;
	const isWithin = (at: number, length_bytes: number) => at + length_bytes <= OBJECT_BYTES;
	const isWord = (at: number) => at % 8 === 0 && isWithin(at, 8);
	if (![frameCode, framePrevious, frameInstruction].every(isWord)) return undefined;
	if (!isWithin(frameOwner, 1)) return undefined;
	if (firstLine !== codePrint + FIRST_LINE_AT || !isWithin(firstLine, 4)) return undefined;
	if (Object.values({ ...more, gil }).some((at) => !(at <= MAX_OFFSET))) return undefined;
	return {
		...others,
		gil: { in: 'interpreter', at: gil },
		frameCode,
		framePrevious,
		frameOwner,
		codePrint,
		segments: 'entries',
		threadRecord: undefined,
		recordFrame: undefined,
		recordPrevious: undefined,
		compactBytes: others.asciiBytes + COMPACT_MORE_BYTES,
		lines: { frameInstruction, codeInstructions, codeTable, format: 'locations' },
	};
}

/** _Py_DebugOffsets, with which _PyRuntime begins; undefined: it does not. */
function toldWords(elf: Elf, runtime: number): number[] | undefined {
	const bytes = bytesAt(elf, runtime, TOLD_WORDS * 8);
	if (bytes?.toString('latin1', 0, COOKIE.length) !== COOKIE) return undefined;
	return Array.from({ length: TOLD_WORDS }, (_, word) => readUint64(bytes, word * 8));
}

/** Undefined: the file has it not. */
function bytesAt({ segments, bytes }: Elf, linked: number, length_bytes: number) {
	const segment = segments.find(
		({ type, address, size_bytes }) =>
			type === SEGMENT_TYPE.load &&
			linked >= address &&
			linked + length_bytes <= address + size_bytes,
	);
	return segment && (bytes as Bytes).read(linked - segment.address + segment.offset, length_bytes);
}

/** From where in the file code is, to where it is linked. */
function codeBias({ segments }: Elf, linked: number): number | undefined {
	const segment = segments.find(
		({ type, flags, address, size_bytes }) =>
			type === SEGMENT_TYPE.load &&
			(flags & PF_X) !== 0 &&
			linked >= address &&
			linked < address + size_bytes,
	);
	return segment && segment.address - segment.offset;
}

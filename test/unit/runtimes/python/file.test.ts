/** What is known of a file that CPython is in, by files that the test writes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryBytes } from '../../../../src/elf/bytes.js';
import { Elf } from '../../../../src/elf/elf.js';
import { pythonIn, structsOf } from '../../../../src/runtimes/python/layout.js';
import { codeOffsetOf } from '../../../../src/runtimes/recognise.js';
import { elfOf, symbolsOf } from '../../hostile/elf-builder.js';

const [CODE_AT, DATA_AT] = [0x40_1000, 0x60_2000];
const [CODE, DATA] = [5, 6];
const RUNTIME_AT = 16;
/** What every CPython exports, and where. */
const EXPORTED = {
	_PyRuntime: DATA_AT + RUNTIME_AT,
	_PyEval_EvalFrameDefault: CODE_AT + 0x10,
	PyCode_Type: DATA_AT + 0x400,
	PyUnicode_Type: DATA_AT + 0x500,
	PyBytes_Type: DATA_AT + 0x600,
};
const VERSION = { Py_Version: DATA_AT };
const LOOP_BYTES = 0x40;

function hashOf(name: string): number {
	return Buffer.from(name).reduce((hash, byte) => (Math.imul(hash, 33) + byte) >>> 0, 5381);
}

/** Sections by which a file exports these symbols. */
function exportsOf(symbols: Readonly<Record<string, number>>) {
	const names = Object.keys(symbols);
	const strings = Buffer.from(`\0${names.join('\0')}\0`);
	const specs = names.map((name) => {
		const place = { address: symbols[name] as number, size: LOOP_BYTES, section: 1 };
		return { name: strings.indexOf(`\0${name}\0`) + 1, ...place };
	});
	const none = { name: 0, address: 0, size: 0, section: 0 };
	// One bucket, whose first symbol is number 1; the last one of its chain has the lowest bit.
	const chain = names.map((name, i) =>
		i + 1 < names.length ? (hashOf(name) & ~1) >>> 0 : (hashOf(name) | 1) >>> 0,
	);
	return [
		{ name: '.gnu.hash', data: new Uint8Array(Uint32Array.of(1, 1, 0, 0, 1, ...chain).buffer) },
		{ name: '.dynsym', type: 11, link: 3, data: symbolsOf([none, ...specs]) },
		{ name: '.dynstr', type: 3, data: strings },
	];
}

/** `version`: as it is kept since 3.11. `words`: with which _PyRuntime begins. */
function fileOf(
	symbols: Readonly<Record<string, number>>,
	{ version = 0, words = [] }: { version?: number; words?: readonly number[] } = {},
) {
	const data = Buffer.alloc(0x800);
	data.writeUInt32LE(version);
	for (const [i, word] of words.entries()) data.writeBigUInt64LE(BigInt(word), RUNTIME_AT + 8 * i);
	if (words.length > 0) data.write('xdebugpy', RUNTIME_AT);
	const bytes = elfOf({
		sections: [
			...exportsOf(symbols),
			{ name: '.data', flags: 3, address: DATA_AT, data },
			{ name: '.text', flags: 6, address: CODE_AT, data: Buffer.alloc(0x100) },
		],
		segments: [
			{ type: 1, flags: DATA, address: DATA_AT, dataOf: 3 },
			{ type: 1, flags: CODE, address: CODE_AT, dataOf: 4 },
		],
	});
	/** Where its code is in it: the second segment's offset. */
	const codeAt = Number(bytes.readBigUInt64LE(64 + 56 + 8));
	return { codeAt, bytes, found: () => pythonIn(new Elf(new MemoryBytes(bytes))) };
}

test('a version that is known: where its objects and its loop are, as code is mapped', () => {
	const { found, codeAt } = fileOf({ ...EXPORTED, ...VERSION }, { version: 0x030c_05f0 });
	const bias = CODE_AT - codeAt;
	const file = found() ?? assert.fail();
	assert.deepEqual(file, {
		runtime: 'python',
		version: '3.12.5',
		layout: {
			...structsOf('3.12', undefined),
			runtime: EXPORTED._PyRuntime - bias,
			codeType: EXPORTED.PyCode_Type - bias,
			stringType: EXPORTED.PyUnicode_Type - bias,
			bytesType: EXPORTED.PyBytes_Type - bias,
			evalStart: codeAt + 0x10,
			evalEnd: codeAt + 0x10 + LOOP_BYTES,
		},
		problem: undefined,
	});
	assert.equal(codeOffsetOf(file), codeAt + 0x10);
});

test('versions that do not say which they are, by the functions that they have; older ones are not known', () => {
	const [first, next] = [{ PyFrame_GetCode: CODE_AT }, { Py_NewRef: CODE_AT }];
	const of = (more: Readonly<Record<string, number>>) => {
		const { version, problem } = fileOf({ ...EXPORTED, ...more }).found() ?? assert.fail();
		return [version, problem];
	};
	assert.deepEqual(of({ ...first, ...next }), ['3.10', undefined]);
	assert.deepEqual(of(first), ['3.9', undefined]);
	assert.deepEqual(of({}), ['before 3.9', 'version']);
});

test('what lacks the loop or the state of CPython is none; what lacks its types says so', () => {
	for (const name of Object.keys(EXPORTED)) {
		const rest = Object.entries({ ...EXPORTED, ...VERSION }).filter(([each]) => each !== name);
		const file = fileOf(Object.fromEntries(rest), { version: 0x030b_02f0 }).found();
		const isCPython = !name.startsWith('_');
		assert.equal(file?.problem, isCPython ? 'symbols' : undefined, name);
		assert.equal(file?.layout, undefined);
		assert.equal(file?.version, isCPython ? '3.11.2' : undefined);
	}
});

/** _Py_DebugOffsets in CPython's Include/internal/pycore_runtime.h, 3.13: its members in order. */
const OFFSETS_3_13 = `cookie version free_threaded
	runtime.size runtime.finalizing runtime.interpreters_head
	interpreter.size interpreter.id interpreter.next interpreter.threads_head interpreter.gc
	interpreter.imports_modules interpreter.sysdict interpreter.builtins interpreter.ceval_gil
	interpreter.gil_runtime_state interpreter.gil_runtime_state_enabled interpreter.gil_runtime_state_locked
	interpreter.gil_runtime_state_holder
	thread.size thread.prev thread.next thread.interp thread.current_frame thread.thread_id thread.native_thread_id
	thread.datastack_chunk thread.status
	frame.size frame.previous frame.executable frame.instr_ptr frame.localsplus frame.owner
	code.size code.filename code.name code.qualname code.linetable code.firstlineno code.argcount code.localsplusnames
	code.localspluskinds code.co_code_adaptive
	object.size object.ob_type type.size type.tp_name type.tp_repr type.tp_flags tuple.size tuple.ob_item tuple.ob_size
	list.size list.ob_item list.ob_size dict.size dict.ma_keys dict.ma_values float.size float.ob_fval
	long.size long.lv_tag long.ob_digit bytes.size bytes.ob_size bytes.ob_sval
	unicode.size unicode.state unicode.length unicode.asciiobject_size`.split(/\s+/);

/** What a file of 3.13 says; all else is where no other member is. */
function saidBy3_13(more: Readonly<Record<string, number>> = {}): number[] {
	const said: Readonly<Record<string, number>> = {
		...{ free_threaded: 0, 'frame.executable': 0, 'frame.previous': 8, 'frame.owner': 70 },
		'frame.instr_ptr': 56,
		...{ 'code.argcount': 52, 'code.firstlineno': 68, 'unicode.asciiobject_size': 40 },
		...more,
	};
	const words = OFFSETS_3_13.map((name, i) => said[name] ?? 1000 + i);
	return [...words, ...Array.from({ length: 96 - words.length }, () => 0)];
}

test('what Python 3.13 says of itself, by the names of its header', () => {
	const at = (name: string) => 1000 + OFFSETS_3_13.indexOf(name);
	const { found } = fileOf(
		{ ...EXPORTED, ...VERSION },
		{ version: 0x030d_01f0, words: saidBy3_13() },
	);
	const { runtime, codeType, stringType, bytesType, evalStart, evalEnd, ...structs } =
		found()?.layout ?? assert.fail();
	assert.ok(runtime && codeType && stringType && bytesType && evalStart && evalEnd);
	assert.deepEqual(structs, {
		interpreters: at('runtime.interpreters_head'),
		interpreterNext: at('interpreter.next'),
		interpreterThreads: at('interpreter.threads_head'),
		threadPrevious: at('thread.prev'),
		threadNext: at('thread.next'),
		threadIdentity: at('thread.thread_id'),
		threadNumber: at('thread.native_thread_id'),
		threadInterpreter: at('thread.interp'),
		gil: { in: 'interpreter', at: at('interpreter.ceval_gil') },
		threadFrame: at('thread.current_frame'),
		segments: 'entries',
		threadRecord: undefined,
		recordFrame: undefined,
		recordPrevious: undefined,
		frameCode: 0,
		framePrevious: 8,
		frameOwner: 70,
		codePrint: 52,
		codeFile: at('code.filename'),
		codeName: at('code.qualname'),
		asciiBytes: 40,
		compactBytes: 56,
		lines: {
			frameInstruction: 56,
			codeInstructions: at('code.co_code_adaptive'),
			codeTable: at('code.linetable'),
			format: 'locations',
		},
	});
});

test('a file that says what nobody counts on, or nothing, is of a version that is not known', () => {
	const problemOf = (words: readonly number[], cookie = 'xdebugpy') => {
		const { bytes, found } = fileOf({ ...EXPORTED, ...VERSION }, { version: 0x030d_01f0, words });
		const at = bytes.indexOf('xdebugpy');
		if (at >= 0) bytes.write(cookie, at);
		return found()?.problem;
	};
	assert.equal(problemOf(saidBy3_13()), undefined);
	assert.equal(problemOf(saidBy3_13({ free_threaded: 1 })), 'free-threaded');
	assert.equal(problemOf([]), 'version');
	assert.equal(problemOf(saidBy3_13(), 'xdebugpx'), 'version');
	for (const [name, value] of [
		['code.firstlineno', 72],
		['frame.previous', 12],
		['frame.executable', 80],
		['frame.instr_ptr', 60],
		['frame.instr_ptr', 80],
		['code.linetable', 2 ** 20 + 1],
		['code.co_code_adaptive', 2 ** 20 + 1],
		['code.argcount', 61],
		['thread.next', 2 ** 20 + 1],
	] as const) {
		const words = saidBy3_13({ [name]: value });
		// What is printed of a code object ends with its line.
		if (name === 'code.argcount') words[OFFSETS_3_13.indexOf('code.firstlineno')] = value + 16;
		assert.equal(problemOf(words), 'version', name);
	}
	assert.equal(structsOf('3.13', saidBy3_13().slice(0, 60)), undefined, 'cut');
});

test('Python 3.12: what offsetof() says with its headers', () => {
	assert.deepEqual(structsOf('3.12', undefined), {
		...{ interpreters: 40, interpreterNext: 0, interpreterThreads: 72 },
		gil: { in: 'interpreter', at: 384 },
		...{ threadPrevious: 0, threadNext: 8, threadInterpreter: 16 },
		...{ threadIdentity: 136, threadNumber: 144 },
		// cframe, whose first member is the innermost frame.
		...{ threadFrame: undefined, threadRecord: 56, recordFrame: 0, recordPrevious: undefined },
		...{ frameCode: 0, framePrevious: 8, frameOwner: 70, segments: 'entries' },
		...{ codePrint: 52, codeFile: 112, codeName: 128, asciiBytes: 40, compactBytes: 56 },
		lines: { frameInstruction: 56, codeInstructions: 192, codeTable: 136, format: 'locations' },
	});
});

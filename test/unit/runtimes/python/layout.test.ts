import assert from 'node:assert/strict';
import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { FileBytes } from '../../../../src/elf/bytes.js';
import { Elf } from '../../../../src/elf/elf.js';
import { pythonIn, structsOf } from '../../../../src/runtimes/python/layout.js';
import { codeOffsetOf, runtimeIn } from '../../../../src/runtimes/recognise.js';
import { LAYOUT, LAYOUT_3_9, LAYOUT_3_10 } from './memory.js';

const PYTHON = '/usr/bin/python3.11';
const HAS_PYTHON = existsSync(PYTHON) ? {} : { skip: `there is no ${PYTHON}` };

function fileOf<T>(path: string, work: (elf: Elf) => T): T {
	const fd = openSync(path, 'r');
	try {
		return work(new Elf(new FileBytes(fd, statSync(path).size)));
	} finally {
		closeSync(fd);
	}
}

test("Debian's Python 3.11: its version, and where its functions are", HAS_PYTHON, () => {
	const file = fileOf(PYTHON, runtimeIn);
	if (file?.runtime !== 'python') assert.fail();
	assert.match(file.version, /^3\.11\.\d+$/);
	assert.equal(file.problem, undefined);
	const { runtime, codeType, stringType, bytesType, evalStart, evalEnd, ...structs } =
		file.layout ?? assert.fail();
	const {
		runtime: _1,
		codeType: _2,
		stringType: _3,
		bytesType: _4,
		evalStart: _5,
		evalEnd: _6,
		...expected
	} = LAYOUT;
	assert.deepEqual(structs, expected);
	assert.ok(evalEnd - evalStart > 10_000);
	assert.ok(runtime > evalEnd && Math.min(codeType, stringType, bytesType) > evalEnd);
	assert.equal(codeOffsetOf(file), evalStart);
});

test('Python 3.9 and 3.10: what offsetof() says with their headers', () => {
	for (const [minor, layout] of [
		['3.9', LAYOUT_3_9],
		['3.10', LAYOUT_3_10],
	] as const) {
		const { runtime, codeType, stringType, bytesType, evalStart, evalEnd, ...expected } = layout;
		// These are of a file, and all above 0.
		assert.ok(Math.min(runtime, codeType, stringType, bytesType, evalStart, evalEnd) > 0);
		assert.deepEqual(structsOf(minor, undefined), {
			...expected,
			interpreters: 32,
			interpreterThreads: 8,
		});
	}
});

test('a file without CPython', () => {
	assert.equal(fileOf('build/workloads/leaks', pythonIn), undefined);
});

/** _Py_DebugOffsets in CPython's Include/internal/pycore_debug_offsets.h, 3.14: its members in order. */
const OFFSETS_3_14 = `cookie version free_threaded
	runtime.size runtime.finalizing runtime.interpreters_head
	interpreter.size interpreter.id interpreter.next interpreter.threads_head interpreter.threads_main interpreter.gc
	interpreter.imports_modules interpreter.sysdict interpreter.builtins interpreter.ceval_gil
	interpreter.gil_runtime_state interpreter.gil_runtime_state_enabled interpreter.gil_runtime_state_locked
	interpreter.gil_runtime_state_holder interpreter.code_object_generation interpreter.tlbc_generation
	thread.size thread.prev thread.next thread.interp thread.current_frame thread.thread_id thread.native_thread_id
	thread.datastack_chunk thread.status
	frame.size frame.previous frame.executable frame.instr_ptr frame.localsplus frame.owner frame.stackpointer
	frame.tlbc_index
	code.size code.filename code.name code.qualname code.linetable code.firstlineno code.argcount code.localsplusnames
	code.localspluskinds code.co_code_adaptive code.co_tlbc
	object.size object.ob_type type.size type.tp_name type.tp_repr type.tp_flags tuple.size tuple.ob_item tuple.ob_size
	list.size list.ob_item list.ob_size set.size set.used set.table set.mask dict.size dict.ma_keys dict.ma_values
	float.size float.ob_fval long.size long.lv_tag long.ob_digit bytes.size bytes.ob_size bytes.ob_sval
	unicode.size unicode.state unicode.length unicode.asciiobject_size`.split(/\s+/);

test('what Python 3.14 says of itself, by the names of its header', () => {
	const said: Readonly<Record<string, number>> = {
		...{ 'frame.executable': 0, 'frame.previous': 8, 'frame.owner': 74 },
		'frame.instr_ptr': 56,
		...{ 'code.argcount': 52, 'code.firstlineno': 68, 'unicode.asciiobject_size': 40 },
	};
	const words = OFFSETS_3_14.map((name, i) => said[name] ?? 1000 + i);
	const at = (name: string) => words[OFFSETS_3_14.indexOf(name)];
	assert.deepEqual(structsOf('3.14', words), {
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
		frameOwner: 74,
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
	// Further than a walk reads.
	assert.equal(structsOf('3.14', words.with(OFFSETS_3_14.indexOf('frame.owner'), 81)), undefined);
	assert.equal(structsOf('3.15', words), undefined);
});

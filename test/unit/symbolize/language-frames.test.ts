import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Language, LanguageFunction } from '../../../src/runtimes/runtime.js';
import { Place } from '../../../src/symbolize/code-place.js';
import { frameOf, lacksFunction, withFunctions } from '../../../src/symbolize/language-frames.js';

const native = (name: string) => new Place({ name, kind: 'user' });
const script = (name: string) => new Place({ name, kind: 'jit' });
const shown = (frames: Parameters<typeof withFunctions>[0]) =>
	withFunctions(frames).map(({ frame }) => frame.name);

test('a function stands for the code that runs it', () => {
	const frames = [
		{ code: native('Builtins_LdaHandler'), runs: [script('leaf (/a.js:1)')], isCallers: true },
		{ code: native('Builtins_InterpreterEntryTrampoline'), runs: [script('middle (/a.js:2)')] },
		{ code: native('[anon]'), runs: [script('compiled (/a.js:3)')], isCallers: false },
		{ code: native('Builtins_JSEntry') },
	];
	const expected = ['leaf (/a.js:1)', 'middle (/a.js:2)', 'compiled (/a.js:3)', 'Builtins_JSEntry'];
	assert.deepEqual(shown(frames), expected);
});

test('one frame of the interpreter runs several functions, innermost first', () => {
	const runs = [script('inner (/a.py:9)'), script('outer (/a.py:5)')];
	const frames = [{ code: native('_PyEval_EvalFrameDefault'), runs }, { code: native('main') }];
	assert.deepEqual(shown(frames), ['inner (/a.py:9)', 'outer (/a.py:5)', 'main']);
});

test('a builtin that has no frame stands above the function that called it', () => {
	const code = native('Builtins_StringAdd');
	const frames = [{ code, runs: [script('caller (/a.js:1)')], isCallers: true }];
	assert.deepEqual(shown(frames), ['Builtins_StringAdd', 'caller (/a.js:1)']);
	// The interpreter itself does not.
	for (const name of ['AddHandler', 'InterpreterEntryTrampolineForProfiling']) {
		const runs = [script('caller (/a.js:1)')];
		const own = shown([{ code: native(`Builtins_${name}`), runs, isCallers: true }]);
		assert.deepEqual(own, ['caller (/a.js:1)'], name);
	}
});

test('code that V8 calls for a regular expression', () => {
	const compiled = native('[anon]');
	compiled.lacks = 'perf-map';
	const by = (name: string) => shown([{ code: compiled }, { code: native(name) }]);
	for (const caller of [
		'Builtins_RegExpReplace',
		'v8::internal::NativeRegExpMacroAssembler::Execute(v8::internal::String)',
		'v8::internal::RegExpImpl::IrregexpExec(v8::internal::Isolate*)',
	])
		assert.deepEqual(by(caller), ['[regexp]', caller]);
	assert.deepEqual(by('Builtins_JSEntry'), ['[anon]', 'Builtins_JSEntry']);
	const named = shown([{ code: native('memcpy') }, { code: native('Builtins_RegExpReplace') }]);
	assert.deepEqual(named, ['memcpy', 'Builtins_RegExpReplace']);
	const runs = [script('callback (/a.js:3)')];
	const called = shown([{ code: compiled, runs }, { code: native('Builtins_RegExpReplace') }]);
	assert.deepEqual(called, ['callback (/a.js:3)', 'Builtins_RegExpReplace']);
});

test('a name of the perf map goes before, a place that it does not know does not', () => {
	const mapped = new Place({ name: 'JS:*f /a.js:1:12', kind: 'javascript' });
	const unknown = script('[jit]');
	unknown.lacks = 'perf-map-line';
	const runs = [script('f (/a.js:1)')];
	assert.deepEqual(shown([{ code: mapped, runs }]), ['JS:*f /a.js:1:12']);
	assert.deepEqual(shown([{ code: unknown, runs }]), ['f (/a.js:1)']);
});

test('a function says its file and line as far as these are known', () => {
	const of = {
		language: 'javascript',
		name: 'handle',
		file: '/srv/app/server.js',
		line: 12,
	} as const;
	const nameOf = (source: LanguageFunction) => frameOf(source).name;
	assert.equal(nameOf(of), 'handle (/srv/app/server.js:12)');
	assert.equal(nameOf({ ...of, line: undefined }), 'handle (/srv/app/server.js)');
	assert.equal(nameOf({ ...of, file: undefined }), 'handle (no file)');
	assert.equal(nameOf({ ...of, executingLine: 15 }), 'handle (/srv/app/server.js:15)');
});

test('a function is of its language; code of WebAssembly is none of JavaScript', () => {
	const kindOf = (language: Language) => frameOf({ language, name: 'f', file: '/a', line: 1 }).kind;
	assert.deepEqual((['javascript', 'python', 'wasm'] as const).map(kindOf), [
		'javascript',
		'python',
		'jit',
	]);
});

test('a function that could not be read is missed, unless the perf map names it', () => {
	const unknown = script('[jit]');
	unknown.lacks = 'perf-map-line';
	assert.equal(lacksFunction({ code: unknown, isUnread: true }), true);
	assert.equal(lacksFunction({ code: native('[anon]'), isUnread: true }), true);
	assert.equal(lacksFunction({ code: script('JS:*f /a.js:1:12'), isUnread: true }), false);
	assert.equal(lacksFunction({ code: unknown }), false);
});

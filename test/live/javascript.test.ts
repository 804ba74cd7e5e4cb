/** Names of JavaScript functions of Node.js that was started without flags for it: of the one that runs tests. */
import assert from 'node:assert/strict';
import {
	closeSync,
	copyFileSync,
	mkdtempSync,
	openSync,
	readFileSync,
	rmSync,
	writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { FileBytes } from '../../src/elf/bytes.js';
import { Elf } from '../../src/elf/elf.js';
import { ExportedSymbols } from '../../src/elf/exported-symbols.js';
import { NODE_VERSIONS } from '../../src/runtimes/v8/versions.js';
import {
	assertDeoptimised,
	assertInlined,
	assertInModules,
	assertInSource,
	FUNCTION,
	isChain,
	namedShare,
	SCRIPT,
	traced,
} from './javascript.js';
import { unseenIn } from './reports.js';
import { foldedLines, stackReport, sumOf } from './stacks.js';
import { runToEnd, Tracing, TSTRACE, tstrace, until, Workload } from './support.js';

const HAS_NAMES = NODE_VERSIONS.includes(Number.parseInt(process.versions.node, 10))
	? {}
	: { skip: `names of Node.js ${process.versions.node} are not read` };
const folder = mkdtempSync(join(tmpdir(), 'tstrace-javascript-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** How functions are run: flags of V8's. */
const TIERS: Readonly<Record<string, readonly string[]>> = {
	'as node does': [],
	interpreted: ['--no-opt', '--no-sparkplug'],
	'compiled at once, not optimised': ['--always-sparkplug', '--no-opt'],
};

for (const [how, flags] of Object.entries(TIERS)) {
	test(`profile: functions that run, ${how}`, HAS_NAMES, async () => {
		const { stacks, notices } = await traced(process.execPath, 'profile', flags);
		const met = assertInSource(stacks);
		for (const name of ['burnInModule', 'burnInCommonJs', 'onTurn', 'turnForever'])
			assert.ok(met.has(name), `${name} of ${[...met]}`);
		assert.ok(namedShare(stacks) >= 0.98, `${namedShare(stacks)}`);
		const outermost = ['turnForever', 'handlers.onTurn'];
		assert.ok(
			stacks.some((stack) =>
				isChain(stack, ['turnForever', 'handlers.onTurn', 'burnInCommonJs']),
			) || stacks.some((stack) => isChain(stack, ['turnForever', 'onTurn', 'burnInCommonJs'])),
			outermost.join(),
		);
		// Where a loop adds to a number of 32 bits, what makes it one has no frame, and is beside its caller.
		const names = stacks.flatMap(({ frames }) => frames);
		assert.ok(flags.length > 0 || names.includes('Builtins_DoubleToI'));
		// Nor is the function left out: this one does nothing but call the next, which is inlined at times.
		const counted = (names: readonly string[]) => {
			const met = stacks.filter((stack) => isChain(stack, names));
			return met.reduce((sum, { value }) => sum + value, 0);
		};
		const inner = counted(['runInCallback']);
		const isInlined = !flags.includes('--no-opt');
		assert.ok(isInlined || counted(['runInCallback', 'burnInModule']) >= 0.9 * inner, `${inner}`);
		assert.doesNotMatch(notices.join('\n'), /perf-basic-prof|without names/);
	});
}

test('profile: all functions of a chain, where none is inlined', HAS_NAMES, async () => {
	const { stacks } = await traced(process.execPath, 'profile', ['--no-opt']);
	const chain = ['onTurn', 'runMethod', 'runStatic', 'runLast', 'runArrow', 'runInCallback'];
	assert.ok(
		stacks.some((stack) => isChain(stack, [...chain, 'burnInModule'])),
		stacks.map(({ frames }) => frames.join(';')).join('\n'),
	);
});

test('offcputime: functions in the code of others', HAS_NAMES, () =>
	assertInlined(process.execPath, []),
);

test('offcputime: a function that is not optimised any more', HAS_NAMES, () =>
	assertDeoptimised(process.execPath),
);

test('profile --runtime-frames: of the language alone, and none of it', HAS_NAMES, async () => {
	const run = (which: string) =>
		traced(process.execPath, 'profile', [], '-F', '199', '--runtime-frames', which);
	const language = await run('language');
	const met = language.stacks.filter(({ kinds }) => /[js]/.test(kinds));
	const rest = language.stacks.filter(({ kinds }) => !/[js]/.test(kinds));
	assert.ok(assertInSource(met).has('burnInCommonJs'));
	for (const { kinds } of met) assert.match(kinds, /^[jks]+$/);
	// Threads that run no JavaScript keep what they have, as those of V8 that compile.
	for (const { frames } of rest) assert.ok(frames.length > 0);
	const native = await run('native');
	const names = native.stacks.flatMap(({ frames }) => frames);
	assert.ok(names.includes('Builtins_RunMicrotasks'));
	assert.deepEqual(
		names.filter((name) => FUNCTION.test(name)),
		[],
	);
	assert.doesNotMatch(native.notices.join('\n'), /perf-basic-prof|without names/);
});

test('offcputime: functions that wait, and one that does all the time', HAS_NAMES, async () => {
	const { stacks, notices } = await traced(process.execPath, 'offcputime', [], '--exact');
	const met = assertInSource(stacks);
	for (const name of ['waitHere', 'waitInMethod', 'waitForChild', 'waitInThread'])
		assert.ok(met.has(name), `${name} of ${[...met]}`);
	assert.ok(namedShare(stacks) >= 0.98, `${namedShare(stacks)}`);
	assertInModules(process.execPath, stacks);
	const inThread = stacks.filter(({ frames }) =>
		frames.some((frame) => frame.startsWith('waitInThread (')),
	);
	// It is in one wait from the beginning to the end, and is walked from outside.
	assert.ok(inThread.reduce((sum, { value }) => sum + value, 0) > 1.5e9);
	assert.doesNotMatch(notices.join('\n'), /perf-basic-prof|without names/);
});

test('COMMAND ends before tstrace prints: its functions have names', HAS_NAMES, () => {
	const script =
		'function burnBriefly() { while (process.cpuUsage().user < 700_000); } burnBriefly();';
	const args = ['profile', '--format', 'folded', '--', process.execPath, '-e', script];
	const { status, stdout, stderr } = runToEnd(TSTRACE, args);
	assert.equal(status, 0, stderr);
	const lines = foldedLines(stdout);
	const burns = lines.filter(([frames]) => frames.includes('burnBriefly ([eval]:1)'));
	assert.ok(burns.length > 0, stdout);
});

const DEEP = `
	const word = new Int32Array(new SharedArrayBuffer(4));
	function deep(more) {
		return more > 0 ? 1 + deep(more - 1) : Atomics.wait(word, 0, 0, 2).length;
	}
	for (let i = 0; i < 100; i++) deep(70);
`;

test('functions are no frames more: what they make longer is not cut', HAS_NAMES, () => {
	const command = ['--', process.execPath, '-e', DEEP];
	const report = stackReport(
		tstrace(['offcputime', '--exact', '--json', '--max-depth', '127', ...command]),
	);
	const isDeep = (frame: string) => frame.startsWith('deep ');
	const waits = report.stacks.filter(({ frames }) => frames.filter(isDeep).length === 71);
	assert.ok(sumOf(waits, 'count') >= 95 - unseenIn(report.lost), JSON.stringify(report.lost));
	for (const { cut, frames } of waits) {
		assert.equal(cut, undefined);
		assert.ok(frames.length < 127 && frames.length + 71 > 127, `${frames.length} frames`);
	}
	assert.equal(report.lost.stacks_truncated, undefined);
});

test('a regular expression stands above the function that uses it', HAS_NAMES, () => {
	const script =
		"function validate(text) { return /^(a+)+$/.test(text); } const text = 'a'.repeat(14) + 'b'; " +
		'for (const end = Date.now() + 700; Date.now() < end; ) validate(text);';
	const args = ['profile', '--format', 'folded', '--', process.execPath, '-e', script];
	const { status, stdout, stderr } = runToEnd(TSTRACE, args);
	assert.equal(status, 0, stderr);
	const inside = foldedLines(stdout).filter(([frames]) => frames.includes('validate ([eval]:1)'));
	const count = (lines: typeof inside) => lines.reduce((sum, [, value]) => sum + value, 0);
	const within = inside.filter(([frames]) =>
		frames.slice(frames.indexOf('validate ([eval]:1)')).includes('[regexp]'),
	);
	assert.ok(count(within) > 0.8 * count(inside), stdout);
});

test('a perf map that there is goes before', HAS_NAMES, async () => {
	const { stacks } = await traced(process.execPath, 'profile', ['--perf-basic-prof']);
	const all = stacks.flatMap(({ frames }) => frames);
	assert.ok(all.some((frame) => /^JS:\S?burnInCommonJs .*functions\.cjs:\d+:\d+$/.test(frame)));
});

test('trace -k: where calls were made', HAS_NAMES, async () => {
	const workload = await Workload.startBy(process.execPath, SCRIPT);
	const output = join(folder, 'trace');
	const calls = ['-k', '-e', 'openat', '--path', '*/functions.mjs', '-p', `${workload.pid}`];
	const tracing = await Tracing.start(['trace', '-o', output, ...calls]);
	await until(() => /onTurn \(.*functions\.mjs:\d+\)/.test(readFileSync(output, 'utf8')));
	await tracing.end('SIGINT');
	await workload.end();
});

/** A copy of node that says it has another version of V8: the symbol for one of its numbers refers to another one. */
function nodeOfAnotherVersion(): string {
	const copy = join(folder, 'node');
	copyFileSync(process.execPath, copy);
	const fd = openSync(copy, 'r+');
	try {
		const elf = new Elf(new FileBytes(fd, readFileSync(copy).length));
		const symbols = new ExportedSymbols(elf);
		const find = (part: string) => symbols.find(`_ZN2v88internal7Version6${part}_E`)?.address ?? 0;
		const table = elf.section('.dynsym') ?? assert.fail();
		const wanted = Buffer.alloc(8);
		wanted.writeBigUInt64LE(BigInt(find('minor')));
		const at = elf.contents(table).indexOf(wanted);
		assert.ok(at > 0);
		wanted.writeBigUInt64LE(BigInt(find('major')));
		writeSync(fd, wanted, 0, 8, table.offset + at);
	} finally {
		closeSync(fd);
	}
	return copy;
}

test('another version of V8: no names, and a notice that says so', HAS_NAMES, async () => {
	const workload = await Workload.startBy(nodeOfAnotherVersion(), SCRIPT);
	const args = ['profile', '--json', '-p', `${workload.pid}`, '1'];
	const { stacks, notices } = stackReport(runToEnd(TSTRACE, args));
	await workload.end();
	assert.ok(stacks.length > 0);
	assert.ok(stacks.every(({ frames }) => frames.every((frame) => !FUNCTION.test(frame))));
	assert.match(notices.join('\n'), /names of Node\.js 20, .* and 26, and this has V8 (\d+)\.\1\./);
});

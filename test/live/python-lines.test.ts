/** --lines: which line of its function each Python frame is at, as Python itself tells it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';
import { type LineFormat, lineOf } from '../../src/runtimes/python/lines.js';
import {
	DEBIANS,
	FUNCTION,
	HAS_PYTHON,
	INTERPRETERS,
	nameOf,
	Python,
	pythonOf,
	script,
	shown,
} from './python.js';
import { NEVER_WOKEN, type ToldFrame, toldBy } from './python-told.js';
import { reportsOf } from './reports.js';
import { assertSources, foldedLines, type JsonStack, stackReport } from './stacks.js';
import { runToEnd, Tracing, TSTRACE } from './support.js';

const SCRIPT = script('functions.py');
const SOURCE = readFileSync(SCRIPT, 'utf8').split('\n');
const simple = (name: string) => name.split('.').at(-1) ?? '';

const toldText = ({ name, file, line }: ToldFrame) => `${name} (${file}:${line})`;

/** As faulthandler names functions: without what they are in. */
function simplified(frame: string): string {
	const [, name = '', file = '', line = ''] = FUNCTION.exec(frame) ?? assert.fail(frame);
	return toldText({ name: simple(name), file, line: Number(line) });
}

/** Of functions.py: each line that has called another function has that one's name in it. Leaf first. */
function assertCalls(frames: readonly string[]): void {
	for (const [i, frame] of frames.entries()) {
		const [, , file, line] = FUNCTION.exec(frame) ?? assert.fail(frame);
		const inner = frames[i - 1];
		if (file !== SCRIPT || !inner || FUNCTION.exec(inner)?.[2] !== SCRIPT) continue;
		const text = SOURCE[Number(line) - 1] ?? assert.fail(frame);
		assert.ok(text.includes(simple(nameOf(inner))), `${inner} in ${frame}: ${text}`);
	}
}

/** The lines at which functions of this name were. */
const linesOf = (stacks: readonly JsonStack[], name: string) =>
	new Set(
		stacks
			.flatMap(pythonOf)
			.filter((frame) => simple(nameOf(frame)) === name)
			.map((frame) => SOURCE[Number(FUNCTION.exec(frame)?.[3]) - 1]?.trim()),
	);

for (const file of INTERPRETERS) {
	test(`profile --lines: calls are at the line that makes them, of ${shown(file)}`, async () => {
		const python = await Python.start(file, SCRIPT);
		const args = ['profile', '--json', '--lines', '-F', '499', '-p', `${python.pid}`, '2'];
		const { stacks } = stackReport(runToEnd(TSTRACE, args));
		await python.end();
		assertSources(stacks, FUNCTION);
		for (const stack of stacks) assertCalls(pythonOf(stack));
		const recursing = linesOf(stacks, 'recurse');
		for (const line of ['return recurse(depth - 1)', 'return burn_inside()'])
			assert.ok(recursing.has(line), line);
		const burning = linesOf(stacks, 'burn_inside');
		for (const line of ['for i in range(500):', 'total += i * i'])
			assert.ok(burning.has(line), line);
		const turning = linesOf(stacks, 'turn');
		for (const line of ['Chain().run_method()', 'call_through_c()', 'recurse(20)', 'größe()'])
			assert.ok(turning.has(line), line);
		// Where each begins is told as without the option.
		const begun = stacks
			.flatMap(({ sources = [] }) => sources)
			.filter(({ name }) => name === 'burn_inside');
		assert.deepEqual(
			new Set(begun.map(({ line }) => SOURCE[(line ?? 0) - 1])),
			new Set(['def burn_inside():']),
		);
	});

	test(`threads that wait all the time are at the line that faulthandler says, of ${shown(file)}`, async () => {
		const python = await Python.start(file, script('waiting.py'));
		const args = ['offcputime', '--exact', '--json', '-L', '--lines', '-p', `${python.pid}`, '1'];
		const { stacks } = stackReport(runToEnd(TSTRACE, args));
		const threads = await toldBy(python, 'stacks');
		await python.end();
		for (const { name, tid, frames } of threads) {
			const own = stacks.filter(({ key }) => key.tid === tid);
			assert.deepEqual(
				own.map((stack) => pythonOf(stack).map(simplified)),
				[frames.map(toldText)],
				name,
			);
		}
	});

	test(`threads that wake up and wait again are at the line that faulthandler says, of ${shown(file)}`, async () => {
		const python = await Python.start(file, script('waiting.py'));
		const args = ['offcputime', '--exact', '--json', '-L', '--lines', '-p', `${python.pid}`];
		const tracing = await Tracing.start(args);
		const threads = await toldBy(python, 'wake');
		const { stacks } = stackReport(await tracing.end('SIGINT'));
		await python.end();
		for (const { name, tid, frames } of threads) {
			if (NEVER_WOKEN.includes(name)) continue;
			const [leaf = assert.fail(name), ...callers] = frames.map(toldText);
			const own = stacks
				.filter(({ key }) => key.tid === tid)
				.map((stack) => pythonOf(stack).map(simplified));
			assert.ok(
				own.some(([first]) => first === leaf),
				`${name}: ${leaf}`,
			);
			// It may wait for the GIL at another line of the same function.
			for (const [first = '', ...outer] of own) {
				assert.equal(nameOf(first), nameOf(leaf));
				assert.deepEqual(outer, callers, name);
			}
		}
	});

	test(`each instruction of its modules is of the line that it says, of ${shown(file)}`, () => {
		const [, version] = /(3\.\d+)$/.exec(basename(file)) ?? assert.fail(file);
		const format: LineFormat =
			version === '3.9' ? 'lnotab' : version === '3.10' ? 'pairs' : 'locations';
		const folder = runToEnd(file, ['-c', 'import os; print(os.path.dirname(os.__file__))']);
		const modules = ['argparse', 'typing', 'inspect', 'asyncio/base_events'].map(
			(name) => `${folder.stdout.trim()}/${name}.py`,
		);
		const { stdout } = runToEnd(file, [script('line_tables.py'), SCRIPT, ...modules]);
		const codes = stdout.trim().split('\n');
		assert.ok(codes.length > 500, `${codes.length}`);
		for (const code of codes) assertTable(JSON.parse(code), format);
	});
}

interface ToldCode {
	readonly name: string;
	readonly first: number;
	readonly table: string;
	readonly runs: readonly (readonly [number, number | null])[];
}

function assertTable({ name, first, table, runs }: ToldCode, format: LineFormat): void {
	const bytes = Buffer.from(table, 'hex');
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
	// The first instruction of a module is of line 0, and there is none.
	const lines = runs.flatMap(([units, line]) =>
		Array.from({ length: units }, () => line || undefined),
	);
	const found = lines.map((_, unit) =>
		lineOf(view, format, first, format === 'pairs' ? unit : unit * 2),
	);
	assert.deepEqual(found, lines, name);
}

/** Which lines of functions.py the frames of a folded result are at; root first. */
function foldedCalls(stdout: string): void {
	const stacks = foldedLines(stdout).map(([frames]) =>
		frames.filter((frame) => FUNCTION.test(frame)).reverse(),
	);
	assert.ok(stacks.some((frames) => frames.some((frame) => nameOf(frame) === 'turn_forever')));
	for (const frames of stacks) assertCalls(frames);
}

for (const tool of ['why', 'offwaketime'] as const)
	test(`${tool} --lines`, HAS_PYTHON, async () => {
		const python = await Python.start(DEBIANS, SCRIPT);
		const args = [tool, '--lines', '--folded', '-p', `${python.pid}`, '1'];
		const { stdout, stderr, status } = runToEnd(TSTRACE, args);
		await python.end();
		assert.equal(status, 0, stderr);
		foldedCalls(stdout);
	});

test('trace -k --lines', HAS_PYTHON, async () => {
	const python = await Python.start(DEBIANS, SCRIPT);
	const args = [
		'trace',
		'-k',
		'--lines',
		'--json',
		'-e',
		'clock_nanosleep',
		'-p',
		`${python.pid}`,
		'1',
	];
	const { stdout, stderr, status } = runToEnd(TSTRACE, args);
	await python.end();
	assert.equal(status, 0, stderr);
	const rows = reportsOf(stdout).flatMap((report) => report.rows) as unknown as {
		readonly stack?: JsonStack;
	}[];
	const calls = rows.flatMap(({ stack }) => (stack ? [pythonOf(stack)] : []));
	const made = calls.filter(([leaf]) => nameOf(leaf ?? '') === 'wait_here');
	assert.ok(made.length > 5, stdout);
	for (const frames of made) {
		assertCalls(frames);
		const [, , , line] = FUNCTION.exec(frames[0] ?? '') ?? assert.fail();
		assert.equal(SOURCE[Number(line) - 1]?.trim(), 'time.sleep(0.015)');
	}
});

test('COMMAND ends before tstrace prints: its functions have lines', HAS_PYTHON, () => {
	const source =
		'import time\ndef burn_briefly():\n while True:\n  if time.process_time() > 0.7: break\nburn_briefly()\n';
	const args = ['profile', '--lines', '--format', 'folded', '--', DEBIANS, '-c', source];
	const { status, stdout, stderr } = runToEnd(TSTRACE, args);
	assert.equal(status, 0, stderr);
	const burns = foldedLines(stdout).filter(([frames]) => frames.includes('<module> (<string>:5)'));
	assert.ok(
		burns.some(([frames]) => frames.includes('burn_briefly (<string>:4)')),
		stdout,
	);
});

/** Names of JavaScript functions of Node.js that was started without flags for it. */
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
import { fileURLToPath } from 'node:url';
import { FileBytes } from '../../src/elf/bytes.js';
import { Elf } from '../../src/elf/elf.js';
import { ExportedSymbols } from '../../src/elf/exported-symbols.js';
import { foldedLines, type JsonStack, type StackReport, stackReport } from './stacks.js';
import { runToEnd, Tracing, TSTRACE, until, Workload } from './support.js';

const HAS_NAMES = process.versions.v8.startsWith('11.3.')
	? {}
	: { skip: `V8 ${process.versions.v8} is not 11.3` };
const SCRIPTS = fileURLToPath(new URL('../workloads/javascript', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'tstrace-javascript-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Of those that are in the workload: "name (file:line)". */
const FUNCTION = /^(?:[\w.]+\.)?(\w+) \((\/.*\.[cm]js):(\d+)\)$/;
/** What a function of JavaScript's is shown as that has no name. */
const NAMELESS = /^(\[anon\]|\[jit\]|Builtins_InterpreterEntryTrampoline)$/;
/** How functions are run: flags of V8's. */
const TIERS: Readonly<Record<string, readonly string[]>> = {
	'as node does': [],
	interpreted: ['--no-opt', '--no-sparkplug'],
	'compiled at once, not optimised': ['--always-sparkplug', '--no-opt'],
};

function lineOf(file: string, number: number): string {
	return readFileSync(file, 'utf8').split('\n')[number - 1] ?? '';
}

/** Each function that is named is where its name says: in the file's source, its line has it. */
function assertInSource(stacks: readonly JsonStack[]): Set<string> {
	const met = new Set(stacks.flatMap(({ frames }) => frames).filter((name) => FUNCTION.test(name)));
	for (const name of met) {
		const [, its = '', file = '', number] = FUNCTION.exec(name) ?? [];
		if (!file.startsWith(SCRIPTS) || its === 'anonymous') continue;
		assert.match(lineOf(file, Number(number)), new RegExp(`\\b${its}\\b`), name);
	}
	return new Set([...met].map((name) => FUNCTION.exec(name)?.[1] ?? ''));
}

/** The share of what is counted whose frames of JavaScript have names, of all that has such frames. */
function namedShare(stacks: readonly JsonStack[]): number {
	let named = 0;
	let nameless = 0;
	for (const { frames, kinds, value } of stacks)
		for (const [i, frame] of frames.entries()) {
			if (NAMELESS.test(frame)) nameless += value;
			else if (kinds[i] === 'j') named += value;
		}
	assert.ok(named > 0);
	return named / (named + nameless);
}

/** Whether these follow one another in a stack, with whatever in between. */
function isChain({ frames }: JsonStack, names: readonly string[]): boolean {
	let at = 0;
	for (const frame of frames) if (frame.startsWith(`${names[at]} (`)) at++;
	return at === names.length;
}

async function traced(
	tool: string,
	flags: readonly string[],
	...args: string[]
): Promise<StackReport> {
	const script = join(SCRIPTS, 'functions.mjs');
	const workload = await Workload.startBy(process.execPath, ...flags, script);
	const run = ['--json', '-p', `${workload.pid}`, ...args, '2'];
	const report = stackReport(runToEnd(TSTRACE, [tool, ...run]));
	await workload.end();
	// With --perf-basic-prof.
	rmSync(`/tmp/perf-${workload.pid}.map`, { force: true });
	return report;
}

for (const [how, flags] of Object.entries(TIERS)) {
	test(`profile: functions that run, ${how}`, HAS_NAMES, async () => {
		const { stacks, notices } = await traced('profile', flags);
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
		assert.doesNotMatch(notices.join('\n'), /perf-basic-prof|without names/);
	});
}

test('profile: all functions of a chain, where none is inlined', HAS_NAMES, async () => {
	const { stacks } = await traced('profile', ['--no-opt']);
	const chain = ['onTurn', 'runMethod', 'runStatic', 'runLast', 'runArrow', 'runInCallback'];
	assert.ok(
		stacks.some((stack) => isChain(stack, [...chain, 'burnInModule'])),
		stacks.map(({ frames }) => frames.join(';')).join('\n'),
	);
});

test('offcputime: functions that wait, and one that does all the time', HAS_NAMES, async () => {
	const { stacks, notices } = await traced('offcputime', [], '--exact');
	const met = assertInSource(stacks);
	for (const name of ['waitHere', 'waitInMethod', 'waitForChild', 'waitInThread'])
		assert.ok(met.has(name), `${name} of ${[...met]}`);
	assert.ok(namedShare(stacks) >= 0.98, `${namedShare(stacks)}`);
	const inThread = stacks.filter(({ frames }) =>
		frames.some((frame) => frame.startsWith('waitInThread (')),
	);
	// It is in one wait from the beginning to the end, and is walked from outside.
	assert.ok(inThread.reduce((sum, { value }) => sum + value, 0) > 1.5e9);
	assert.doesNotMatch(notices.join('\n'), /perf-basic-prof|without names/);
});

test('COMMAND ends before tstrace prints: its functions have names', HAS_NAMES, () => {
	const script =
		'function burnBriefly() { for (const end = Date.now() + 700; Date.now() < end; ); } burnBriefly();';
	const args = ['profile', '--format', 'folded', '--', process.execPath, '-e', script];
	const { status, stdout, stderr } = runToEnd(TSTRACE, args);
	assert.equal(status, 0, stderr);
	const lines = foldedLines(stdout);
	const burns = lines.filter(([frames]) => frames.includes('burnBriefly ([eval]:1)'));
	assert.ok(burns.length > 0, stdout);
});

test('a perf map that there is goes before', HAS_NAMES, async () => {
	const { stacks } = await traced('profile', ['--perf-basic-prof']);
	const all = stacks.flatMap(({ frames }) => frames);
	assert.ok(all.some((frame) => /^JS:\S?burnInCommonJs .*functions\.cjs:\d+:\d+$/.test(frame)));
});

test('trace -k: where calls were made', HAS_NAMES, async () => {
	const script = join(SCRIPTS, 'functions.mjs');
	const workload = await Workload.startBy(process.execPath, script);
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
	const script = join(SCRIPTS, 'functions.mjs');
	const workload = await Workload.startBy(nodeOfAnotherVersion(), script);
	const args = ['profile', '--json', '-p', `${workload.pid}`, '1'];
	const { stacks, notices } = stackReport(runToEnd(TSTRACE, args));
	await workload.end();
	assert.ok(stacks.length > 0);
	assert.ok(stacks.every(({ frames }) => frames.every((frame) => !FUNCTION.test(frame))));
	assert.match(notices.join('\n'), /names of V8 11\.3 \(Node\.js 20\), and this is V8 11\.11\./);
});

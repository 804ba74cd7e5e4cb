/** Names of Python functions of CPython that was started without flags for it. */
import assert from 'node:assert/strict';
import {
	closeSync,
	copyFileSync,
	mkdtempSync,
	openSync,
	readFileSync,
	rmSync,
	writeFileSync,
	writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import type { LockOwner } from '../../src/aggregate/wait-object.js';
import { FileBytes } from '../../src/elf/bytes.js';
import { Elf, SEGMENT_TYPE } from '../../src/elf/elf.js';
import { ExportedSymbols } from '../../src/elf/exported-symbols.js';
import {
	DEBIANS,
	FUNCTION,
	HAS_PYTHON,
	INTERPRETERS,
	isBefore311,
	NAMELESS,
	namedShare,
	nameOf,
	Python,
	pythonOf,
	script,
	shown,
} from './python.js';
import { unseenIn } from './reports.js';
import {
	assertSources,
	foldedLines,
	type JsonStack,
	type StackReport,
	stackReport,
} from './stacks.js';
import { runToEnd, TSTRACE } from './support.js';

const SCRIPT = script('functions.py');
const folder = mkdtempSync(join(tmpdir(), 'tstrace-python-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const OUTERMOST = [
	'turn',
	'turn_forever',
	'Thread.run',
	'Thread._bootstrap_inner',
	'Thread._bootstrap',
];
/** By which ways `burn_inside` is called: leaf first, all that Python itself would tell. */
const WAYS = [
	[
		'generate_inner',
		'generate',
		'run_generator',
		'Chain.run_key',
		'Chain.run_in_sort',
		'Chain.run_method',
	],
	['compare_in_c', 'call_through_c'],
	[...Array.from({ length: 21 }, () => 'recurse')],
	['größe'],
].map((way) => ['burn_inside', ...way, ...OUTERMOST]);
/** A frame of C's is between these. */
const THROUGH_C = [
	['Chain.run_key', 'Chain.run_in_sort'],
	['generate', 'run_generator'],
	['compare_in_c', 'call_through_c'],
] as const;

/** The line that a function's name says has its name, or the decorator before it. JSON's `sources` say the same. */
function assertInSource(stacks: readonly JsonStack[]): void {
	assertSources(stacks, FUNCTION);
	const source = readFileSync(SCRIPT, 'utf8').split('\n');
	const own = new Set(stacks.flatMap(pythonOf).filter((frame) => frame.includes(SCRIPT)));
	assert.ok(own.size > 5, [...own].join('\n'));
	for (const frame of own) {
		const [, name = '', , line] = FUNCTION.exec(frame) ?? assert.fail(frame);
		if (name === '<module>') continue;
		const found = source.slice(Number(line) - 1, Number(line) + 1).join('\n');
		assert.match(found, new RegExp(`(^@|def ${name.split('.').at(-1)}\\()`, 'm'), frame);
	}
}

async function traced(file: string, tool: string, ...args: string[]): Promise<StackReport> {
	const python = await Python.start(file, SCRIPT);
	const report = stackReport(runToEnd(TSTRACE, [tool, '--json', '-p', `${python.pid}`, ...args]));
	await python.end();
	return report;
}

for (const file of INTERPRETERS) {
	const isOld = isBefore311(file);
	/** Code has no other name before 3.11. */
	const known = (name: string) => (isOld ? name.split('.').at(-1) : name);

	test(`profile: each way that leads to a function, of ${shown(file)}`, async () => {
		const { stacks, notices } = await traced(file, 'profile', '-F', '499', '3');
		assert.ok(namedShare(stacks) >= 0.99, `${namedShare(stacks)}`);
		assertInSource(stacks);
		const expected = new Set(WAYS.map((way) => way.map(known).join(' ')));
		const burning = stacks.filter((stack) => nameOf(pythonOf(stack)[0] ?? '') === 'burn_inside');
		const met = new Map<string, number>();
		for (const stack of burning) {
			const way = pythonOf(stack).map(nameOf).join(' ');
			met.set(way, (met.get(way) ?? 0) + stack.value);
		}
		assert.deepEqual([...met.keys()].sort(), [...expected].sort());
		for (const { frames } of burning)
			for (const [inner, outer] of THROUGH_C) {
				const at = frames.findIndex((frame) => nameOf(frame) === known(inner));
				if (at >= 0) assert.notEqual(nameOf(frames[at - 1] ?? ''), known(outer), frames.join('\n'));
			}
		assert.doesNotMatch(notices.join('\n'), /-X perf|Python functions without names/);
	});

	test(`offcputime: threads that wait, as Python itself tells it, of ${shown(file)}`, async () => {
		const python = await Python.start(file, SCRIPT);
		const args = ['offcputime', '--exact', '--json', '-p', `${python.pid}`, '2'];
		const { stacks, notices } = stackReport(runToEnd(TSTRACE, args));
		python.tell('stacks');
		const threads = [];
		for (let i = 0; i < 4; i++) threads.push(JSON.parse(await python.line()) as string[]);
		await python.end();
		assert.ok(namedShare(stacks) >= 0.99, `${namedShare(stacks)}`);
		const found = new Set(stacks.map((stack) => pythonOf(stack).join('\n')));
		// Both are in one wait from the beginning to the end, and are walked from outside.
		for (const name of ['wait_at_end', 'wait_for_lock']) {
			const [, ...told] = threads.find((each) => nameOf(each[1] ?? '') === name) ?? assert.fail();
			assert.ok(found.has(told.join('\n')), `${told.join('\n')}\n\n${[...found].join('\n\n')}`);
		}
		const slept = [...found].filter((stack) => stack.startsWith('wait_here ('));
		const expected = ['wait_here', ...OUTERMOST].map(known).join(' ');
		assert.ok(slept.some((stack) => stack.split('\n').map(nameOf).join(' ') === expected));
		assert.ok([...found].some((stack) => /^<module> \(.*functions\.py:1\)$/.test(stack)));
		assert.doesNotMatch(notices.join('\n'), /-X perf|Python functions without names/);
	});

	test(`who waits for the GIL is told which thread has it, of ${shown(file)}`, async () => {
		const python = await Python.start(file, script('gil.py'));
		const args = ['offcputime', '--exact', '--by', 'object', '--json', '-p', `${python.pid}`, '2'];
		const { stacks } = stackReport(runToEnd(TSTRACE, args));
		await python.end();
		const waits = stacks
			.filter((stack) => pythonOf(stack).map(nameOf).includes('want_lock'))
			.flatMap(({ wait }) => wait?.objects ?? [])
			.filter(({ type }) => type === 'futex');
		const time = (of: typeof waits) => of.reduce((all, { value_ns }) => all + Number(value_ns), 0);
		assert.ok(time(waits) > 1e8, `${time(waits)} ns`);
		const ofGil = waits.filter((object) => object.in === 'GIL');
		const ofKeeper = ofGil.filter(
			({ owner }) => (owner as LockOwner | undefined)?.tid === python.tid,
		);
		// One wait may go on as tracing ends: of that one it is not known.
		assert.ok(time(ofGil) > 0.98 * time(waits), JSON.stringify(waits));
		assert.ok(time(ofKeeper) > 0.9 * time(waits), `${python.tid}: ${JSON.stringify(waits)}`);
	});

	test(`a recursion that is deeper than a stack may be, of ${shown(file)}`, () => {
		const script =
			'import time\ndef burn():\n end = time.time() + 0.7\n while time.time() < end: pass\n' +
			'def deep(n):\n return deep(n - 1) if n else burn()\ndeep(700)\n';
		const args = ['profile', '--json', '--', file, '-c', script];
		const { stacks } = stackReport(runToEnd(TSTRACE, args));
		const [most] = stacks.toSorted((a, b) => b.value - a.value);
		const functions = pythonOf(most ?? assert.fail());
		assert.equal(functions[0], 'burn (<string>:2)');
		assert.deepEqual([...new Set(functions.slice(1))], ['deep (<string>:5)']);
		// Each has two frames of C's, or three, before 3.11.
		const least = isOld ? 35 : 110;
		assert.ok(functions.length > least && functions.length <= 127, `${functions.length}`);
		assert.equal(most?.cut, 'too deep');
	});
}

test('--runtime-frames: of Python alone, and none of it', HAS_PYTHON, async () => {
	const run = (which: string) =>
		traced(DEBIANS, 'profile', '-F', '199', '--runtime-frames', which, '2');
	const language = await run('language');
	const met = language.stacks.filter(({ kinds }) => kinds.includes('p'));
	assertInSource(met);
	for (const { kinds } of met) assert.match(kinds, /^[kp]+$/);
	const native = await run('native');
	const names = native.stacks.flatMap(({ frames }) => frames);
	assert.ok(names.includes(NAMELESS));
	assert.deepEqual(
		names.filter((name) => FUNCTION.test(name)),
		[],
	);
	assert.doesNotMatch(
		native.notices.join('\n'),
		/-X perf|names of Python|Python functions without/,
	);
});

test(
	'why: of a process that tstrace reads about only after it met its functions',
	HAS_PYTHON,
	async () => {
		const python = await Python.start(DEBIANS, SCRIPT);
		const { stdout, status } = runToEnd(TSTRACE, ['why', '--folded', '-p', `${python.pid}`, '2']);
		await python.end();
		assert.equal(status, 0);
		const frames = foldedLines(stdout).flatMap(([names, value]) =>
			names.map((name) => ({ name, value })),
		);
		const sum = (is: (name: string) => boolean) =>
			frames.reduce((all, { name, value }) => all + (is(name) ? value : 0), 0);
		const named = sum((name) => FUNCTION.test(name));
		const share = named / (named + sum((name) => name === NAMELESS));
		assert.ok(named > 0 && share >= 0.99, `${share}`);
	},
);

/** One thread has the GIL for most of a second, another one wants it; then all is over. */
const SHORT = `
import threading, time
NUMBERS = list(range(1_000_000))
END = time.time() + 1
def keep_lock():
    while time.time() < END: sum(NUMBERS)
def want_lock():
    while time.time() < END: time.sleep(0.001)
threads = [threading.Thread(target=each) for each in (keep_lock, want_lock)]
for each in threads: each.start()
print(threads[0].native_id, flush=True)
for each in threads: each.join()
`;

test('COMMAND ends before tstrace prints: which thread had the GIL', HAS_PYTHON, () => {
	const tracing = (...args: readonly string[]) => {
		const { status, stdout, stderr } = runToEnd(TSTRACE, [...args, '--', DEBIANS, '-c', SHORT]);
		assert.equal(status, 0, stderr);
		const [, tid = '', report = ''] = /^(\d+)\n(.*)$/s.exec(stdout) ?? assert.fail(stdout);
		return { tid, report };
	};
	const { tid, report } = tracing('offcputime', '--by', 'object', '--format', 'text');
	assert.match(report, new RegExp(`GIL, held by thread ${tid}\\b`));
	const why = tracing('why', '--format', 'text');
	const text = why.report.replace(/\s+/g, ' ');
	assert.match(text, new RegExp(`held by: python3\\S* \\(${why.tid}\\), mostly in keep_lock`));
});

/** A hundred threads that have the GIL in turn, for a millisecond or so. */
const MANY_HOLDERS = `
import os, sys, threading, time
NUMBERS = list(range(100_000))
def work():
    while True: sum(NUMBERS); time.sleep(0.001)
for _ in range(100): threading.Thread(target=work, daemon=True).start()
print('ready', os.getpid(), threading.get_native_id(), flush=True)
sys.stdin.read()
`;

test('of very many threads that had the GIL, 64 are told', HAS_PYTHON, async () => {
	const source = join(folder, 'many_holders.py');
	writeFileSync(source, MANY_HOLDERS);
	const python = await Python.start(DEBIANS, source);
	const args = ['offcputime', '--exact', '--by', 'object', '--json', '-p', `${python.pid}`, '2'];
	const { stacks, lost } = stackReport(runToEnd(TSTRACE, args));
	await python.end();
	const waits = stacks.flatMap(({ wait }) => wait?.objects ?? []).filter(({ gil }) => gil);
	const owners = new Set(waits.map(({ owner }) => (owner as LockOwner | undefined)?.tid));
	assert.ok(owners.delete(undefined), 'of the others it is the GIL all the same');
	// Two CPUs may each count one more.
	assert.ok(owners.size >= 60 && owners.size <= 66, `${owners.size}`);
	assert.equal(lost.objects_full, undefined);
});

test('--max-depth counts Python frames, too', HAS_PYTHON, async () => {
	const { stacks } = await traced(DEBIANS, 'profile', '--max-depth', '5', '1');
	const recursing = stacks.filter(({ frames }) =>
		frames.some((each) => nameOf(each) === 'recurse'),
	);
	assert.ok(recursing.length > 0);
	for (const { frames, kinds, cut } of recursing) {
		// Interrupts come in between.
		const ofUser = frames.filter((_, i) => kinds[i] !== 'k');
		assert.ok(ofUser.length >= 4 && ofUser.length <= 5, frames.join('\n'));
		assert.equal(cut, 'too deep');
	}
});

test('COMMAND ends before tstrace prints: its functions have names', HAS_PYTHON, () => {
	const script =
		'import time\ndef burn_briefly():\n while time.process_time() < 0.7: pass\nburn_briefly()\n';
	const args = ['profile', '--format', 'folded', '--', DEBIANS, '-c', script];
	const { status, stdout, stderr } = runToEnd(TSTRACE, args);
	assert.equal(status, 0, stderr);
	const burns = foldedLines(stdout).filter(([frames]) =>
		frames.includes('burn_briefly (<string>:2)'),
	);
	assert.ok(burns.length > 0, stdout);
});

/** Children that wait, one after the other, and end. */
const CHILDREN = 20;
const FORKING = `
import os, time
def nap(): time.sleep(0.02)
def in_child(): nap()
for _ in range(${CHILDREN}):
    if os.fork() == 0:
        in_child()
        os._exit(0)
    os.wait()
`;

test('children that were forked wait, and end at once: each has its functions', HAS_PYTHON, () => {
	// Sleeps alone: a child may be preempted, too, or wait for a page.
	const options = ['--exact', '--json', '--follow', '--state', 'S'];
	const command = ['--', DEBIANS, '-c', FORKING];
	const { stacks, lost } = stackReport(runToEnd(TSTRACE, ['offcputime', ...options, ...command]));
	const naps = stacks.filter(({ frames }) => frames.includes('nap (<string>:3)'));
	for (const { frames } of naps) assert.ok(frames.includes('in_child (<string>:4)'), `${frames}`);
	const count = naps.reduce((sum, each) => sum + each.count, 0);
	assert.ok(count >= CHILDREN - unseenIn(lost) && count <= CHILDREN, `${count}`);
});

/** A copy of Python that says it has another version. */
function pythonOfAnotherVersion(): string {
	const copy = join(folder, basename(DEBIANS));
	copyFileSync(DEBIANS, copy);
	const fd = openSync(copy, 'r+');
	try {
		const elf = new Elf(new FileBytes(fd, readFileSync(copy).length));
		const { address } = new ExportedSymbols(elf).find('Py_Version') ?? assert.fail();
		const segment = elf.segments.find(
			(each) =>
				each.type === SEGMENT_TYPE.load &&
				address >= each.address &&
				address < each.address + each.size_bytes,
		);
		const { offset, address: start } = segment ?? assert.fail();
		writeSync(fd, Buffer.from([99]), 0, 1, address - start + offset + 2);
	} finally {
		closeSync(fd);
	}
	return copy;
}

test('another version of Python: no names, and a notice that says so', HAS_PYTHON, async () => {
	const { stacks, notices } = await traced(pythonOfAnotherVersion(), 'profile', '1');
	assert.ok(stacks.length > 0);
	assert.ok(stacks.every((stack) => pythonOf(stack).length === 0));
	assert.match(notices.join('\n'), /names of Python 3\.9 to 3\.14, and this is Python 3\.99\./);
});

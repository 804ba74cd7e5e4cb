/**
 * offcputime's stacks of code without frame pointers are whole, by unwind tables: those of threads that sleep all the
 * time, which are walked from outside, and of waits that end, which the kernel walks.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { type JsonStack, stackReport } from './stacks.js';
import { tstrace } from './support.js';

/**
 * Our functions on the way of each thread of test/workloads/sleepers.c, root first; of those that compilers neither
 * inline nor jump to. The two deep ones are apart.
 */
const WAYS = [
	'in_nanosleep',
	'never_returns aligned of_any_size in_nanosleep',
	'saves_all many in_poll',
	'sorts compare in_read',
	'handle in_condition',
	'signalled_in_call handle in_condition',
];
const OURS = new Set(WAYS.join(' ').split(' '));
/** Where programs are slow, reading unwind tables takes seconds; the stacks of before are cut. */
const IS_SLOW = process.env.TSTRACE_EMULATED !== undefined;
const DURATION_S = IS_SLOW ? '30' : '0.3';
/** gcc names copies that it has made fit one caller so. */
const withoutCopy = (name: string) => name.replace(/\.(constprop|isra|part)\.\d+$/, '');

/** Traces a program that has said its first line, and then ends it. */
async function traced(file: string, args: readonly string[], options: readonly string[]) {
	const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
	const exited = once(child, 'exit');
	try {
		await once(createInterface({ input: child.stdout }), 'line');
		return stackReport(
			tstrace(['offcputime', '--json', ...options, '-p', `${child.pid}`, DURATION_S]),
		);
	} finally {
		child.stdin.end();
		await exited;
	}
}

/** Threads that sleep in the functions of WAYS, in the two deep ones, and in main unless it waits for us. */
function assertWhole(report: ReturnType<typeof stackReport>, mainWays: readonly string[]): void {
	const { notices } = report;
	const stacks = report.stacks.filter(({ cut }) => !(IS_SLOW && cut === 'no table'));
	const isDeep = ({ frames }: JsonStack) =>
		frames.some((frame) => withoutCopy(frame) === 'recurses');
	const ways = stacks
		.filter((stack) => !isDeep(stack))
		.map(({ frames }) => frames.map(withoutCopy).filter((frame) => OURS.has(frame)));
	const seen = new Set(ways.map((way) => way.join(' ')));
	const shown = report.stacks
		.map(({ cut, frames }) => `${cut ?? ''}: ${frames.join(';')}`)
		.join('\n');
	assert.deepEqual([...seen].toSorted(), [...mainWays, ...WAYS].toSorted(), shown);
	const depth = (of: readonly string[]) =>
		of.filter((frame) => withoutCopy(frame) === 'recurses').length;
	const deep = stacks.filter(isDeep);
	assert.ok(deep.length >= 2);
	for (const { frames, cut } of deep) {
		if (cut === undefined) assert.equal(depth(frames), 101);
		else assert.equal(cut, 'too deep');
	}
	assert.ok(deep.some(({ cut }) => cut) && deep.some(({ cut }) => !cut));
	for (const stack of stacks) {
		if (stack.cut === 'too deep') continue;
		assert.equal(stack.cut, undefined, stack.frames.join(';'));
		assert.equal(stack.caller_missing, undefined);
		// The C library of a virtual machine has no symbols.
		assert.match(stack.frames[0] ?? '', /^(_start|_*clone3?|libc\.so\.6\+0x[0-9a-f]+)$/);
	}
	assert.ok(
		notices.every((notice) => !/frame pointers/.test(notice)),
		notices.join(),
	);
}

for (const name of ['sleepers', 'sleepers-gcc', 'sleepers-static', 'sleepers-plain']) {
	test(`who sleeps all the time has all functions on its way: ${name}`, async () => {
		// The first thread reads in main.
		assertWhole(await traced(`build/workloads/${name}`, [], ['-L']), ['']);
	});
	test(`waits that end have all functions on their way: ${name}`, async () => {
		const options = ['-L', '--exact', '--no-edges'];
		assertWhole(await traced(`build/workloads/${name}`, ['5000'], options), []);
	});
}

const PYTHON = `import threading
thread = threading.Thread(target=threading.Event().wait, daemon=True)
thread.start()
print('ready', flush=True)
input()`;

test('python3 as it is installed: both threads are whole', async (t) => {
	if (!existsSync('/usr/bin/python3')) return t.skip('needs /usr/bin/python3');
	const { stacks } = await traced('/usr/bin/python3', ['-c', PYTHON], ['-L']);
	assert.equal(stacks.length, 2);
	for (const { cut, caller_missing, frames } of stacks) {
		assert.deepEqual([cut, caller_missing], [undefined, undefined], frames.join(';'));
	}
});

/** offcputime's stacks of threads that sleep all the time, of code without frame pointers: whole, by unwind tables. */
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
/** gcc names copies that it has made fit one caller so. */
const withoutCopy = (name: string) => name.replace(/\.(constprop|isra|part)\.\d+$/, '');

/** Traces a program that has said its first line, and then ends it. */
async function traced(file: string, args: readonly string[], options: readonly string[]) {
	const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
	const exited = once(child, 'exit');
	try {
		await once(createInterface({ input: child.stdout }), 'line');
		return stackReport(tstrace(['offcputime', '--json', ...options, '-p', `${child.pid}`, '0.3']));
	} finally {
		child.stdin.end();
		await exited;
	}
}

for (const name of ['sleepers', 'sleepers-gcc', 'sleepers-static', 'sleepers-plain']) {
	test(`${name}: each thread's stack has all functions on its way`, async () => {
		const { stacks, notices } = await traced(`build/workloads/${name}`, [], ['-L']);
		const isDeep = ({ frames }: JsonStack) =>
			frames.some((frame) => withoutCopy(frame) === 'recurses');
		const ways = stacks
			.filter((stack) => !isDeep(stack))
			.map(({ frames }) => frames.map(withoutCopy).filter((frame) => OURS.has(frame)));
		// The first thread reads in main.
		assert.deepEqual(ways.map((way) => way.join(' ')).toSorted(), ['', ...WAYS].toSorted());
		const depth = (of: readonly string[]) =>
			of.filter((frame) => withoutCopy(frame) === 'recurses').length;
		const [deep, tooDeep] = stacks
			.filter(isDeep)
			.toSorted((a, b) => Number(a.cut !== undefined) - Number(b.cut !== undefined));
		assert.equal(depth(deep?.frames ?? []), 101);
		assert.equal(tooDeep?.cut, 'too deep');
		for (const stack of stacks) {
			if (stack === tooDeep) continue;
			assert.equal(stack.cut, undefined, stack.frames.join(';'));
			assert.equal(stack.caller_missing, undefined);
			assert.match(stack.frames[0] ?? '', /^(_start|__?clone3?|clone3)$/);
		}
		assert.ok(
			notices.every((notice) => !/frame pointers/.test(notice)),
			notices.join(),
		);
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

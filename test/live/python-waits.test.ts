/** Python threads in every kind of way, each frame by frame as Python itself tells it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	FUNCTION,
	INTERPRETERS,
	namedShare,
	nameOf,
	Python,
	pythonOf,
	script,
	shown,
} from './python.js';
import { NEVER_WOKEN, TIMES, type ToldFrame, toldBy } from './python-told.js';
import { type JsonStack, stackReport } from './stacks.js';
import { runToEnd, Tracing, TSTRACE } from './support.js';

/** Every stack of the thread is what faulthandler told of it, frame by frame. */
function assertAsTold(
	stacks: readonly JsonStack[],
	name: string,
	told: readonly ToldFrame[],
): void {
	assert.ok(stacks.length > 0, `${name} was not seen`);
	for (const stack of stacks) {
		const found = pythonOf(stack).map((frame) => {
			const [, qualified = '', file = '', line] = FUNCTION.exec(frame) ?? assert.fail(frame);
			return { name: qualified.split('.').at(-1) ?? '', file, line: Number(line) };
		});
		const message = `${name}: ${stack.frames.join('\n')}`;
		const withoutLines = (frames: readonly { name: string; file: string }[]) =>
			frames.map((each) => `${each.name} (${each.file})`);
		assert.deepEqual(withoutLines(found), withoutLines(told), message);
		// tstrace says where the function begins, faulthandler where in it the thread is.
		for (const [i, { line }] of found.entries())
			assert.ok(line <= (told[i]?.line ?? 0), `${line} ${message}`);
	}
}

for (const file of INTERPRETERS) {
	test(`threads that wait all the time are where faulthandler says, of ${shown(file)}`, async () => {
		const python = await Python.start(file, script('waiting.py'));
		const args = ['offcputime', '--exact', '--json', '-L', '-p', `${python.pid}`, '1'];
		const { stacks } = stackReport(runToEnd(TSTRACE, args));
		const threads = await toldBy(python, 'stacks');
		await python.end();
		assert.equal(threads.length, 14);
		for (const { name, tid, frames } of threads) {
			const own = stacks.filter(({ key }) => key.tid === tid);
			assert.equal(own.length, 1, name);
			assertAsTold(own, name, frames);
		}
	});

	test(`threads that wake up and wait again are where faulthandler says, of ${shown(file)}`, async () => {
		const python = await Python.start(file, script('waiting.py'));
		const args = ['offcputime', '--exact', '--json', '-L', '-p', `${python.pid}`];
		const tracing = await Tracing.start(args);
		const threads = await toldBy(python, 'wake');
		const { stacks } = stackReport(await tracing.end('SIGINT'));
		await python.end();
		for (const { name, tid, frames } of threads) {
			if (NEVER_WOKEN.includes(name)) continue;
			const own = stacks.filter(({ key }) => key.tid === tid);
			assertAsTold(own, name, frames);
			const waits = own.reduce((sum, { count }) => sum + count, 0);
			assert.ok(waits > TIMES / 2, `${name}: ${waits} waits`);
		}
		assert.ok(namedShare(stacks) >= 0.99, `${namedShare(stacks)}`);
	});

	test(`asyncio: coroutines that compute, as Python itself tells it, of ${shown(file)}`, async () => {
		const python = await Python.start(file, script('coroutines.py'));
		const args = ['profile', '--json', '-F', '499', '-p', `${python.pid}`, '3'];
		const { stacks, notices } = stackReport(runToEnd(TSTRACE, args));
		python.close();
		const ways = JSON.parse(await python.line()) as Record<string, string[]>;
		await python.end();
		assert.ok(namedShare(stacks) >= 0.99, `${namedShare(stacks)}`);
		const met = new Map<string, number>();
		for (const stack of stacks) {
			const functions = pythonOf(stack);
			if (nameOf(functions[0] ?? '') !== 'burn_inside') continue;
			const way = functions.join('\n');
			met.set(way, (met.get(way) ?? 0) + stack.value);
		}
		assert.equal(Object.keys(ways).length, 7);
		const expected = Object.values(ways).map((functions) => functions.join('\n'));
		assert.deepEqual([...met.keys()].sort(), expected.sort());
		assert.doesNotMatch(notices.join('\n'), /Python functions without names/);
	});
}

for (const file of INTERPRETERS)
	test(`threads in two interpreters, of ${shown(file)}`, async () => {
		const python = await Python.start(file, script('interpreters.py'));
		const told = JSON.parse(await python.line()) as Record<
			string,
			{ tid: number; functions: string[] }
		>;
		const args = ['offcputime', '--exact', '--json', '-L', '-p', `${python.pid}`];
		const fromOutside = stackReport(runToEnd(TSTRACE, [...args, '1'])).stacks;
		const tracing = await Tracing.start(args);
		python.tell('wake');
		await python.line();
		const { stacks } = stackReport(await tracing.end('SIGINT'));
		await python.end();
		for (const [name, { tid, functions }] of Object.entries(told))
			for (const seen of [fromOutside, stacks]) {
				const own = seen.filter(({ key }) => key.tid === tid);
				assert.ok(own.length > 0, name);
				// There nothing tells which thread runs what.
				const expected = file.endsWith('3.9') ? [] : functions;
				for (const stack of own) assert.deepEqual(pythonOf(stack), expected, name);
			}
	});

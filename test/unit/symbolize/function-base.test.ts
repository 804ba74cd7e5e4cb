/** Functions of a runtime whose addresses depend on where its file is mapped. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printAt } from '../../../src/runtimes/python/code.js';
import type { RuntimeFile } from '../../../src/runtimes/recognise.js';
import { FunctionNames } from '../../../src/symbolize/function-names.js';
import { ProcessHistory } from '../../../src/symbolize/mappings/processes.js';
import { BASE, FakeMemory, LAYOUT } from '../runtimes/python/memory.js';

/** Above the kernel's limit of 2^22. */
const PID = 5_000_000;
const FILE = { inode: 77, major: 8, minor: 1, path: '/usr/bin/python3' };
const RUNTIME: RuntimeFile = {
	runtime: 'python',
	version: '3.11',
	layout: LAYOUT,
	problem: undefined,
};

/** A function of a process that is met, and the names of those that were. `base`: as walks tell it. */
function metFunction(base: number) {
	const memory = new FakeMemory();
	const code = memory.code('handle', '/srv/app.py', 15);
	const { print } = printAt(memory, code, BASE + LAYOUT.codeType, LAYOUT) ?? assert.fail();
	const word = { place: code, print, isCallers: false };
	const met = [
		{ pid: PID, runtime: RUNTIME, base, frames: [{ word, call: undefined }], others: [] },
	];
	let tell = async () => {};
	const maps = {
		watch: (call: () => Promise<void>) => {
			tell = call;
		},
		met: () => met.splice(0),
		runtimeIn: ({ inode }: { inode: bigint }) =>
			inode === BigInt(FILE.inode) ? RUNTIME : undefined,
	};
	const history = new ProcessHistory();
	const pages = { read: memory.read.bind(memory), forget: () => {}, rest: () => {} };
	const names = new FunctionNames(maps, history, () => pages);
	names.begin(() => {});
	const range = { start: BASE, end: BASE + LAYOUT.evalEnd + 4096, fileOffset: 0 };
	return {
		names,
		word,
		tell: () => tell(),
		map: (file: typeof FILE) =>
			history.add({ type: 'mmap', pid: PID, tid: PID, time_ns: 10, ...range, ...file }),
		space: () => history.at(PID, 15) ?? assert.fail(),
	};
}

const NAME = { language: 'python', name: 'handle', file: '/srv/app.py', line: 15 };

test('a function is met before it is known where the file is mapped: it has its name as soon as that is', async () => {
	const { names, word, tell, map, space } = metFunction(0);
	await tell();
	map(FILE);
	const name = names.nameOf(space(), word);
	names.close();
	assert.deepEqual(name, NAME);
});

test('a file that /proc has by other numbers, as on an overlay: walks tell where it is', async () => {
	const { names, word, tell, map, space } = metFunction(BASE);
	map({ ...FILE, inode: 78, major: 0, minor: 40 });
	await tell();
	assert.deepEqual(names.nameOf(space(), word), NAME);
	assert.equal(names.runtimeOf(space()), RUNTIME);
	assert.equal(names.codeBaseOf(space(), RUNTIME), BASE);
	names.close();
});

test('what walks came to elsewhere was another program’s: its file is not mapped there', async () => {
	const { names, word, tell, map, space } = metFunction(BASE + 4096);
	map({ ...FILE, inode: 78, major: 0, minor: 40 });
	await tell();
	assert.equal(names.runtimeOf(space()), undefined);
	assert.equal(names.nameOf(space(), word), 'unread');
	names.close();
});

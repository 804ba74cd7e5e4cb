/** A process that forges what tells of its Python functions: it misleads about itself at most, and nothing waits for it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEBIANS, HAS_PYTHON, nameOf, Python, pythonOf, script } from './python.js';
import { type JsonStack, stackReport } from './stacks.js';
import { runToEnd, TSTRACE } from './support.js';

const SCRIPT = script('forged.py');
const INSIDE = ['waits_inside', 'waits_outside'];
const HONEST = [...INSIDE, 'named', 'Thread.run', 'Thread._bootstrap_inner', 'Thread._bootstrap'];
/** More frames than any list that is no forgery has here. */
const MAX_DEPTH = 127;

class Forger {
	readonly #python: Python;
	readonly pid: number;
	readonly tid: number;

	private constructor(python: Python, tid: number) {
		this.#python = python;
		this.pid = python.pid;
		this.tid = tid;
	}

	static async start(forgery: string): Promise<Forger> {
		const python = await Python.start(DEBIANS, SCRIPT);
		python.tell(forgery);
		const [, tid] = (await python.line()).split(' ').map(Number);
		return new Forger(python, tid ?? assert.fail());
	}

	end(): Promise<void> {
		return this.#python.end();
	}
}

/** What each forgery may make of the functions of the thread, leaf first. */
const FORGERIES: Readonly<Record<string, (names: readonly string[]) => void>> = {
	none: (names) => assert.deepEqual(names, HONEST),
	circle: (names) => {
		assert.ok(names.length >= 2 && names.length <= MAX_DEPTH, `${names.length}`);
		assert.deepEqual(new Set(names), new Set(INSIDE));
	},
	itself: (names) => {
		assert.ok(names.length >= 2 && names.length <= MAX_DEPTH, `${names.length}`);
		assert.deepEqual(names.slice(0, 2), INSIDE);
		assert.deepEqual(new Set(names.slice(1)), new Set(['waits_outside']));
	},
	nowhere: (names) => assertAmong(names),
	'frame-nowhere': (names) => assertAmong(names),
	kernel: (names) => assertAmong(names),
	threads: (names) => assertAmong(names),
	name: (names) => {
		assert.equal(names[0], 'waits_inside');
		assert.deepEqual(names.slice(2), HONEST.slice(2));
		const forged = names[1] ?? '';
		assert.equal(forged.replaceAll('\u001b[2J;<b>', ''), '');
		assert.ok(forged.length > 0 && forged.length <= 512, `${forged.length}`);
	},
};

/** Only what is there, in its order; of what is forged nothing, or less. */
function assertAmong(names: readonly string[]): void {
	assert.deepEqual(
		names,
		HONEST.filter((name) => names.includes(name)),
	);
}

for (const [forgery, assertNames] of Object.entries(FORGERIES))
	test(`${forgery}: the stacks of others are whole, its own end`, HAS_PYTHON, async () => {
		const [forger, honest] = [await Forger.start(forgery), await Forger.start('none')];
		const pids = `${forger.pid},${honest.pid}`;
		const args = ['offcputime', '--json', '-L', '--exact', '-p', pids, '1'];
		const ended = runToEnd(TSTRACE, args);
		await forger.end();
		await honest.end();
		const { stacks } = stackReport(ended);
		const waitsOf = ({ tid }: Forger) =>
			stacks.filter(({ key, frames }) => key.tid === tid && frames.includes('clock_nanosleep'));
		// On a loaded machine Python's file may not be read yet when the first of them is seen.
		const isNamed = (names: readonly string[]) => names.length > 0;
		const namesOf = (stack: JsonStack) => pythonOf(stack).map(nameOf);
		assert.ok(waitsOf(forger).length > 0);
		const own = waitsOf(forger).map(namesOf).filter(isNamed);
		// Where threads are not found, there are no names.
		assert.ok(own.length > 0 || forgery === 'threads');
		for (const names of own) assertNames(names);
		const others = waitsOf(honest).map(namesOf).filter(isNamed);
		assert.ok(others.length > 0);
		for (const names of others) assert.deepEqual(names, HONEST);
	});

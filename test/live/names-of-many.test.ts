/** Names of ten thousand functions of one process: each stack says by itself which two functions it has to have. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { NODE_VERSIONS } from '../../src/runtimes/v8/versions.js';
import { otherLosses, unseenIn } from './reports.js';
import { type JsonStack, stackReport, traceWork } from './stacks.js';
import { Workload } from './support.js';

const COUNT = 10_000;
const NODE_VERSION = Number.parseInt(process.versions.node, 10);
const PYTHON = '/usr/bin/python3.11';
const folder = mkdtempSync(join(tmpdir(), 'tstrace-many-'));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Language {
	readonly name: string;
	readonly program: string;
	/** Runs functions of a file. */
	readonly script: string;
	/** In lines: the first has the first function. */
	readonly source: (names: readonly string[]) => readonly string[];
	/** The function that waits. */
	readonly wait: string;
	readonly skip: string | false;
}

const scriptOf = (path: string) => fileURLToPath(new URL(`../workloads/${path}`, import.meta.url));

const LANGUAGES: readonly Language[] = [
	{
		name: 'JavaScript',
		program: process.execPath,
		script: scriptOf('javascript/many.cjs'),
		source: (names) => [
			...names.map((name) => `function ${name}(inner) { if (inner) inner(); else waitBriefly(); }`),
			`module.exports = [${names}];`,
		],
		wait: 'waitBriefly',
		skip: NODE_VERSIONS.includes(NODE_VERSION) ? false : `no names of Node.js ${NODE_VERSION}`,
	},
	{
		name: 'Python',
		program: PYTHON,
		script: scriptOf('python/many.py'),
		source: (names) => [
			...names.map((name) => `def ${name}(i=None): i() if i else wait_briefly()`),
			`functions = [${names}]`,
		],
		wait: 'wait_briefly',
		skip: existsSync(PYTHON) ? false : `there is no ${PYTHON}`,
	},
];

/** Different lengths, so that they are at no regular places. */
const NAMES = Array.from({ length: COUNT }, (_, i) => `f${'_'.repeat(i % 7)}${i}`);

/** "f_1 (…:2) f_5001 (…:5002)": the two functions before the one that waits; undefined: that is not in the stack. */
function pairOf({ frames }: JsonStack, wait: string): string | undefined {
	const at = frames.findIndex((frame) => frame.startsWith(`${wait} (`));
	return at < 0 ? undefined : frames.slice(at - 2, at).join(' ');
}

for (const { name, program, script, source, wait, skip } of LANGUAGES) {
	test(`${name}: none of 10,000 names is wrong, all are there`, { skip }, async () => {
		const file = join(folder, `many${extname(script)}`);
		writeFileSync(file, `${source(NAMES).join('\n')}\n`);
		const workload = await Workload.startBy(program, script, file);
		const args = ['offcputime', '-p', `${workload.pid}`, '--exact', '--json', '--state', 'S'];
		const { finished } = await traceWork(workload, args);
		const { stacks, lost } = stackReport(finished);
		assert.deepEqual(otherLosses(lost), {});
		const placed = (i: number) => `${NAMES[i]} (${file}:${i + 1})`;
		const expected = new Map(
			NAMES.map((_, i) => [`${placed(i)} ${placed((i + COUNT / 2) % COUNT)}`, (i % 3) + 1]),
		);
		const met = new Map<string, number>();
		for (const stack of stacks) {
			const pair = pairOf(stack, wait);
			if (pair !== undefined) met.set(pair, (met.get(pair) ?? 0) + stack.count);
		}
		for (const pair of met.keys()) assert.ok(expected.has(pair), `none calls another so: ${pair}`);
		let missing = 0;
		for (const [pair, times] of expected) missing += Math.max(0, times - (met.get(pair) ?? 0));
		// A wait may be over before it begins. V8 waits again at times, for the rest of the time.
		assert.ok(
			missing <= unseenIn(lost) + 0.01 * COUNT,
			`${missing} waits, and not seen: ${unseenIn(lost)}`,
		);
	});
}

/** Runs one test as `make test` would, in a process group of its own and for so long at most. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { kernelObjects } from '../live/kernel-objects.js';
import { decode, type TestResult } from '../vm/lines.js';
import type { TestRun } from './judge.js';
import { clearUp } from './leftovers.js';

/** What is kept of what it says. */
const KEEP_CHARACTERS = 1 << 20;

/** The one that runs. */
let running: ChildProcess | undefined;

/** Kills the test that runs, if one does, and its group. */
export function killTest(): void {
	if (running?.pid === undefined) return;
	try {
		process.kill(-running.pid, 'SIGKILL');
	} catch {
		// It has ended.
	}
}

/**
 * `test`: a file below test/, without .test.ts; `only`: a part of the names of the tests that count. The
 * current folder is the scratch copy. What the test leaves behind is ended and told.
 */
export async function runTest(
	test: string,
	only: string | undefined,
	limit_ms: number,
): Promise<TestRun> {
	const before = kernelObjects();
	const began_ms = performance.now();
	const child = spawn(process.execPath, argumentsFor(test, only), {
		detached: true,
		env: { ...process.env, TMPDIR: join(process.cwd(), 'tmp') },
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	running = child;
	let said = '';
	for (const stream of [child.stdout, child.stderr]) {
		stream.setEncoding('utf8').on('data', (text) => {
			said = (said + text).slice(-KEEP_CHARACTERS);
		});
	}
	const closed = once(child, 'close');
	let hung = false;
	const timer = setTimeout(() => {
		hung = true;
		killTest();
	}, limit_ms);
	if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
	clearTimeout(timer);
	const ms = performance.now() - began_ms;
	const left = await clearUp(before, process.cwd());
	// Nobody is left who could hold them open.
	await closed;
	running = undefined;
	const results = said.split('\n').flatMap((line) => {
		const decoded = decode(line);
		return decoded?.type === 'test' ? decoded : [];
	});
	return { results: results satisfies TestResult[], hung, status: child.exitCode, ms, left };
}

function argumentsFor(test: string, only: string | undefined): string[] {
	const pattern = only?.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
	return [
		'--enable-source-maps',
		'--test',
		'--test-timeout=600000',
		'--test-reporter=./build/test/test/vm/reporter.js',
		...(pattern ? [`--test-name-pattern=${pattern}`] : []),
		`build/test/test/${test}.test.js`,
	];
}

/** What tests of Python's functions share: Pythons, programs of theirs, and what to ask of stacks. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { JsonStack } from './stacks.js';

export const DEBIANS = '/usr/bin/python3.11';
/** Others can be named, with a colon in between: 3.9 to 3.14. */
export const INTERPRETERS = [DEBIANS, ...(process.env.PYTHONS ?? '').split(':')].filter(existsSync);
export const HAS_PYTHON = existsSync(DEBIANS) ? {} : { skip: `there is no ${DEBIANS}` };
/** Code of these has no qualified name, and functions have C frames of their own. */
export const isBefore311 = (file: string): boolean => /3\.(9|10)$/.test(file);
export const shown = (file: string): string => (file === DEBIANS ? 'Debian’s python3.11' : file);
export const script = (name: string): string =>
	fileURLToPath(new URL(`../workloads/python/${name}`, import.meta.url));

export const FUNCTION = /^(\S+|.* in .*) \((.+\.py|<.*>):(\d+)\)$/;
/** What a function of Python's is shown as that has no name. */
export const NAMELESS = '_PyEval_EvalFrameDefault';

/** A program that says "ready PID TID", and goes on until its standard input ends. */
export class Python {
	readonly #child: ChildProcess;
	readonly #lines: AsyncIterator<string>;
	pid = 0;
	tid = 0;

	constructor(file: string, source: string) {
		this.#child = spawn(file, [source], { stdio: ['pipe', 'pipe', 'inherit'] });
		const lines: Interface = createInterface({ input: this.#child.stdout ?? assert.fail() });
		this.#lines = lines[Symbol.asyncIterator]();
	}

	static async start(file: string, source: string): Promise<Python> {
		const python = new Python(file, source);
		const [, pid, tid] = (await python.line()).split(' ').map(Number);
		[python.pid, python.tid] = [pid ?? assert.fail(), tid ?? assert.fail()];
		return python;
	}

	async line(): Promise<string> {
		return (await this.#lines.next()).value ?? assert.fail('it has ended');
	}

	tell(line: string): void {
		this.#child.stdin?.write(`${line}\n`);
	}

	/** Has it end; what it says then can still be read. */
	close(): void {
		this.#child.stdin?.end();
	}

	async end(): Promise<void> {
		this.close();
		if (this.#child.exitCode === null) await once(this.#child, 'exit');
	}
}

export const nameOf = (frame: string): string => FUNCTION.exec(frame)?.[1] ?? '';

/** Leaf first. */
export const pythonOf = ({ frames, kinds }: JsonStack): string[] =>
	frames.filter((_, i) => kinds[i] === 'p').reverse();

/** The share of what is counted whose frames of Python have names, of all that has such frames. */
export function namedShare(stacks: readonly JsonStack[]): number {
	let named = 0;
	let nameless = 0;
	for (const { frames, kinds, value } of stacks)
		for (const [i, frame] of frames.entries()) {
			if (frame === NAMELESS) nameless += value;
			else if (kinds[i] === 'p') named += value;
		}
	assert.ok(named > 0);
	return named / (named + nameless);
}

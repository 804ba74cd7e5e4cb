/** gdb as an oracle: it stops the threads of a process, and says what their stacks are. */
import { createInterface } from 'node:readline';
import type { StoppedRegisters } from '../../src/unwind/walk.js';
import { Child } from '../shared/children.js';

/** Reading the symbols of a large program takes gdb that long. */
const LIMIT_S = 120;
const SCRIPT = 'bench/exact/gdb-stacks.py';
const SETTINGS = [
	'debuginfod enabled off',
	'backtrace past-main on',
	'backtrace limit unlimited',
	'confirm off',
];

export interface ThreadOfGdb {
	/** In gdb's PID namespace. */
	readonly tid: number;
	readonly registers: StoppedRegisters;
	/** Leaf first; as WalkedStack has them. */
	readonly addresses: readonly number[];
}

/** One gdb, for many stops. */
export class Gdb {
	readonly #child: Child;
	readonly #lines: AsyncIterator<string>;
	#said = '';

	/** `framePointers`: code that no file is behind keeps them. */
	constructor({ framePointers = false } = {}) {
		const settings = SETTINGS.flatMap((setting) => ['-ex', `set ${setting}`]);
		const env = { ...process.env, FRAME_POINTERS: framePointers ? '1' : '' };
		const command = ['gdb', '-nx', '-q', '-batch', ...settings, '-x', SCRIPT];
		this.#child = new Child(command, ['pipe', 'pipe', 'pipe'], env);
		this.#child.closed.catch((error) => {
			this.#said += error.message;
		});
		const { stdin, stdout, stderr } = this.#child.process;
		if (!stdout) throw new Error('gdb has no output');
		// It may have ended; what it said tells why.
		stdin?.on('error', () => {});
		stderr?.on('data', (data) => {
			this.#said += data;
		});
		this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
	}

	/** Stops all threads of a process until `release`. */
	async hold(pid: number): Promise<ThreadOfGdb[]> {
		this.#child.process.stdin?.write(`${pid}\n`);
		const threads: ThreadOfGdb[] = [];
		for (const line of await this.#until('HELD')) {
			const [, tid, own = '', frames = ''] = /^THREAD (\d+) \/ (.*) \/ (.*)$/.exec(line) ?? [];
			if (tid === undefined) continue;
			const [ip = 0, sp = 0, fp = 0, link] = numbersOf(own);
			const registers = { ip, sp, fp, ...(link === undefined ? {} : { link }) };
			threads.push({ tid: Number(tid), registers, addresses: numbersOf(frames) });
		}
		return threads;
	}

	async release(): Promise<void> {
		this.#child.process.stdin?.write('\n');
		await this.#until('RELEASED');
	}

	/** The kernel lets go on what it holds. */
	close(): Promise<void> {
		return this.#child.end();
	}

	/** The lines up to this one. Throws if it does not come. */
	async #until(last: string): Promise<string[]> {
		const limit = setTimeout(() => this.#child.kill(), LIMIT_S * 1000);
		try {
			for (const lines: string[] = []; ; ) {
				const { done, value } = await this.#lines.next();
				if (done) throw new Error(`gdb ended before it said ${last}: ${this.#said.trim()}`);
				if (value === last) return lines;
				lines.push(value);
			}
		} finally {
			clearTimeout(limit);
		}
	}
}

const numbersOf = (text: string) => text.split(' ').map((hex) => Number.parseInt(hex, 16));

/** Where results and messages go. Written at once and in full; nothing waits in this process. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { TstraceError } from '../loader/errors.js';

/** The reader of our output has gone away; nobody is left to be told. */
export class ClosedPipe extends Error {}

const STDOUT = 1;
const STDERR = 2;
const RETRY_MS = 5;

/** An open file, or standard output. */
export class Output {
	readonly #fd: number;
	readonly #name: string;

	private constructor(fd: number, name: string) {
		this.#fd = fd;
		this.#name = name;
	}

	static stdout(): Output {
		return new Output(STDOUT, 'standard output');
	}

	/** Creates or empties the file. Throws TstraceError when that is not allowed. */
	static file(path: string): Output {
		try {
			return new Output(openSync(path, 'w'), path);
		} catch (error) {
			const reason = (error as NodeJS.ErrnoException).code ?? String(error);
			throw new TstraceError(`cannot write to ${path}: ${explain(reason)}`, String(error));
		}
	}

	get isStdout(): boolean {
		return this.#fd === STDOUT;
	}

	/** Throws ClosedPipe when the reader is gone, TstraceError when the disk is full and the like. */
	write(text: string): void {
		try {
			writeFully(this.#fd, text);
		} catch (error) {
			const code = (error as NodeJS.ErrnoException).code ?? String(error);
			if (code === 'EPIPE') throw new ClosedPipe();
			throw new TstraceError(`cannot write to ${this.#name}: ${explain(code)}`, String(error));
		}
	}

	close(): void {
		if (!this.isStdout) closeSync(this.#fd);
	}
}

/** One line or more on stderr; a closed stderr is nobody's loss. */
export function say(text: string): void {
	try {
		writeFully(STDERR, `${text}\n`);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
	}
}

function writeFully(fd: number, text: string): void {
	const bytes = Buffer.from(text);
	for (let done = 0; done < bytes.length; ) {
		try {
			done += writeSync(fd, bytes, done);
		} catch (error) {
			// Another process may have made the terminal or pipe we share non-blocking.
			if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
		}
	}
}

function explain(code: string): string {
	switch (code) {
		case 'ENOSPC':
			return 'the disk is full; free some space, or choose another place with -o';
		case 'EACCES':
		case 'EPERM':
			return 'permission denied; choose another file';
		case 'ENOENT':
			return 'its folder does not exist; create it first';
		case 'EISDIR':
			return 'it is a folder; name a file';
		case 'EROFS':
			return 'the file system is read-only; choose another place';
		default:
			return code;
	}
}

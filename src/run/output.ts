/** Where results and messages go. */
import { closeSync, fstatSync, ftruncateSync, unlinkSync, writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { TstraceError } from '../errors.js';
import { printable } from '../render/terminal.js';
import { type Opened, openOutput, openWithoutBlocking, whyRefused } from './output-file.js';

/** The reader of our output has gone away; nobody is left to be told. */
export class ClosedPipe extends Error {}

const STDOUT = 1;
const STDERR = 2;
const RETRY_MS = 5;
/** How often to look whether somebody has opened a named pipe for reading. */
const READER_RETRY_MS = 50;

/** An open file, or standard output. */
export class Output {
	readonly #name: string;
	#opened: Opened;
	#pending: Promise<void> = Promise.resolve();
	/** We created the file, and there is no result yet. */
	#isNew: boolean;
	/** Nobody waits for a reader any more. */
	#givenUp = false;
	/** A run that is interrupted twice leaves no new file that looks like a result. */
	readonly #removeEmpty = () => {
		const { fd } = this.#opened;
		if (fd !== undefined && fstatSync(fd).size === 0) removeFile(this.#name);
	};

	private constructor(name: string, opened: Opened) {
		this.#name = name;
		this.#opened = opened;
		this.#isNew = opened.isNew;
		if (this.#isNew) process.once('exit', this.#removeEmpty);
	}

	/**
	 * Standard output. A pipe gets an open file description of our own that does not block: ours
	 * can be waited for while signals are heeded, and COMMAND, which shares the other, is spared.
	 */
	static stdout(): Output {
		return new Output('standard output', openWithoutBlocking(STDOUT));
	}

	/**
	 * Opens the file and leaves it as it is, or creates it; one without a result is removed again. A named pipe
	 * that nobody reads yet is opened when there is something to write. Throws TstraceError if that is refused.
	 */
	static file(path: string): Output {
		try {
			return new Output(path, openOutput(path));
		} catch (error) {
			throw cannotWrite(path, error);
		}
	}

	get isTerminal(): boolean {
		const { fd } = this.#opened;
		return fd !== undefined && isatty(fd);
	}

	/** Empties a file: when there is going to be something to write, and not before. */
	truncate(): void {
		const { fd, isOurs } = this.#opened;
		this.#isNew = false;
		if (fd !== undefined && isOurs && fstatSync(fd).isFile()) ftruncateSync(fd);
	}

	/** From now on a pipe that nobody reads is an error, and not waited for: somebody wants this to end. */
	giveUp(): void {
		this.#givenUp = true;
	}

	/**
	 * Writes after all that was written before; resolves when nothing of it waits in this process.
	 * Throws ClosedPipe when the reader is gone, TstraceError when the disk is full, for example.
	 */
	write(text: string | Uint8Array): Promise<void> {
		const written = this.#pending.then(() => this.#writeNow(text));
		// The writer awaits the error; the next writer tries again.
		this.#pending = written.catch(() => undefined);
		return written;
	}

	/** Throws TstraceError where what was written turns out not to be kept. Twice is once. */
	close(): void {
		process.off('exit', this.#removeEmpty);
		if (this.#isNew) removeFile(this.#name);
		this.#isNew = false;
		const { fd, isOurs } = this.#opened;
		this.#opened = { isOurs: false, isNew: false };
		if (fd === undefined || !isOurs) return;
		try {
			closeSync(fd);
		} catch (error) {
			throw cannotWrite(this.#name, error);
		}
	}

	async #writeNow(text: string | Uint8Array): Promise<void> {
		const bytes = Buffer.from(text);
		if (bytes.length === 0) return;
		const fd = this.#opened.fd ?? (await this.#reader());
		for (let done = 0; done < bytes.length; ) {
			try {
				done += writeSync(fd, bytes, done);
			} catch (error) {
				const { code } = error as NodeJS.ErrnoException;
				if (code === 'EPIPE') throw new ClosedPipe();
				if (code !== 'EAGAIN') throw cannotWrite(this.#name, error);
				await sleep(RETRY_MS);
			}
		}
	}

	/** Waits until somebody reads the named pipe, and opens it. */
	async #reader(): Promise<number> {
		let told = false;
		for (;;) {
			try {
				this.#opened = openOutput(this.#name);
			} catch (error) {
				throw cannotWrite(this.#name, error);
			}
			if (this.#opened.fd !== undefined) return this.#opened.fd;
			if (this.#givenUp) {
				throw new TstraceError(
					`cannot write to ${this.#name}: no process reads this pipe; start its reader first`,
				);
			}
			if (!told) say(`waiting for a process to read ${printable(this.#name)}`);
			told = true;
			await sleep(READER_RETRY_MS);
		}
	}
}

/**
 * Keeps node from opening standard error. node does that whenever a socket closes (to compare the two), and it makes a
 * pipe non-blocking then: for COMMAND too, which would lose what does not fit. Call it before COMMAND starts.
 */
export function keepStderrBlocking(): void {
	const blocking = new Writable({
		write: (chunk: Uint8Array, _encoding, done) => {
			writeStderr(chunk);
			done();
		},
	});
	Object.defineProperty(process, 'stderr', { configurable: true, value: blocking });
}

/** One line or more on stderr. Where nobody reads it or it does not fit, it is let go. */
export function say(text: string): void {
	writeStderr(Buffer.from(`${text}\n`));
}

/** On a terminal: in place of the line that the cursor is on. */
export function sayInPlace(line: string): void {
	writeStderr(Buffer.from(`\r${line}\x1b[K`));
}

/** There is no reader, it has no room now, its terminal is gone, its disk is full. */
const LET_GO = ['EPIPE', 'EAGAIN', 'EIO', 'ENOSPC'];

function writeStderr(bytes: Uint8Array): void {
	try {
		for (let done = 0; done < bytes.length; ) done += writeSync(STDERR, bytes, done);
	} catch (error) {
		if (!LET_GO.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
	}
}

/** The same, but it never waits for a reader: for signal handlers. */
export function sayIfRoom(text: string): void {
	const { fd, isOurs } = openWithoutBlocking(STDERR, { terminals: true });
	try {
		// What could not be opened anew may block: another user's pipe or terminal, a socket.
		if (isOurs || fstatSync(STDERR).isFile()) writeSync(fd, `${text}\n`);
	} catch {
		// A full pipe: then not.
	} finally {
		if (isOurs) closeSync(fd);
	}
}

function removeFile(path: string): void {
	try {
		unlinkSync(path);
	} catch {
		// Somebody else did, or it is not to be.
	}
}

function cannotWrite(name: string, error: unknown): TstraceError {
	return new TstraceError(`cannot write to ${name}: ${whyRefused(error)}`, String(error));
}

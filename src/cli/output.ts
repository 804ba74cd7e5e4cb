/** Where results and messages go. */
import {
	closeSync,
	constants,
	fstatSync,
	ftruncateSync,
	openSync,
	unlinkSync,
	writeSync,
} from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { TstraceError } from '../loader/errors.js';

/** The reader of our output has gone away; nobody is left to be told. */
export class ClosedPipe extends Error {}

const STDOUT = 1;
const STDERR = 2;
const RETRY_MS = 5;
const { O_CREAT, O_EXCL, O_NONBLOCK, O_WRONLY } = constants;

/** An open file, or standard output. */
export class Output {
	readonly #fd: number;
	readonly #name: string;
	#pending: Promise<void> = Promise.resolve();
	/** We created the file, and there is no result yet. */
	#isNew = false;
	/** Whoever is interrupted twice leaves no new file that looks like a result. */
	readonly #removeEmpty = () => {
		if (fstatSync(this.#fd).size === 0) removeFile(this.#name);
	};

	private constructor(fd: number, name: string) {
		this.#fd = fd;
		this.#name = name;
	}

	/**
	 * Standard output. A pipe gets an open file description of our own that does not block: ours
	 * can be waited for while signals are heeded, and COMMAND, which shares the other, is spared.
	 */
	static stdout(): Output {
		const name = 'standard output';
		if (!fstatSync(STDOUT).isFIFO()) return new Output(STDOUT, name);
		try {
			return new Output(openSync(`/proc/self/fd/${STDOUT}`, O_WRONLY | O_NONBLOCK), name);
		} catch {
			return new Output(STDOUT, name); // another user's pipe, which we were handed
		}
	}

	/**
	 * Opens the file and leaves it as it is, or creates it; one without a result is removed again.
	 * Throws TstraceError if that is refused.
	 */
	static file(path: string): Output {
		try {
			const output = new Output(openSync(path, O_WRONLY | O_CREAT | O_EXCL, 0o666), path);
			output.#isNew = true;
			process.once('exit', output.#removeEmpty);
			return output;
		} catch {
			// It is there already, or the second try says what is wrong.
		}
		try {
			return new Output(openSync(path, O_WRONLY | O_CREAT, 0o666), path);
		} catch (error) {
			throw cannotWrite(path, error);
		}
	}

	get isTerminal(): boolean {
		return isatty(this.#fd);
	}

	/** Empties a file: when there is going to be something to write, and not before. */
	truncate(): void {
		this.#isNew = false;
		if (fstatSync(this.#fd).isFile() && this.#fd !== STDOUT) ftruncateSync(this.#fd);
	}

	/**
	 * Writes after all that was written before; resolves when nothing of it waits in this process.
	 * Throws ClosedPipe when the reader is gone, TstraceError when the disk is full and the like.
	 */
	write(text: string | Uint8Array): Promise<void> {
		const written = this.#pending.then(() => this.#writeNow(text));
		// The error is the writer's, who awaits it; whoever comes next tries for himself.
		this.#pending = written.catch(() => undefined);
		return written;
	}

	close(): void {
		process.off('exit', this.#removeEmpty);
		if (this.#isNew) removeFile(this.#name);
		if (this.#fd !== STDOUT) closeSync(this.#fd);
	}

	async #writeNow(text: string | Uint8Array): Promise<void> {
		const bytes = Buffer.from(text);
		for (let done = 0; done < bytes.length; ) {
			try {
				done += writeSync(this.#fd, bytes, done);
			} catch (error) {
				const { code } = error as NodeJS.ErrnoException;
				if (code === 'EPIPE') throw new ClosedPipe();
				if (code !== 'EAGAIN') throw cannotWrite(this.#name, error);
				await sleep(RETRY_MS);
			}
		}
	}
}

/** One line or more on stderr. Where nobody reads it or it does not fit, it is let go. */
export function say(text: string): void {
	try {
		writeSync(STDERR, `${text}\n`);
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (!['EPIPE', 'EAGAIN', 'EIO', 'ENOSPC'].includes(code ?? '')) throw error;
	}
}

/** The same, but it never waits for a reader: for signal handlers. */
export function sayIfRoom(text: string): void {
	try {
		const fd = openSync(`/proc/self/fd/${STDERR}`, O_WRONLY | O_NONBLOCK);
		try {
			writeSync(fd, `${text}\n`);
		} finally {
			closeSync(fd);
		}
	} catch {
		// A full pipe, another user's terminal, a socket: then not.
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
	const code = (error as NodeJS.ErrnoException).code ?? String(error);
	const advice = ADVICE[code] ?? code;
	return new TstraceError(`cannot write to ${name}: ${advice}`, String(error));
}

const ADVICE: Readonly<Record<string, string>> = {
	ENOSPC: 'the disk is full; free some space, or choose another place',
	EACCES: 'permission denied; choose another file',
	EPERM: 'permission denied; choose another file',
	ENOENT: 'its folder does not exist; create it first',
	EISDIR: 'it is a folder; name a file',
	EROFS: 'the file system is read-only; choose another place',
};

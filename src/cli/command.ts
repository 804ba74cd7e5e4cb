/** COMMAND: started and held before its first instruction, let go once tracing has begun. */
import { type ChildProcess, spawn } from 'node:child_process';
import {
	accessSync,
	closeSync,
	constants,
	openSync,
	readSync,
	type Stats,
	statSync,
} from 'node:fs';
import { constants as osConstants } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { TstraceError } from '../loader/errors.js';

/** The shell waits for a line on descriptor 3; then it becomes COMMAND, under the same PID. */
const HOLD = 'read -r go <&3 || exit 125; exec 3<&-; exec "$@"';
const SHELL = '/bin/sh';
const SIGNAL_BASE = 128;

export class Command {
	readonly pid: number;
	readonly #child: ChildProcess;
	/** Settles when COMMAND has ended, with the status a shell would give. */
	readonly ended: Promise<number>;
	#status: number | undefined;
	#held = true;

	/** Throws TstraceError when the file is not found or cannot be executed. */
	constructor(readonly words: readonly string[]) {
		const file = executable(words[0] as string);
		// Where /bin/sh is bash it would interpret that by itself, under its own name and without an exec,
		// from which on COMMAND is traced.
		const executed = isPlainScript(file) ? [SHELL, file, ...words.slice(1)] : words;
		this.#child = spawn(SHELL, ['-c', HOLD, 'sh', ...executed], {
			stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
		});
		// What goes wrong shows in its exit; without a listener it would end this process.
		this.#child.on('error', () => undefined);
		if (this.#child.pid === undefined) throw new TstraceError(`cannot start COMMAND: ${refusal()}`);
		this.pid = this.#child.pid;
		process.on('exit', this.terminate);
		// The end of the pipe goes when COMMAND does, or is killed before it begins.
		(this.#child.stdio[3] as Writable).on('error', () => this.#child.kill());
		this.ended = new Promise((resolve) => {
			this.#child.on('exit', (code, signal) => {
				this.#status = code ?? SIGNAL_BASE + osConstants.signals[signal as NodeJS.Signals];
				resolve(this.#status);
			});
		});
	}

	/** The exit status; undefined while it runs. */
	get status(): number | undefined {
		return this.#status;
	}

	/** Lets COMMAND execute. */
	release(): void {
		this.#held = false;
		(this.#child.stdio[3] as Writable).end('go\n');
	}

	/**
	 * Hands a signal on that we were ended with. Ctrl-C at a terminal reaches COMMAND without us;
	 * a second one might mean something else to it, unless it is held still.
	 */
	handOn(signal: NodeJS.Signals): void {
		if (this.#status !== undefined) return;
		if (signal === 'SIGINT' && process.stdin.isTTY && !this.#held) return;
		this.#child.kill(signal);
	}

	/** Ends COMMAND if it still runs; we started it, so we do not leave it behind. */
	readonly terminate = (): void => {
		process.off('exit', this.terminate);
		if (this.#status === undefined) this.#child.kill('SIGTERM');
		this.#child.unref();
	};
}

/** Why the shell did not start; node says so only when this run is over. */
function refusal(): string {
	try {
		accessSync(SHELL, constants.X_OK);
	} catch (error) {
		const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
		const what = missing ? `there is no ${SHELL}` : `${SHELL} cannot be executed`;
		return `${what}, which holds it until tracing begins; trace a running process with -p PID`;
	}
	return 'the limit of processes or of open files is reached; raise it: ulimit -u, ulimit -n';
}

/** Of a file's beginning, what tells text: bash's check_binary_file() looks at as much. */
const FIRST_BYTES = 80;

/** A script that does not say of what: the kernel does not execute it, shells do (man 3p exec, ENOEXEC). */
function isPlainScript(path: string): boolean {
	const bytes = Buffer.alloc(FIRST_BYTES);
	let fd = -1;
	try {
		fd = openSync(path, 'r');
		const first = bytes.subarray(0, readSync(fd, bytes));
		return !first.includes(0) && first.toString('latin1', 0, 2) !== '#!';
	} catch {
		return false; // executable, but not to be read: no shell could either
	} finally {
		if (fd >= 0) closeSync(fd);
	}
}

/** What the shell would find; asked before, so that the error is ours and comes before tracing. */
function executable(name: string): string {
	const candidates = name.includes('/')
		? [name]
		: (process.env.PATH ?? '/usr/bin:/bin').split(':').map((folder) => join(folder || '.', name));
	let refused: string | undefined;
	for (const candidate of candidates) {
		const stat = statOf(candidate);
		if (stat?.isDirectory() && name.includes('/')) {
			throw new TstraceError(`cannot execute ${name}: it is a folder; name a file in it`);
		}
		if (!stat?.isFile()) continue;
		try {
			accessSync(candidate, constants.X_OK);
			return candidate;
		} catch {
			refused = candidate; // there, but not ours to execute; a later folder may have another
		}
	}
	throw new TstraceError(
		refused
			? `cannot execute ${refused}: it is not executable; chmod +x it, or name its interpreter`
			: `there is no command ${name}: check its spelling, and PATH`,
	);
}

/** Undefined where there is nothing, or nothing that we may look at. */
function statOf(path: string): Stats | undefined {
	try {
		return statSync(path);
	} catch {
		return undefined;
	}
}

/** COMMAND: started and held before its first instruction, let go once tracing has begun. */
import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { constants as osConstants } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { TstraceError } from '../loader/errors.js';

/** The shell waits for a line on descriptor 3; then it becomes COMMAND, under the same PID. */
const HOLD = 'read -r go <&3 || exit 125; exec 3<&-; exec "$@"';
const SIGNAL_BASE = 128;

export class Command {
	readonly pid: number;
	readonly #child: ChildProcess;
	/** Settles when COMMAND has ended, with the status a shell would give. */
	readonly ended: Promise<number>;
	#status: number | undefined;

	/** Throws TstraceError when the file is not found or cannot be executed. */
	constructor(words: readonly string[]) {
		requireExecutable(words[0] as string);
		this.#child = spawn('/bin/sh', ['-c', HOLD, 'sh', ...words], {
			stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
		});
		if (this.#child.pid === undefined) throw new TstraceError('cannot start /bin/sh');
		this.pid = this.#child.pid;
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
		(this.#child.stdio[3] as Writable).end('go\n');
	}

	/** Ends COMMAND when it still runs; we started it, so we do not leave it behind. */
	terminate(): void {
		if (this.#status === undefined) this.#child.kill('SIGTERM');
		this.#child.unref();
	}
}

/** What the shell would find; asked before, so that the error is ours and comes before tracing. */
function requireExecutable(name: string): void {
	const candidates = name.includes('/')
		? [name]
		: (process.env.PATH ?? '/usr/bin:/bin').split(':').map((folder) => join(folder || '.', name));
	let refused: string | undefined;
	for (const candidate of candidates) {
		if (!statSync(candidate, { throwIfNoEntry: false })?.isFile()) continue;
		try {
			accessSync(candidate, constants.X_OK);
			return;
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

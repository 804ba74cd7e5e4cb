/** COMMAND: started and held before its first instruction, released once tracing has begun. */
import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { constants as osConstants } from 'node:os';
import type { Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { largest } from '../aggregate/largest.js';
import { TstraceError } from '../errors.js';
import { commandPath, DEFAULT_PATH } from '../proc/command-path.js';
import { beginningOf } from '../proc/open.js';
import { type Started, started } from './inherited.js';
import { keepStderrBlocking } from './output.js';

const STDIN = 0;

const SHELL = '/bin/sh';
const SIGNAL_BASE = 128;
/** Shells take one digit for a descriptor; 0 to 2 are COMMAND's. */
const HOLDS = [3, 4, 5, 6, 7, 8, 9];

export class Command {
	readonly pid: number;
	readonly #child: ChildProcess;
	/** What it is held by. */
	readonly #line: Writable;
	/** Settles when COMMAND has ended, with the status a shell would give. */
	readonly ended: Promise<number>;
	#status: number | undefined;
	#held = true;

	/** Throws TstraceError when the file is not found or cannot be executed. */
	constructor(readonly words: readonly string[]) {
		requireInterpreter(commandPath(words[0] as string));
		const hold = HOLDS.find((fd) => !started.open?.has(fd));
		if (hold === undefined)
			throw new TstraceError('cannot start COMMAND: descriptors 3 to 9 are all in use; close one');
		const shell = [SHELL, '-c', holding(hold, started), 'sh', ...words];
		const [first = '', ...others] = [...blocking(started), ...shell];
		keepStderrBlocking();
		this.#child = spawn(first, others, { stdio: descriptors(hold, started) });
		// What goes wrong shows in its exit; without a listener it would end this process.
		this.#child.on('error', () => undefined);
		if (this.#child.pid === undefined) throw new TstraceError(`cannot start COMMAND: ${refusal()}`);
		this.pid = this.#child.pid;
		process.on('exit', this.terminate);
		// The end of the pipe goes when COMMAND does, or is killed before it begins.
		this.#line = this.#child.stdio[hold] as Writable;
		this.#line.on('error', () => this.#child.kill());
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
		this.#line.end('go\n');
	}

	/**
	 * Hands a signal on that we were ended with. Ctrl-C at a terminal reaches COMMAND without us;
	 * a second one might mean something else to it, unless it is held still.
	 */
	handOn(signal: NodeJS.Signals): void {
		if (this.#status !== undefined) return;
		// Asking process.stdin of a pipe would make it non-blocking, for COMMAND too.
		if (signal === 'SIGINT' && isatty(STDIN) && !this.#held) return;
		this.#child.kill(signal);
	}

	/** Ends COMMAND if it still runs; we started it, so we do not leave it behind. */
	readonly terminate = (): void => {
		process.off('exit', this.terminate);
		if (this.#status === undefined) this.#child.kill('SIGTERM');
		// It may have SIGTERM blocked; the shell that holds it ends when nobody can let it go any more.
		if (this.#held) this.#line.destroy();
		this.#child.unref();
	};
}

/**
 * The kernel does not execute a script without `#!`, and shells do different things with it. bash interprets it
 * without an exec; but COMMAND is traced from its exec on.
 */
function requireInterpreter(file: string): void {
	const beginning = beginningOf(file) ?? '#!';
	if (beginning.startsWith('#!') || beginning.includes('\0')) return;
	throw new TstraceError(
		`cannot execute ${file}: it is a script without a #! line, so the kernel does not know its interpreter; ` +
			`add that line, or name the interpreter: sh ${file}`,
	);
}

/** Why the shell did not start; node says so only when this run is over. */
function refusal(): string {
	try {
		accessSync(SHELL, constants.X_OK);
	} catch (error) {
		const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
		const what = missing ? `there is no ${SHELL}` : `${SHELL} cannot be executed`;
		return `${what}, which tstrace needs to start COMMAND; trace a running process with -p PID`;
	}
	return 'you have reached the limit of processes or of open files; raise it: ulimit -u, ulimit -n';
}

/**
 * The shell waits for a line on descriptor `hold`; then it becomes COMMAND, under the same PID, with what
 * tstrace itself was started with.
 */
export function holding(hold: number, { files, ignored, open }: Started): string {
	const closed = [0, 1, 2].filter((fd) => open !== undefined && !open.has(fd));
	return [
		`read -r go <&${hold} || exit 125`,
		...(process.env.PATH === undefined ? [`PATH=${DEFAULT_PATH}`] : []),
		...(files === undefined ? [] : [`ulimit -S -n ${files}`]),
		...(ignored.length === 0 ? [] : [`trap '' ${ignored.join(' ')}`]),
		`exec ${[hold, ...closed].map((fd) => `${fd}<&-`).join(' ')}`,
		'exec "$@"',
	].join('; ');
}

/**
 * What becomes the shell with the same signals blocked; no shell can block them, and hardly anybody does. Where
 * `env` cannot either (before coreutils 8.31), none is.
 */
function blocking({ blocked }: Started): string[] {
	if (blocked.length === 0) return [];
	const env = ['env', `--block-signal=${blocked.join(',')}`];
	const tried = spawnSync('env', [...env.slice(1), 'true'], { stdio: 'ignore' });
	return tried.status === 0 ? env : [];
}

/** COMMAND's descriptors by number: those that tstrace was started with, and the one that holds it. */
function descriptors(hold: number, { open = new Set() }: Started): StdioOptions {
	const last = largest(open, hold);
	const list = Array.from({ length: last + 1 }, (_, fd) =>
		open.has(fd) ? fd : ('ignore' as const),
	);
	return Object.assign(list, { 0: 'inherit', 1: 'inherit', 2: 'inherit', [hold]: 'pipe' });
}

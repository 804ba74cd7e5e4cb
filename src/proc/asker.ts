/**
 * Asks whether something answers. It may never answer, and a process that waits for it cannot be ended. So a process of
 * its own asks, and tstrace waits for that process a short time only.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { textOf } from '../text-of.js';
import { statFields } from './stat-fields.js';

/** We wait that long for the first answer of each. */
const PATIENCE_MS = 500;
const POLL_MS = 2;
/** Of those that never answered: so all of them together cost us 2 s at most. */
const MAX_SILENT = 4;
/** So many that answered are known. */
const MAX_KNOWN = 256;
/** Nothing else is looked up, in folders that may be silent themselves. */
const OPTIONS = {
	stdio: 'ignore',
	cwd: '/',
	env: { PATH: '/usr/bin:/bin' },
	detached: true,
} as const;
/** man 5 proc_pid_stat: fields behind the name, from 0. */
const [STATE_FIELD, EXIT_CODE_FIELD] = [0, 49];

interface Asked<Subject> {
	readonly subject: Subject;
	/** Undefined: nobody asks any more, or nobody ever did, as others are silent. */
	child: ChildProcess | undefined;
	began_ms: number;
	/** Of performance.now(); undefined: never. */
	answered_ms: number | undefined;
	/** Somebody was told that it does not answer. */
	hasRefused: boolean;
}

const children = new Set<ChildProcess>();

/** Knows which subjects of one kind answer, and which do not. */
export class Asker<Subject> {
	readonly #asked = new Map<string, Asked<Subject>>();
	readonly #command: (what: string) => readonly [string, ...string[]];
	readonly #valid_ms: number;

	/**
	 * `command`: a program with its arguments that ends as soon as what it is about has answered. `valid_ms`: an answer is
	 * believed for so long.
	 */
	constructor(command: (what: string) => readonly [string, ...string[]], valid_ms: number) {
		this.#command = command;
		this.#valid_ms = valid_ms;
	}

	/** Those that did not answer in time when they were asked. */
	get silent(): readonly Subject[] {
		return [...this.#asked.values()].flatMap(({ subject, hasRefused }) =>
			hasRefused ? [subject] : [],
		);
	}

	/**
	 * Whether a subject answers, of this name; `what`: for the command. Waits up to 500 ms for one that does not; from
	 * then on the answer is "no" at once until it does.
	 */
	isAnswering(name: string, subject: Subject, what: string): boolean {
		const known = this.#asked.get(name);
		if (known && this.#hasAnswered(known)) return true;
		if (known?.child) return refuse(known);
		if (!known && this.#asked.size >= MAX_KNOWN) this.#forgetAnswered();
		const ask: Asked<Subject> = known ?? {
			...{ subject, child: undefined, began_ms: 0, answered_ms: undefined, hasRefused: false },
		};
		if (ask.answered_ms === undefined && this.#countSilent() >= MAX_SILENT) return false;
		this.#asked.set(name, ask);
		ask.began_ms = performance.now();
		ask.child = started(this.#command(what));
		// Without the program, nobody can ask: then we go on, as most answer.
		if (ask.child === undefined) return true;
		while (ask.child && performance.now() - ask.began_ms < PATIENCE_MS) {
			if (this.#hasAnswered(ask)) return true;
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
		}
		return refuse(ask);
	}

	/** Whether there is an answer that is young enough. */
	#hasAnswered(ask: Asked<Subject>): boolean {
		const code = ask.child && exitCodeOf(ask.child);
		if (ask.child && code !== undefined) {
			children.delete(ask.child);
			ask.child = undefined;
			const took_ms = performance.now() - ask.began_ms;
			// An error is an answer, too, but not if it comes late: the next one would be late as well.
			if (code === 0 || (code > 0 && took_ms < PATIENCE_MS)) ask.answered_ms = performance.now();
		}
		const { child, answered_ms } = ask;
		return !child && answered_ms !== undefined && performance.now() - answered_ms < this.#valid_ms;
	}

	#countSilent(): number {
		return [...this.#asked.values()].filter(
			({ child, answered_ms }) => child && answered_ms === undefined,
		).length;
	}

	#forgetAnswered(): void {
		for (const [name, { child }] of this.#asked) if (!child) this.#asked.delete(name);
	}
}

function refuse(ask: { hasRefused: boolean }): false {
	ask.hasRefused = true;
	return false;
}

/** Undefined: there is no such program, or nothing can be started now. */
function started([program, ...words]: readonly [string, ...string[]]): ChildProcess | undefined {
	try {
		const child = spawn(program, words, OPTIONS);
		child.on('error', () => {});
		child.unref();
		if (child.pid === undefined) return undefined;
		children.add(child);
		return child;
	} catch {
		return undefined; // node throws where there is no memory for it
	}
}

process.on('exit', () => {
	for (const child of children) endWithItsOwn(child);
});

/** Ends a process and those that it has started: it leads a group of its own. */
function endWithItsOwn({ pid, exitCode, signalCode }: ChildProcess): void {
	if (pid === undefined || exitCode !== null || signalCode !== null) return;
	try {
		process.kill(-pid, 'SIGKILL');
	} catch {
		// It has just ended.
	}
}

/** Undefined: it runs; negative: it was killed. node itself hears of its end in its event loop only. */
function exitCodeOf({ pid, exitCode, signalCode }: ChildProcess): number | undefined {
	if (exitCode !== null || signalCode !== null) return exitCode ?? -1;
	const stat = textOf(`/proc/${pid}/stat`);
	if (stat === undefined) return -1;
	const fields = statFields(stat);
	if (fields[STATE_FIELD] !== 'Z') return undefined;
	const status = Number(fields[EXIT_CODE_FIELD]);
	return (status & 0x7f) === 0 ? status >> 8 : -1;
}

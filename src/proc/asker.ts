/**
 * Asks whether something answers that we might wait for for ever, deaf to every signal: a process of its own asks, and
 * we wait for it a short time only.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { textOf } from '../text-of.js';

/** We wait that long for the first answer of each. */
const PATIENCE_MS = 500;
const POLL_MS = 2;
/** After that time who answered is asked again. */
const VALID_MS = 10_000;
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

/** Of subjects of one kind: who answers, and who does not. */
export class Asker<Subject> {
	readonly #asked = new Map<string, Asked<Subject>>();
	readonly #command: (what: string) => readonly [string, ...string[]];

	/** `command`: a program with its arguments that ends as soon as what it is about has answered. */
	constructor(command: (what: string) => readonly [string, ...string[]]) {
		this.#command = command;
		process.on('exit', () => {
			for (const { child } of this.#asked.values())
				if (child?.pid !== undefined) child.kill('SIGKILL');
		});
	}

	/** Those that did not answer when they were asked. */
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
		if (known && hasAnswered(known)) return true;
		if (known?.child) return refuse(known);
		if (!known && this.#asked.size >= MAX_KNOWN) this.#forgetAnswered();
		const ask: Asked<Subject> = known ?? {
			...{ subject, child: undefined, began_ms: 0, answered_ms: undefined, hasRefused: false },
		};
		this.#asked.set(name, ask);
		if (ask.answered_ms === undefined && this.#countSilent() >= MAX_SILENT) return refuse(ask);
		ask.began_ms = performance.now();
		const [program, ...words] = this.#command(what);
		ask.child = spawn(program, words, OPTIONS);
		ask.child.on('error', () => {});
		ask.child.unref();
		// Without the program, nobody can ask: then we go on, as most answer.
		if (ask.child.pid === undefined) return true;
		while (ask.child && performance.now() - ask.began_ms < PATIENCE_MS) {
			if (hasAnswered(ask)) return true;
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
		}
		return refuse(ask);
	}

	#countSilent(): number {
		return [...this.#asked.values()].filter(
			({ child, answered_ms }) => child && answered_ms === undefined,
		).length;
	}

	#forgetAnswered(): void {
		for (const [name, ask] of this.#asked) if (!ask.hasRefused) this.#asked.delete(name);
	}
}

function refuse(ask: { hasRefused: boolean }): false {
	ask.hasRefused = true;
	return false;
}

/** Whether there is an answer that is young enough. */
function hasAnswered(ask: Asked<unknown>): boolean {
	const code = ask.child && exitCodeOf(ask.child);
	if (code !== undefined) {
		ask.child = undefined;
		const took_ms = performance.now() - ask.began_ms;
		// An error is an answer, too, but not if it comes late: the next one would be late as well.
		if (code === 0 || (code > 0 && took_ms < PATIENCE_MS)) ask.answered_ms = performance.now();
	}
	const { child, answered_ms } = ask;
	return !child && answered_ms !== undefined && performance.now() - answered_ms < VALID_MS;
}

/** Undefined: it runs; negative: it was killed. node itself hears of its end in its event loop only. */
function exitCodeOf({ pid, exitCode, signalCode }: ChildProcess): number | undefined {
	if (exitCode !== null || signalCode !== null) return exitCode ?? -1;
	const stat = textOf(`/proc/${pid}/stat`);
	if (stat === undefined) return -1;
	// The name in brackets may have brackets itself.
	const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
	if (fields[STATE_FIELD] !== 'Z') return undefined;
	const status = Number(fields[EXIT_CODE_FIELD]);
	return (status & 0x7f) === 0 ? status >> 8 : -1;
}

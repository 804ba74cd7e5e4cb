/** When to stop: a signal, the end of what is traced, or the last interval. */
import { setImmediate as nextLoop } from 'node:timers/promises';
import type { EarlyEnd } from '../aggregate/report.js';
import { isIgnored } from './inherited.js';
import { sayIfRoom } from './output.js';

/** Each asks to stop, unless it was ignored as tstrace was started: by nohup, or by & in a script. */
const SIGNALS = (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1'] as const).filter(
	(signal) => !isIgnored(signal),
);
const EXIT_SECOND_SIGNAL = 130;
/** setTimeout counts in 32 bits: 25 days. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** That of the run that goes on. */
let current: Stop | undefined;

/** An error that nobody caught, in a timer or an event, ends the current run. Returns false if none is going on. */
export function failRun(error: unknown): boolean {
	current?.fail(error);
	return current !== undefined;
}

export class Stop {
	/** The signal by which somebody asked for it. */
	signal: NodeJS.Signals | undefined;
	reason: EarlyEnd | undefined;
	#requested = false;
	#callback: ((signal: NodeJS.Signals) => void) | undefined;
	#failure: { readonly error: unknown } | undefined;
	#wake: (() => void) | undefined;
	#deadline_ms: number | undefined;
	#interruptible: AbortController | undefined;
	readonly #onSignal = (signal: NodeJS.Signals) => {
		if (this.#interruptible && !this.#interruptible.signal.aborted) {
			this.#interruptible.abort();
			// One that came before asked to stop already; this one has had its effect.
			if (this.signal) return;
		}
		// Exiting runs the handlers that release what the kernel holds for us.
		if (this.signal) {
			sayIfRoom('interrupted again: tstrace drops what it has not printed yet');
			process.exit(EXIT_SECOND_SIGNAL);
		}
		this.signal = signal;
		this.#callback?.(signal);
		this.request();
	};

	/** From now on the first signal asks to stop, and the second leaves at once. */
	constructor() {
		current = this;
		for (const signal of SIGNALS) process.on(signal, this.#onSignal);
	}

	get requested(): boolean {
		return this.#requested;
	}

	/** `reason`: why it is earlier than was asked for; the first one counts. */
	request(reason?: EarlyEnd): void {
		if (!this.#requested) this.reason = reason;
		this.#requested = true;
		this.#wake?.();
	}

	/** Returns when the signals that node has been handed until now have been noticed. */
	async heard(): Promise<void> {
		// node looks for them once in each turn of its loop; the first may be past that by now.
		await nextLoop();
		await nextLoop();
	}

	/** Calls back with the first signal, be it still to come or here already. */
	onSignal(callback: (signal: NodeJS.Signals) => void): void {
		if (this.signal) callback(this.signal);
		else this.#callback = callback;
	}

	/**
	 * Runs what the user may not want to wait for: the next signal ends only that, if `action` heeds the AbortSignal,
	 * and the one after it leaves at once.
	 */
	async interruptible<T>(action: (signal: AbortSignal) => Promise<T>): Promise<T> {
		const controller = new AbortController();
		this.#interruptible = controller;
		try {
			return await action(controller.signal);
		} finally {
			this.#interruptible = undefined;
		}
	}

	/** Something that runs besides the run loop has failed: it ends with what there is; `check` throws its error. */
	fail(error: unknown): void {
		this.#failure ??= { error };
		this.request('failed');
	}

	/** The same action, for a timer or an event: where it fails, the run does. */
	guard(action: () => void | Promise<void>): () => Promise<void> {
		return async () => {
			try {
				await action();
			} catch (error) {
				this.fail(error);
			}
		};
	}

	/**
	 * Waits for a stop, or for the end of the next period. Periods follow each other without drift;
	 * one that is over already, because printing took so long, is left out.
	 */
	async wait(period_s: number | undefined): Promise<void> {
		const deadline_ms = this.#nextDeadline(period_s);
		while (!this.#requested) {
			const rest_ms = deadline_ms - performance.now();
			if (rest_ms <= 0) break;
			await this.#sleep(Math.min(Math.ceil(rest_ms), LONGEST_TIMEOUT_MS));
		}
	}

	/** Throws what `fail` got. */
	check(): void {
		if (this.#failure) throw this.#failure.error;
	}

	/** Leaves the signals to their defaults again, and ends whatever still waits. */
	close(): void {
		if (current === this) current = undefined;
		this.request();
		for (const signal of SIGNALS) process.off(signal, this.#onSignal);
	}

	#nextDeadline(period_s: number | undefined): number {
		if (period_s === undefined) return Number.POSITIVE_INFINITY;
		const now = performance.now();
		const next = (this.#deadline_ms ?? now) + period_s * 1000;
		this.#deadline_ms = next > now ? next : now + period_s * 1000;
		return this.#deadline_ms;
	}

	/** Until the time has passed, or a stop is requested. */
	async #sleep(time_ms: number): Promise<void> {
		let timer: NodeJS.Timeout | undefined;
		await new Promise<void>((resolve) => {
			this.#wake = resolve;
			timer = setTimeout(resolve, time_ms);
		});
		clearTimeout(timer);
		this.#wake = undefined;
	}
}

/** When to stop: a signal, the end of what is traced, or the last interval. */

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const EXIT_SECOND_SIGNAL = 130;
/** setTimeout counts in 32 bits: 25 days. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export class Stop {
	/** Whether the person at the terminal asked for it. */
	interrupted = false;
	#requested = false;
	#wake: (() => void) | undefined;
	#deadline_ms: number | undefined;
	readonly #onSignal = () => {
		// Exiting runs the handlers that release what the kernel holds for us.
		if (this.interrupted) process.exit(EXIT_SECOND_SIGNAL);
		this.interrupted = true;
		this.request();
	};

	/** From now on the first signal asks to stop, and the second leaves at once. */
	constructor() {
		for (const signal of SIGNALS) process.on(signal, this.#onSignal);
	}

	get requested(): boolean {
		return this.#requested;
	}

	request(): void {
		this.#requested = true;
		this.#wake?.();
	}

	/**
	 * Waits for a stop, or for the end of the next period. Periods follow each other without drift;
	 * one that is over already, because printing took so long, is left out.
	 */
	async wait(period_s: number | undefined): Promise<void> {
		const deadline_ms = this.#nextDeadline(period_s);
		while (!this.#requested) {
			const rest_ms = deadline_ms - performance.now();
			if (rest_ms <= 0) return;
			await this.#sleep(Math.min(Math.ceil(rest_ms), LONGEST_TIMEOUT_MS));
		}
	}

	/** Leaves the signals to their defaults again. */
	close(): void {
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

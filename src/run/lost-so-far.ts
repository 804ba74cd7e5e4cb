/** What is lost while rows are printed as they come: added up, said once a while and at the end. */
import type { Lost } from '../aggregate/report.js';
import { explainLost } from '../bpf/loss.js';

const PERIOD_MS = 60_000;
/** Runs that are shorter say it at their end only. */
const FIRST_MS = 15_000;

export class LostSoFar {
	readonly #all = new Map<string, number>();
	#unsaid = false;
	#next_ms: number;

	constructor(now_ms: number) {
		this.#next_ms = now_ms + FIRST_MS;
	}

	/** Adds what was lost since the last call, and returns the lines to print now. */
	add(lost: Lost, now_ms: number, end: boolean): string[] {
		for (const [cause, count] of Object.entries(lost)) {
			this.#all.set(cause, (this.#all.get(cause) ?? 0) + count);
			this.#unsaid = true;
		}
		if (end) return this.#lines('lost');
		if (!this.#unsaid || now_ms < this.#next_ms) return [];
		this.#unsaid = false;
		this.#next_ms = now_ms + PERIOD_MS;
		return this.#lines('lost so far');
	}

	#lines(what: string): string[] {
		return explainLost(Object.fromEntries(this.#all)).map((line) => `${what}: ${line}`);
	}
}

/** What is known of calls in optimised code: by which functions, inlined there, each is made. */
import type { FunctionWord } from '../runtimes/runtime.js';

/** Calls, and functions in all of them together. */
const MAX_CALLS = 300_000;
const MAX_FUNCTIONS = 300_000;
/** Code that is not optimised says nothing of its calls: after so many times that it was read, it has none. */
const MAX_ATTEMPTS = 8;

export class InlinedCalls {
	/** By process's life, function and call. */
	readonly #calls = new Map<string, readonly FunctionWord[]>();
	/** How often those were read that could not be. */
	readonly #attempts = new Map<string, number>();
	#functions = 0;

	get isFull(): boolean {
		return this.#calls.size + this.#attempts.size >= MAX_CALLS;
	}

	has(key: string): boolean {
		return this.#calls.has(key) || this.#attempts.has(key);
	}

	/** Innermost first; undefined: it was not read, or could not be. */
	get(key: string): readonly FunctionWord[] | undefined {
		return this.#calls.get(key);
	}

	/** A call that is to be read, if there is room. */
	expect(key: string): void {
		if (!this.isFull && !this.has(key)) this.#attempts.set(key, 0);
	}

	/** Keeps what was read, if there is room; undefined: it could not be. */
	keep(key: string, found: readonly FunctionWord[] | undefined): void {
		if (this.isFull && !this.has(key)) return;
		const attempts = (this.#attempts.get(key) ?? 0) + 1;
		const settled = found ?? (attempts >= MAX_ATTEMPTS ? [] : undefined);
		if (!settled) {
			this.#attempts.set(key, attempts);
			return;
		}
		if (this.#functions + settled.length > MAX_FUNCTIONS) return;
		this.#functions += settled.length;
		this.#attempts.delete(key);
		this.#calls.set(key, settled);
	}
}

/** What is known of calls in optimised code: by which functions, inlined there, each is made. */
import type { FunctionWord } from '../runtimes/runtime.js';

/** Calls, and functions in all of them together. */
const MAX_CALLS = 300_000;
const MAX_FUNCTIONS = 300_000;

export class InlinedCalls {
	/** By process's life, function and call. */
	readonly #calls = new Map<string, readonly FunctionWord[] | 'unread'>();
	#functions = 0;

	get isFull(): boolean {
		return this.#calls.size >= MAX_CALLS;
	}

	has(key: string): boolean {
		return this.#calls.has(key);
	}

	/** Innermost first; undefined: it was not read, or could not be. */
	get(key: string): readonly FunctionWord[] | undefined {
		const found = this.#calls.get(key);
		return found === 'unread' ? undefined : found;
	}

	/** Keeps what was read, if there is room; undefined: it could not be. */
	keep(key: string, found: readonly FunctionWord[] | undefined): void {
		if (this.isFull && !this.#calls.has(key)) return;
		if (found && this.#functions + found.length > MAX_FUNCTIONS) return;
		this.#functions += found?.length ?? 0;
		this.#calls.set(key, found ?? 'unread');
	}
}

/** COMMAND run several times: what is found each time becomes one result. */
import type { Moment } from './tracing.js';

export class Rounds<F> {
	readonly #joined: (all: readonly F[]) => F;
	readonly #found: F[] = [];
	#over = false;
	/** When the first one began. */
	#since: Moment | undefined;

	/** `joined` makes one result of those of all rounds; of one it is not asked. */
	constructor(
		readonly times: number,
		joined: (all: readonly F[]) => F,
	) {
		this.#joined = joined;
	}

	/** A round begins; returns when the first one did. */
	begin(now: Moment): Moment {
		this.#since ??= now;
		return this.#since;
	}

	/** Whether nothing has been found yet. */
	get isFirst(): boolean {
		return this.#found.length === 0;
	}

	/** Whether no further round is to come. */
	get isOver(): boolean {
		return this.#over;
	}

	/**
	 * Takes what a round has found; `cut`: it ended before COMMAND did. Returns the result of all rounds with the
	 * last one, and undefined before. A round that was cut is left out, except where there is no other.
	 */
	take(found: F, cut: boolean): F | undefined {
		if (!cut || this.isFirst) this.#found.push(found);
		this.#over = cut || this.#found.length >= this.times;
		if (!this.#over) return undefined;
		return this.#found.length === 1 ? this.#found[0] : this.#joined(this.#found);
	}
}

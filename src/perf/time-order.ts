/** Puts records of several rings in the order of their times. */

interface Timed {
	readonly time_ns: number;
}

export class TimeOrder<R extends Timed> {
	/** Newer than what another ring may still be about to bring. */
	#held: R[] = [];

	/**
	 * Takes what was read from all rings. Returns, oldest first, what is not newer than `until_ns`,
	 * of it and of what was kept back before; the rest is kept back. Each record comes once.
	 */
	take(read: readonly R[], until_ns: number): readonly R[] {
		const records = this.#held.concat(read).sort((a, b) => a.time_ns - b.time_ns);
		const late = records.findIndex(({ time_ns }) => time_ns > until_ns);
		this.#held = late < 0 ? [] : records.splice(late);
		return records;
	}
}

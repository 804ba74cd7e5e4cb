/** The time of day of moments that the kernel tells by CLOCK_MONOTONIC. */

/** A clock that differs by more was set meanwhile; Date.now() is whole milliseconds. */
const STEP_MS = 5;

/** As precise as the time has to be known, and how often that is tried. */
const MOST_DOUBT_MS = 0.05;
const MOST_TRIES = 10;

const monotonicMs = () => Number(process.hrtime.bigint()) / 1e6;

export class WallClock {
	/** Wall-clock time of CLOCK_MONOTONIC's zero, in ms. */
	#epoch_ms: number;

	constructor(
		private readonly now_ms: () => number = Date.now,
		private readonly monotonic_ms: () => number = monotonicMs,
	) {
		this.#epoch_ms = this.#measured();
	}

	/** As a millisecond begins, the time is known to some microseconds, unless this thread has to wait for a CPU then. */
	#measured(): number {
		let [best_ms, doubt_ms] = [0, Number.POSITIVE_INFINITY];
		for (let tries = 0; tries < MOST_TRIES && doubt_ms > MOST_DOUBT_MS; tries++) {
			let before_ms = this.monotonic_ms();
			const first = this.now_ms();
			let next = first;
			let after_ms = before_ms;
			while (next === first) {
				before_ms = after_ms;
				after_ms = this.monotonic_ms();
				next = this.now_ms();
			}
			const read_ms = this.monotonic_ms();
			if (read_ms - before_ms >= doubt_ms) continue;
			[best_ms, doubt_ms] = [next - read_ms, read_ms - before_ms];
		}
		return best_ms;
	}

	/**
	 * That of CLOCK_MONOTONIC's zero, in ms. It stays the same unless somebody sets the clock, so that lines are in
	 * order.
	 */
	epochMs(): number {
		const before_ms = this.monotonic_ms();
		const now_ms = this.now_ms();
		const after_ms = this.monotonic_ms();
		const step_ms = now_ms - after_ms - this.#epoch_ms;
		// Who had to wait for a CPU in between has not seen the clock being set.
		if (Math.abs(step_ms) > STEP_MS + (after_ms - before_ms)) this.#epoch_ms = this.#measured();
		return this.#epoch_ms;
	}

	/** The same in whole µs, by the clock on the wall: with the time zone. */
	localEpochUs(): number {
		const zone_ms = new Date().getTimezoneOffset() * 60_000;
		return Math.round((this.epochMs() - zone_ms) * 1000);
	}
}

/** The time of day of moments that the kernel tells by CLOCK_MONOTONIC. */

/** A clock that differs by more was set meanwhile; Date.now() is whole milliseconds. */
const STEP_MS = 5;

const monotonicMs = () => Number(process.hrtime.bigint()) / 1e6;

export class WallClock {
	/** Wall-clock time of CLOCK_MONOTONIC's zero, in ms. */
	#epoch_ms: number;

	constructor(
		private readonly now_ms: () => number = Date.now,
		private readonly monotonic_ms: () => number = monotonicMs,
	) {
		// As a millisecond begins, the time is known to some microseconds.
		const first = now_ms();
		let next = first;
		while (next === first) next = now_ms();
		this.#epoch_ms = next - monotonic_ms();
	}

	/**
	 * That of CLOCK_MONOTONIC's zero, in ms. It stays the same unless somebody sets the clock, so that lines are in
	 * order.
	 */
	epochMs(): number {
		const seen_ms = this.now_ms() - this.monotonic_ms();
		if (Math.abs(seen_ms - this.#epoch_ms) > STEP_MS) this.#epoch_ms = seen_ms;
		return this.#epoch_ms;
	}

	/** The same in whole µs, by the clock on the wall: with the time zone. */
	localEpochUs(): number {
		const zone_ms = new Date().getTimezoneOffset() * 60_000;
		return Math.round((this.epochMs() - zone_ms) * 1000);
	}
}

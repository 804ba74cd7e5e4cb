/** Waits that went the same way, added up. Pure values: no I/O, no kernel. */
import type { Did } from './stack.js';
import { scaledUncertainty, type Uncertain, uncertainty } from './variance.js';

/** Waits that went the same way. */
export interface Chain extends Uncertain {
	/** Of the wait, of its waker's, of the waker's waker's, …: each the key of a `BlockedWait`. */
	readonly keys: readonly number[];
	/** What the thread did that ended the last of these waits; undefined: it was none, or nobody can tell. */
	readonly did: Did | undefined;
	readonly value_ns: number;
	readonly count: number;
}

export interface ChainSum extends Pick<Chain, 'keys' | 'did'> {
	value_ns: number;
	count: number;
	/** Without what is in `against`. */
	variance: number;
	/** As in `Uncertain`; undefined: it errs against nothing, as most do. */
	against: Map<string, number> | undefined;
}

export class ChainSums {
	readonly #max: number;
	readonly #sums = new Map<string, ChainSum>();

	/** `max`: what has no room is told without its wakers. */
	constructor(max: number) {
		this.#max = max;
	}

	/** Where to add; undefined: there is no room. */
	sumOf(keys: readonly number[], did: Did | undefined): ChainSum | undefined {
		const name = `${keys.join()} ${did ?? ''}`;
		const known = this.#sums.get(name);
		if (known) return known;
		if (this.#sums.size >= this.#max && keys.length > 1) return undefined;
		const sum = { keys, did, value_ns: 0, count: 0, variance: 0, against: undefined };
		this.#sums.set(name, sum);
		return sum;
	}

	/**
	 * All so far. What was sampled of a waker's waits may come to more than the whole by chance, so that less than
	 * nothing is left for what it ran. Then its other parts are made smaller: those of a wait add up to it; and the error
	 * of that sum is overstated.
	 */
	chains(): Chain[] {
		const wholes = new Map<number, { whole_ns: number; parts_ns: number }>();
		for (const { keys, value_ns } of this.#sums.values()) {
			const [first] = keys as [number];
			const { whole_ns, parts_ns } = wholes.get(first) ?? { whole_ns: 0, parts_ns: 0 };
			wholes.set(first, {
				whole_ns: whole_ns + value_ns,
				parts_ns: parts_ns + Math.max(0, value_ns),
			});
		}
		const positive = [...this.#sums.values()].filter(({ value_ns }) => value_ns > 0);
		return positive.map(({ keys, did, value_ns, count, variance, against }) => {
			const whole = wholes.get(keys[0] as number);
			const scale = whole ? whole.whole_ns / whole.parts_ns : 1;
			const uncertain = scaledUncertainty(uncertainty(variance, against), scale);
			return { keys, did, value_ns: value_ns * scale, count: count * scale, ...uncertain };
		});
	}
}

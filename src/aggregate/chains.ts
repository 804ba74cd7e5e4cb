/**
 * What wakers did while others waited for them: waits as chains of waits. Pure values: no I/O, no kernel.
 *
 * While a thread was blocked, the one that woke it at last ran, waited for a CPU, or was blocked itself. In the last
 * case whoever ended that wait is looked at in the same way, within that wait; so the parts of a wait add up to it.
 * docs/chains.md has the algorithm, its limits, and others'.
 */
import { type Chain, type ChainSum, ChainSums } from './chain-sums.js';
import type { Did } from './stack.js';

/** A wait that is over. Times are CLOCK_MONOTONIC. */
interface EndedWait {
	/** The kernel's number of the thread. */
	readonly pid: number;
	readonly begin_ns: number;
	/** When the thread was woken, or got a CPU. */
	readonly end_ns: number;
	/** What it counts as, if waits are sampled. */
	readonly weighed_ns: number;
	/** Of `weighed_ns`: the square of its standard error; 0: it is exact. */
	readonly variance: number;
}

export interface BlockedWait extends EndedWait {
	/** Who waited where, and who ended that: a number that whoever calls gives it. */
	readonly key: number;
	/** The kernel's number of the thread that ended it; 0: it was no thread. */
	readonly wakerPid: number;
	/** When that thread began to be. */
	readonly wakerBorn_ns: number;
	/** Whether the user asked for it; else it only tells what a waker did. */
	readonly counts: boolean;
	readonly count: number;
}

/** `error`: its variance; signed, as in `Uncertain.against`, where others of `within` err against it. */
type Part = (
	keys: readonly number[],
	did: Did | undefined,
	value_ns: number,
	error?: { readonly signed: number; readonly within: string },
) => void;

/** A stretch of time, in which somebody waited. */
interface Stretch {
	readonly begin_ns: number;
	readonly end_ns: number;
	/** What a nanosecond of it counts as. */
	readonly weight: number;
}

/** Waits that are kept, to tell what a waker did: 8 MB. */
const KEPT_WAITS = 1 << 17;
/** Of one wait, so many others are looked at. */
const MOST_LOOKED_AT = 10_000;
/** Of all that are handed over together: half a second or so, in which nothing else is done. */
const MOST_LOOKED_AT_ONCE = 1_000_000;
const FOR_CPU = -1;
const NONE = -1;

export class Chains {
	readonly #followed: number;
	readonly #sums: ChainSums;
	/** The last wait of each thread: its number, of all waits. */
	readonly #last = new Map<number, number>();
	#waits = 0;
	/** Not all waits are kept that ended up to then. */
	#forgotten_ns = 0;
	readonly #pid = new Int32Array(KEPT_WAITS);
	readonly #begin_ns = new Float64Array(KEPT_WAITS);
	readonly #end_ns = new Float64Array(KEPT_WAITS);
	readonly #weighed_ns = new Float64Array(KEPT_WAITS);
	readonly #variance = new Float64Array(KEPT_WAITS);
	readonly #key = new Int32Array(KEPT_WAITS);
	readonly #wakerPid = new Int32Array(KEPT_WAITS);
	readonly #wakerBorn_ns = new Float64Array(KEPT_WAITS);
	/** The number of the same thread's wait before; NONE: there is none. */
	readonly #before = new Float64Array(KEPT_WAITS);
	/** At how many others may be looked for the wait that is told; for all that are handed over now. */
	#lookLeft = 0;
	#lookLeftNow = MOST_LOOKED_AT_ONCE;
	/** Whether the wait that is told has no room with all of its wakers. */
	#isCut = false;
	#cut = 0;

	/**
	 * `followed`: of how many wakers of a wait is told what they did. `maxChains`: what has no room is told without its
	 * wakers.
	 */
	constructor({ followed, maxChains }: { followed: number; maxChains: number }) {
		this.#followed = followed;
		this.#sums = new ChainSums(maxChains);
	}

	/** A thread has waited for a CPU. Waits come in the order in which their threads resumed. */
	waitedForCpu(wait: EndedWait): void {
		this.#keep(wait, FOR_CPU);
	}

	/** A thread was blocked. */
	wasBlocked(wait: BlockedWait): void {
		this.#keep(wait, wait.key, wait.wakerPid, wait.wakerBorn_ns);
		if (!wait.counts) return;
		const length_ns = wait.end_ns - wait.begin_ns;
		// What happened in a wait that stands for others is not what happened in those.
		if (wait.wakerPid === 0 || wait.variance > 0 || length_ns <= 0 || wait.weighed_ns <= 0) {
			const sum = this.#add([wait.key], undefined, wait.weighed_ns, wait);
			sum.variance += wait.variance;
			return;
		}
		const looks = Math.min(MOST_LOOKED_AT, this.#lookLeftNow);
		this.#lookLeft = looks;
		this.#isCut = false;
		const { begin_ns, end_ns } = wait;
		const stretch = { begin_ns, end_ns, weight: wait.weighed_ns / length_ns };
		const part: Part = (keys, did, value_ns, error) => {
			const sum = this.#add(keys, did, value_ns, wait);
			if (!error || error.signed === 0) return;
			sum.against ??= new Map();
			sum.against.set(error.within, (sum.against.get(error.within) ?? 0) + error.signed);
		};
		this.#account([wait.key], [wait.pid], [wait.wakerPid, wait.wakerBorn_ns], stretch, part);
		this.#lookLeftNow -= looks - this.#lookLeft;
		if (this.#isCut || this.#lookLeft === 0) this.#cut++;
	}

	/** All so far. */
	chains(): Chain[] {
		return this.#sums.chains();
	}

	/** More waits are about to be handed over. */
	begin(): void {
		this.#lookLeftNow = MOST_LOOKED_AT_ONCE;
	}

	/** Some waits that ended up to then are not known: of that time nobody can say who ran. */
	forget(until_ns: number): void {
		this.#forgotten_ns = Math.max(this.#forgotten_ns, until_ns);
	}

	/** How many waits are told without all of their wakers, since the last call. */
	takeCut(): number {
		const cut = this.#cut;
		this.#cut = 0;
		return cut;
	}

	/** Tells what a waker did in a stretch; `keys` and `pids` are of those that waited for it. */
	#account(
		keys: readonly number[],
		pids: readonly number[],
		[pid, born_ns]: readonly [pid: number, born_ns: number],
		{ begin_ns: wanted_ns, end_ns, weight }: Stretch,
		part: Part,
	): void {
		const begin_ns = Math.min(end_ns, Math.max(wanted_ns, born_ns));
		if (begin_ns > wanted_ns) part(keys, 'did not exist yet', (begin_ns - wanted_ns) * weight);
		let rest_ns = end_ns - begin_ns;
		let restVariance = 0;
		const isKnown = begin_ns >= this.#forgotten_ns;
		// As the rest is known or not, it is in one sum or another: in each, parts err against the rest there.
		const within = `${keys.join()} ${isKnown}`;
		for (const at of this.#within(pid, begin_ns, end_ns)) {
			const wait = this.#clipped(at, begin_ns, end_ns);
			const weighed_ns = (wait.end_ns - wait.begin_ns) * wait.weight;
			const key = this.#key[at] as number;
			const wakerPid = this.#wakerPid[at] as number;
			const variance =
				(this.#variance[at] as number) * (weighed_ns / (this.#weighed_ns[at] as number)) ** 2;
			rest_ns -= weighed_ns;
			restVariance += variance;
			const error = { signed: -variance * weight * weight, within };
			const value = [weighed_ns * weight, error] as const;
			if (key === FOR_CPU) {
				part(keys, 'waited for a CPU', ...value);
			} else if (
				wakerPid !== 0 &&
				variance === 0 &&
				keys.length < this.#followed &&
				!pids.includes(wakerPid)
			) {
				const inner = { ...wait, weight };
				const waker = [wakerPid, this.#wakerBorn_ns[at] as number] as const;
				this.#account([...keys, key], [...pids, pid], waker, inner, part);
			} else {
				part([...keys, key], undefined, ...value);
			}
		}
		const did = isKnown && this.#lookLeft > 0 ? 'ran' : undefined;
		const error = { signed: restVariance * weight * weight, within };
		if (rest_ns !== 0 || restVariance > 0) part(keys, did, rest_ns * weight, error);
	}

	/** Places of the thread's waits that overlap a stretch, the last one first. */
	*#within(pid: number, begin_ns: number, end_ns: number): Generator<number> {
		let number = this.#last.get(pid) ?? NONE;
		let missed = 0;
		while (number !== NONE && this.#lookLeft > 0) {
			this.#lookLeft--;
			if (number < this.#waits - KEPT_WAITS) return;
			const at = number % KEPT_WAITS;
			number = this.#before[at] as number;
			if ((this.#begin_ns[at] as number) >= end_ns) continue;
			if ((this.#end_ns[at] as number) > begin_ns) {
				missed = 0;
				yield at;
			} else if (++missed === 2) {
				// Of one wait, that for a CPU comes before what it was blocked.
				return;
			}
		}
	}

	/** The part of a wait that lies in a stretch, and what a nanosecond of it counts as. */
	#clipped(at: number, begin_ns: number, end_ns: number): Stretch {
		const [begin, end] = [this.#begin_ns[at] as number, this.#end_ns[at] as number];
		return {
			begin_ns: Math.max(begin, begin_ns),
			end_ns: Math.min(end, end_ns),
			weight: (this.#weighed_ns[at] as number) / (end - begin),
		};
	}

	#keep(wait: EndedWait, key: number, wakerPid = 0, wakerBorn_ns = 0): void {
		if (wait.end_ns <= wait.begin_ns) return;
		const number = this.#waits++;
		const at = number % KEPT_WAITS;
		const forgotten = this.#pid[at] as number;
		if (this.#last.get(forgotten) === number - KEPT_WAITS) this.#last.delete(forgotten);
		this.#forgotten_ns = Math.max(this.#forgotten_ns, this.#end_ns[at] as number);
		this.#pid[at] = wait.pid;
		this.#begin_ns[at] = wait.begin_ns;
		this.#end_ns[at] = wait.end_ns;
		this.#weighed_ns[at] = wait.weighed_ns;
		this.#variance[at] = wait.variance;
		this.#key[at] = key;
		this.#wakerPid[at] = wakerPid;
		this.#wakerBorn_ns[at] = wakerBorn_ns;
		this.#before[at] = this.#last.get(wait.pid) ?? NONE;
		this.#last.set(wait.pid, number);
	}

	/** A part of `whole` belongs to this chain. */
	#add(
		keys: readonly number[],
		did: Did | undefined,
		value_ns: number,
		whole: BlockedWait,
	): ChainSum {
		const sum = this.#sumOf(keys, did);
		sum.value_ns += value_ns;
		sum.count += whole.count * (whole.weighed_ns > 0 ? value_ns / whole.weighed_ns : 1);
		return sum;
	}

	#sumOf(keys: readonly number[], did: Did | undefined): ChainSum {
		const sum = this.#sums.sumOf(keys, did);
		if (sum) return sum;
		this.#isCut = true;
		return this.#sumOf(keys.slice(0, 1), undefined);
	}
}

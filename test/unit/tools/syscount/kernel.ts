/** The kernel's side of syscount's maps, as programs fill them. */
import { bucketOf } from '../../../../src/aggregate/buckets.js';
import { CALL_NUMBERS } from '../../../../src/bpf/calls/calls.js';
import { call_numbering } from '../../../../src/generated/common.js';
import { syscount as layout } from '../../../../src/generated/syscount.js';
import { possibleCpus } from '../../../../src/loader/map.js';
import { type Fields, structs, write } from '../structs.js';

const { tally, hist, group_key, group_bucket, failure_key, failure_count, open_call, call_slots } =
	layout.structs;
const SLOTS = 4;

/** As programs tell calls and errors apart. */
export function kindOf(nr: number, errno = 0, abi = 0): number {
	const { CALL_NR_BITS, CALL_ABI_BITS } = call_numbering;
	return nr + abi * 2 ** CALL_NR_BITS + errno * 2 ** (CALL_NR_BITS + CALL_ABI_BITS);
}

/** Of one call on one CPU. `abi`: 1 is 32-bit. */
interface Counted {
	readonly nr: number;
	readonly abi?: number;
	readonly calls: number;
	readonly errors: number;
}

/** Durations of one call. */
interface Timed {
	readonly nr: number;
	readonly usec: readonly number[];
}

type Element<Key, Value> = readonly [key: Key, value: Value];

/** What programs count now; each interval has what was put here since the one before. */
export class Kernel {
	counted: readonly Counted[] = [];
	timed: readonly Timed[] = [];
	groups: readonly Element<Fields<typeof group_key>, Fields<typeof group_bucket>>[] = [];
	failures: readonly Element<Fields<typeof failure_key>, Fields<typeof failure_count>>[] = [];
	open: readonly Fields<typeof open_call>[] = [];
	#window = 0;

	get object() {
		return {
			layout,
			setVariable: (_name: string, value: number) => {
				this.#window = value;
			},
			waitForPrograms: () => undefined,
			variableBytes: () => this.#slots(),
			runIterator: () => structs(open_call, this.open),
			map: (name: string) => this.#map(name),
		} as never;
	}

	/** What a program that went on with the other window would read is not there. */
	#map(name: string) {
		const done = 1 - this.#window;
		if (name === 'tallies')
			return {
				perCpuStride: 2 * CALL_NUMBERS * tally.size,
				lookupPerCpu: (key: Uint8Array) => (key[0] === done ? this.#tallies() : undefined),
				clearPerCpu: (key: Uint8Array) => {
					if (key[0] === done) this.counted = [];
				},
			};
		if (name === 'hists')
			return {
				maxEntries: 2 * SLOTS,
				perCpuStride: hist.size,
				lookupPerCpu: (key: Uint8Array) => this.#hist((key[0] ?? 0) - done * SLOTS),
				clearPerCpu: () => undefined,
			};
		return {
			drain: (each: (keys: DataView, values: DataView, count: number) => void) => {
				if (name === `groups_${done}`) {
					each(
						structs(
							group_key,
							this.groups.map(([key]) => key),
						),
						structs(
							group_bucket,
							this.groups.map(([, value]) => value),
						),
						this.groups.length,
					);
					this.groups = [];
				}
				if (name === `failures_${done}`) {
					each(
						structs(
							failure_key,
							this.failures.map(([key]) => key),
						),
						structs(
							failure_count,
							this.failures.map(([, value]) => value),
						),
						this.failures.length,
					);
					this.failures = [];
				}
			},
		};
	}

	/** Half of each on the first CPU, the rest on the last one. */
	#tallies(): DataView {
		const stride = 2 * CALL_NUMBERS * tally.size;
		const view = new DataView(new ArrayBuffer(stride * possibleCpus()));
		for (const { nr, abi = 0, calls, errors } of this.counted) {
			const at = (abi * CALL_NUMBERS + nr) * tally.size;
			const [some, others] = [Math.floor(calls / 2), Math.floor(errors / 2)];
			const last = (possibleCpus() - 1) * stride + at;
			if (last === at) write(tally, view, at, { calls, errors });
			else {
				write(tally, view, at, { calls: some, errors: others });
				write(tally, view, last, { calls: calls - some, errors: errors - others });
			}
		}
		return view;
	}

	#slots(): DataView {
		const view = new DataView(new ArrayBuffer(call_slots.size));
		write(call_slots, view, 0, { used: this.timed.length });
		for (const [slot, { nr }] of this.timed.entries())
			view.setUint32(call_slots.fields.call.offset + 4 * slot, nr, true);
		return view;
	}

	/** Undefined: it is none of the window that is over. */
	#hist(slot: number): DataView | undefined {
		const usec = this.timed[slot]?.usec;
		if (!usec) return undefined;
		const view = new DataView(new ArrayBuffer(hist.size * possibleCpus()));
		const [shortest, longest] = [Math.min(...usec) * 1000, Math.max(...usec) * 1000];
		write(hist, view, 0, {
			sum: 1000 * usec.reduce((sum, each) => sum + each, 0),
			min_complement: 2n ** 64n - 1n - BigInt(shortest),
			max: longest,
		});
		for (const each of usec) {
			const at = hist.fields.buckets.offset + 8 * bucketOf(1000 * each);
			view.setBigUint64(at, view.getBigUint64(at, true) + 1n, true);
		}
		return view;
	}
}

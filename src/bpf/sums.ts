/** Sums by stack out of the kernel: user space's side of bpf/lib/sums.h. */
import { profile } from '../generated/profile.js';
import { readU64 } from '../loader/layout.js';
import type { BpfMap } from '../loader/map.js';
import type { BpfObject } from '../loader/object.js';
import type { Fields, OwnedStack, StackedLayout, StackSettings, StackSnapshot } from './stacks.js';

const { STACK_PARTS, COUNT_ONE } = profile.enums.stack_constant;

/** The layout of an object that includes lib/sums.h. */
export interface SummedLayout extends StackedLayout {
	readonly structs: StackedLayout['structs'] & {
		readonly stack_sum: Fields<'first_ns' | 'count' | 'doubt' | 'parts'>;
	};
}

/** A sum as the kernel has it. */
export interface RawSum extends OwnedStack {
	/** CLOCK_MONOTONIC */
	readonly first_ns: number;
	readonly parts: readonly number[];
	/** Fractions when sampled: see bpf/lib/sampling.h. */
	readonly count: number;
	readonly doubt: number;
}

/** The sums of one object. */
export class SumTable {
	readonly #object: BpfObject<SummedLayout>;

	constructor(object: BpfObject<SummedLayout>) {
		this.#object = object;
	}

	/** Before loading. */
	configure({ maxStacks }: StackSettings): void {
		this.#map.setMaxEntries(maxStacks + 1);
	}

	/** After loading, before attaching. */
	open(): void {
		const { stack_key, stack_sum } = this.#object.layout.structs;
		this.#map.update(new Uint8Array(stack_key.size), new Uint8Array(stack_sum.size));
	}

	/** Takes all out; programs are detached by now. */
	take(snapshot: StackSnapshot): RawSum[] {
		const { stack_key, stack_sum } = this.#object.layout.structs;
		const { first_ns, count: countField, doubt, parts } = stack_sum.fields;
		const sums: RawSum[] = [];
		this.#map.drain((keys, values, count) => {
			for (let i = 0; i < count; i++) {
				const at = i * stack_sum.size;
				const sum: RawSum = {
					...snapshot.owned(keys, i * stack_key.size),
					first_ns: readU64(values, at + first_ns.offset),
					parts: Array.from({ length: STACK_PARTS }, (_, part) =>
						readU64(values, at + parts.offset + part * 8),
					),
					count: readU64(values, at + countField.offset) / COUNT_ONE,
					doubt: readU64(values, at + doubt.offset) / COUNT_ONE,
				};
				// The sum of all others is there from the start.
				if (sum.count > 0) sums.push(sum);
			}
		});
		return sums;
	}

	get #map(): BpfMap {
		return this.#object.map('sums');
	}
}

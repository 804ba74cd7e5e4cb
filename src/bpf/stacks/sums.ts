/** Sums by stack out of the kernel: user space's side of bpf/lib/stacks/sums.h. */

import type { CapturedStack } from '../../aggregate/stack.js';
import { stack_constant } from '../../generated/common.js';
import { readU64, type StructWith } from '../../loader/layout.js';
import type { BpfMap } from '../../loader/map.js';
import type { BpfObject } from '../../loader/object.js';
import {
	type StackedLayout,
	type StackSettings,
	type StackSnapshot,
	StackTables,
} from './stacks.js';

const { COUNT_ONE } = stack_constant;

/** The layout of an object that includes lib/stacks/sums.h. */
export interface SummedLayout extends StackedLayout {
	readonly structs: StackedLayout['structs'] & {
		readonly stack_sum: StructWith<'first_ns' | 'count' | 'doubt' | 'parts'>;
	};
}

/** What sums are of. */
interface SumOptions {
	/** How many of a sum's parts are in use. */
	readonly parts: number;
	/** By which events were sampled: see bpf/lib/sampling.h. 0: all were counted. */
	readonly period_ns: number;
}

/** The stack maps of one object, and a map of sums that refer to its stacks. */
export class SumTables extends StackTables {
	protected readonly sums: BpfMap;

	constructor(object: BpfObject<StackedLayout>, map: 'sums' | 'sites') {
		super(object);
		this.sums = object.map(map);
	}

	/** `most`: of sums, beside that of all others. */
	override configure(settings: StackSettings, most = settings.maxStacks): void {
		super.configure(settings);
		this.sums.setMaxEntries(most + 1);
	}

	override open(): void {
		super.open();
		// The sum of all others.
		this.sums.update(new Uint8Array(this.sums.keySize), new Uint8Array(this.sums.valueSize));
	}
}

/** Sums by stack. */
export class StackSums extends SumTables {
	readonly #layout: SummedLayout;

	constructor(object: BpfObject<SummedLayout>) {
		super(object, 'sums');
		this.#layout = object.layout;
	}

	/** Takes all sums out; programs are detached by now. */
	take(snapshot: StackSnapshot, { parts: used, period_ns }: SumOptions): CapturedStack[] {
		const { stack_key, stack_sum } = this.#layout.structs;
		const { first_ns, count: countField, doubt, parts } = stack_sum.fields;
		const stacks: CapturedStack[] = [];
		this.sums.drain((keys, values, count) => {
			for (let i = 0; i < count; i++) {
				const at = i * stack_sum.size;
				const amounts: number[] = [];
				for (let part = 0; part < used; part++)
					amounts.push(readU64(values, at + parts.offset + part * 8));
				const stack = snapshot.captured(keys, i * stack_key.size, {
					at_ns: readU64(values, at + first_ns.offset),
					parts: amounts,
					count: readU64(values, at + countField.offset) / COUNT_ONE,
					variance: (readU64(values, at + doubt.offset) / COUNT_ONE) * period_ns * period_ns,
				});
				// The sum of all others is there from the start.
				if (stack.count > 0) stacks.push(stack);
			}
		});
		return stacks;
	}
}

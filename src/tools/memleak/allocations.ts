/** What is outstanding, out of the kernel: user space's side of bpf/lib/memleak/allocations.h. */

import type { CapturedStack } from '../../aggregate/stack.js';
import { SumTables } from '../../bpf/stacks/sums.js';
import { memleak as layout } from '../../generated/memleak.js';
import { readU64 } from '../../loader/layout.js';
import type { BpfObject } from '../../loader/object.js';

type Layout = typeof layout;

const { allocation, allocation_key, site } = layout.structs;
const { COUNT_ONE } = layout.enums.stack_constant;

const KINDS = layout.enums.allocation_kind;
export type AllocationKind = keyof typeof KINDS;
const KIND_NAMES = new Map(Object.entries(KINDS).map(([name, value]) => [value as number, name]));

/** A place in the code of a process that allocates. */
export interface Site {
	readonly id: bigint;
	/** ALLOCATION_…, GROWTH_… */
	readonly kind: AllocationKind;
	/** With the bytes that it has allocated since tracing began. */
	readonly allocated: CapturedStack;
	readonly freed_bytes: number;
	readonly freed_count: number;
}

/** One allocation that was not freed. */
export interface Allocation {
	readonly address: bigint;
	readonly kind: AllocationKind;
	readonly site: bigint;
	/** As it was asked for. */
	readonly size_bytes: number;
	/** As it counts: more than that where allocations are sampled. */
	readonly weight_bytes: number;
	readonly weight_count: number;
	/** CLOCK_MONOTONIC */
	readonly born_ns: number;
	readonly tid: number;
}

/** The stack maps of the object, and its sums by site. */
export class SiteTable extends SumTables {
	constructor(object: BpfObject<Layout>) {
		super(object, 'sites');
	}

	/** All sites there are; programs may go on meanwhile. */
	sites(): Site[] {
		const snapshot = this.read();
		const sites: Site[] = [];
		const { fields } = site;
		this.sums.readAll((keys, values, entries) => {
			for (let i = 0; i < entries; i++) {
				const at = i * site.size;
				const number = (field: keyof typeof fields) => readU64(values, at + fields[field].offset);
				const count = number('allocated_count') / COUNT_ONE;
				if (count === 0) continue;
				sites.push({
					id: keys.getBigUint64(i * 8, true),
					kind: KIND_NAMES.get(values.getUint32(at + fields.kind.offset, true)) as AllocationKind,
					allocated: snapshot.captured(values, at + fields.owner.offset, {
						at_ns: number('first_ns'),
						parts: [number('allocated_bytes')],
						count,
						variance: 0,
					}),
					freed_bytes: number('freed_bytes'),
					freed_count: number('freed_count') / COUNT_ONE,
				});
			}
		});
		return sites;
	}
}

/** All that is outstanding, one by one; an object each would take a gigabyte for some. */
export function eachAllocation(
	object: BpfObject<Layout>,
	see: (allocation: Allocation) => void,
): void {
	const { size, weight, site: siteField, born_ns, tid } = allocation.fields;
	const { kind } = allocation_key.fields;
	object.map('allocations').readAll((keys, values, count) => {
		for (let i = 0; i < count; i++) {
			const at = i * allocation.size;
			const key = i * allocation_key.size;
			see({
				address: keys.getBigUint64(key, true),
				kind: KIND_NAMES.get(keys.getUint32(key + kind.offset, true)) as AllocationKind,
				site: values.getBigUint64(at + siteField.offset, true),
				size_bytes: readU64(values, at + size.offset),
				weight_bytes: readU64(values, at + weight.offset),
				weight_count: readU64(values, at + weight.offset + 8) / COUNT_ONE,
				born_ns: readU64(values, at + born_ns.offset),
				tid: values.getUint32(at + tid.offset, true),
			});
		}
	});
}

/** Histograms by group out of the kernel: user space's side of bpf/lib/groups.h. */
import { Histogram } from '../aggregate/histogram.js';
import type { Lost } from '../aggregate/report.js';
import { readU64, type StructWith } from '../loader/layout.js';
import type { BpfMap } from '../loader/map.js';
import { readComm } from './comm.js';

/** What identifies a group in the kernel, and the name it had. */
export interface KernelGroup {
	readonly kind: number;
	readonly tgid: number;
	readonly tid: number;
	/**
	 * What was grouped by, when it is a number: a PID namespace, a cgroup, a CPU. Of threads and processes that have no
	 * number in our PID namespace, what tells them apart; of others 0.
	 */
	readonly id: number;
	/** What was grouped by, when it is a name, else the last name the thread had. */
	comm: string;
	named_jiffies: number;
	readonly histogram: Histogram;
}

type GroupField = 'bucket' | 'kind' | 'tgid' | 'tid' | 'id' | 'comm';
type BucketField = 'count' | 'sum' | 'min' | 'max' | 'named_jiffies' | 'comm';

/** What bpf/lib/groups.h keeps. */
export interface GroupLayouts {
	readonly group_key: StructWith<GroupField>;
	readonly group_bucket: StructWith<BucketField>;
}

/** The most groups kept in user space, at about 1 kB each; the rest is put together. */
const MAX_GROUPS = 100_000;
const OTHERS = '(others)';

/** Groups gathered in user space, between two reports. */
export class Groups {
	#groups = new Map<string, KernelGroup>();
	#merged = 0;

	constructor(private readonly layouts: GroupLayouts) {}

	/** Moves all elements of a half that no program writes to. */
	drain(map: BpfMap): void {
		const { group_key, group_bucket } = this.layouts;
		map.drain((keys, values, count) => {
			for (let i = 0; i < count; i++) {
				const keyAt = i * group_key.size;
				const valueAt = i * group_bucket.size;
				this.#add(keys, keyAt, values, valueAt);
			}
		});
	}

	/** All groups, and begins anew. */
	take(): KernelGroup[] {
		const groups = [...this.#groups.values()];
		this.#groups = new Map();
		return groups;
	}

	/** How much was counted in the group of all others since the last call, if anything was. */
	takeLost(): Lost {
		const merged = this.#merged;
		this.#merged = 0;
		return merged > 0 ? { groups_merged: merged } : {};
	}

	#add(keys: DataView, keyAt: number, values: DataView, valueAt: number): void {
		const key = this.layouts.group_key.fields;
		const value = this.layouts.group_bucket.fields;
		const name = readComm(keys, keyAt + key.comm.offset);
		const count = readU64(values, valueAt + value.count.offset);
		let group = this.#group({
			kind: keys.getUint32(keyAt + key.kind.offset, true),
			tgid: keys.getUint32(keyAt + key.tgid.offset, true),
			tid: keys.getUint32(keyAt + key.tid.offset, true),
			id: readU64(keys, keyAt + key.id.offset),
			comm: name,
		});
		if (!group) {
			this.#merged += count;
			group = this.#group({ kind: 0, tgid: 0, tid: 0, id: 0, comm: OTHERS }) as KernelGroup;
		}
		const named = readU64(values, valueAt + value.named_jiffies.offset);
		if (named > group.named_jiffies) {
			group.named_jiffies = named;
			group.comm = readComm(values, valueAt + value.comm.offset);
		}
		group.histogram.addBucket(keys.getUint32(keyAt + key.bucket.offset, true), count);
		group.histogram.addTotals({
			sum_ns: readU64(values, valueAt + value.sum.offset),
			min_ns: readU64(values, valueAt + value.min.offset),
			max_ns: readU64(values, valueAt + value.max.offset),
		});
	}

	/** The group with this identity, a new one if need be; undefined when there is no room. */
	#group(identity: Omit<KernelGroup, 'named_jiffies' | 'histogram'>): KernelGroup | undefined {
		const key = `${identity.kind} ${identity.tgid} ${identity.tid} ${identity.id} ${identity.comm}`;
		let group = this.#groups.get(key);
		if (!group && (this.#groups.size < MAX_GROUPS || identity.comm === OTHERS)) {
			group = { ...identity, named_jiffies: 0, histogram: new Histogram() };
			this.#groups.set(key, group);
		}
		return group;
	}
}

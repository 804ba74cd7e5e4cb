/** Latency histograms out of the kernel: user space's side of bpf/lib/histogram.h and groups.h. */
import { BUCKETS } from '../aggregate/buckets.js';
import { Histogram } from '../aggregate/histogram.js';
import { type FieldLayout, readU64, type StructLayout } from '../loader/layout.js';
import { type BpfMap, possibleCpus, u32Key } from '../loader/map.js';

interface HistLayout extends StructLayout {
	readonly fields: Readonly<Record<'sum' | 'min_complement' | 'max' | 'buckets', FieldLayout>>;
}

/** Largest u64, to undo the complement that minima are kept as. */
const U64_MAX = 2n ** 64n - 1n;

/** The per-CPU `struct hist` at an index of an array, put together; then zeroes it. */
export function takeHistogram(map: BpfMap, index: number, layout: HistLayout): Histogram {
	const histogram = new Histogram();
	const values = map.lookupPerCpu(u32Key(index));
	if (!values) return histogram;
	const { sum, min_complement, max, buckets } = layout.fields;
	for (let cpu = 0; cpu < possibleCpus(); cpu++) {
		const at = cpu * map.perCpuStride;
		const complement = values.getBigUint64(at + min_complement.offset, true);
		if (complement === 0n) continue; // nothing was counted on this CPU
		histogram.addTotals({
			sum_ns: readU64(values, at + sum.offset),
			min_ns: Number(U64_MAX - complement),
			max_ns: readU64(values, at + max.offset),
		});
		for (let bucket = 0; bucket < BUCKETS; bucket++) {
			const count = readU64(values, at + buckets.offset + bucket * 8);
			if (count > 0) histogram.addBucket(bucket, count);
		}
	}
	if (histogram.count > 0) map.clearPerCpu(u32Key(index));
	return histogram;
}

/** What identifies a group in the kernel, and the name it had. */
export interface KernelGroup {
	readonly kind: number;
	readonly tgid: number;
	readonly tid: number;
	/** What was grouped by, when it is a number: a PID namespace, a cgroup, a CPU. */
	readonly id: number;
	/** Of the group when it is grouped by name, else of its first task. */
	readonly comm: string;
	readonly histogram: Histogram;
}

type GroupField = 'bucket' | 'kind' | 'tgid' | 'tid' | 'id' | 'comm';
type BucketField = 'count' | 'sum' | 'min' | 'max' | 'comm';

interface GroupLayouts {
	readonly group_key: StructLayout & { fields: Readonly<Record<GroupField, FieldLayout>> };
	readonly group_bucket: StructLayout & { fields: Readonly<Record<BucketField, FieldLayout>> };
}

/** Groups gathered in user space, between two reports. */
export class Groups {
	#groups = new Map<string, KernelGroup>();

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

	#add(keys: DataView, keyAt: number, values: DataView, valueAt: number): void {
		const key = this.layouts.group_key.fields;
		const value = this.layouts.group_bucket.fields;
		const kind = keys.getUint32(keyAt + key.kind.offset, true);
		const tgid = keys.getUint32(keyAt + key.tgid.offset, true);
		const tid = keys.getUint32(keyAt + key.tid.offset, true);
		const id = readU64(keys, keyAt + key.id.offset);
		const name = readComm(keys, keyAt + key.comm.offset);
		const identity = `${kind} ${tgid} ${tid} ${id} ${name}`;
		let group = this.#groups.get(identity);
		if (!group) {
			const comm = name || readComm(values, valueAt + value.comm.offset);
			group = { kind, tgid, tid, id, comm, histogram: new Histogram() };
			this.#groups.set(identity, group);
		}
		const count = readU64(values, valueAt + value.count.offset);
		group.histogram.addBucket(keys.getUint32(keyAt + key.bucket.offset, true), count);
		group.histogram.addTotals({
			sum_ns: readU64(values, valueAt + value.sum.offset),
			min_ns: readU64(values, valueAt + value.min.offset),
			max_ns: readU64(values, valueAt + value.max.offset),
		});
	}
}

/** A thread's name out of a structure: at most 16 bytes, ending at the first zero. */
export function readComm(view: DataView, offset: number): string {
	const bytes = Buffer.from(view.buffer, view.byteOffset + offset, 16);
	const end = bytes.indexOf(0);
	return bytes.toString('utf8', 0, end < 0 ? 16 : end);
}

/** Reads threads' run queue latencies from the kernel: user space's side of bpf/lib/schedlat/latencies.h. */

import { readU64, type StructWith } from '../../loader/layout.js';
import type { BpfMap } from '../../loader/map.js';
import { PROT, SharedMapping } from '../../loader/memory.js';
import { Latencies, type LatencyTotals } from './latencies.js';

interface LatenciesObject {
	readonly layout: {
		readonly structs: {
			readonly thread_key: StructWith<'start_ns' | 'pid' | 'bucket'>;
			readonly latencies: StructWith<
				'count' | 'wakeups' | 'sum' | 'throttled_ns' | 'min_complement' | 'max' | 'max_ns'
			>;
			readonly latency_place: StructWith<'start_ns' | 'pid' | 'all' | 'at_hand'>;
		};
	};
	map(name: 'latencies_0' | 'latencies_1' | 'latency_places'): BpfMap;
}

/** As in bpf/lib/schedlat/latencies.h: a bucket's number and its count in a word. */
const AT_HAND_BITS = 20;
const U64_MAX = 2n ** 64n - 1n;

/** The thread of this number that began then. */
export function threadId(pid: number, start_ns: number): string {
	return `${pid} ${start_ns}`;
}

/** Gathers latencies by thread, between two reports. */
export class LatencyReader {
	readonly #object: LatenciesObject;
	readonly #places: SharedMapping;
	#latencies = new Map<string, Latencies>();

	/** The object is loaded. */
	constructor(object: LatenciesObject) {
		this.#object = object;
		const map = object.map('latency_places');
		this.#places = new SharedMapping(
			map.fd,
			map.maxEntries * map.valueSize,
			PROT.read | PROT.write,
			0,
		);
	}

	close(): void {
		this.#places.unmap();
	}

	/** Moves what is in a half that no program writes to. */
	drain(half: 0 | 1): void {
		this.#drainPlaces(half);
		this.#drainHash(half);
	}

	/** Latencies by `threadId`, and begins anew. */
	take(): Map<string, Latencies> {
		const latencies = this.#latencies;
		this.#latencies = new Map();
		return latencies;
	}

	#drainPlaces(half: 0 | 1): void {
		const { size, fields } = this.#object.layout.structs.latency_place;
		const bytes = this.#places.buffer.byteLength / 2;
		const view = new DataView(this.#places.buffer, half * bytes, bytes);
		for (let at = 0; at < bytes; at += size) {
			const pid = view.getUint32(at + fields.pid.offset, true);
			if (pid === 0) continue;
			const latencies = this.#of(pid, readU64(view, at + fields.start_ns.offset));
			latencies.addTotals(this.#totals(view, at + fields.all.offset));
			const end = at + fields.at_hand.offset + fields.at_hand.size;
			for (let word = at + fields.at_hand.offset; word < end; word += 4) {
				const held = view.getUint32(word, true);
				if (held !== 0)
					latencies.addBucket(held >>> AT_HAND_BITS, held & ((1 << AT_HAND_BITS) - 1));
			}
			new Uint8Array(this.#places.buffer, half * bytes + at, size).fill(0);
		}
	}

	#drainHash(half: 0 | 1): void {
		const { thread_key, latencies: value } = this.#object.layout.structs;
		const { start_ns, pid, bucket } = thread_key.fields;
		this.#object.map(half === 0 ? 'latencies_0' : 'latencies_1').drain((keys, values, count) => {
			for (let i = 0; i < count; i++) {
				const key = i * thread_key.size;
				const at = i * value.size;
				const latencies = this.#of(
					keys.getUint32(key + pid.offset, true),
					readU64(keys, key + start_ns.offset),
				);
				latencies.addTotals(this.#totals(values, at));
				latencies.addBucket(
					keys.getUint32(key + bucket.offset, true),
					values.getUint32(at + value.fields.count.offset, true),
				);
			}
		});
	}

	/** A `struct latencies`; of counts that only were moved to the hash there are no totals. */
	#totals(view: DataView, at: number): LatencyTotals {
		const f = this.#object.layout.structs.latencies.fields;
		const complement = view.getBigUint64(at + f.min_complement.offset, true);
		return {
			wakeups: view.getUint32(at + f.wakeups.offset, true),
			sum_ns: readU64(view, at + f.sum.offset),
			throttled_ns: readU64(view, at + f.throttled_ns.offset),
			min_ns: complement === 0n ? Number.POSITIVE_INFINITY : Number(U64_MAX - complement),
			max_ns: readU64(view, at + f.max.offset),
			end_ns: readU64(view, at + f.max_ns.offset),
		};
	}

	#of(pid: number, start_ns: number): Latencies {
		const id = threadId(pid, start_ns);
		let latencies = this.#latencies.get(id);
		if (!latencies) {
			latencies = new Latencies();
			this.#latencies.set(id, latencies);
		}
		return latencies;
	}
}

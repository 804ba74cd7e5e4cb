/** Each thread is sampled once, though two events may have come to sample it. */
import type { SampleRecord, SidebandRecord } from './records.js';

/**
 * A thread that is created while events are being opened may have inherited one, or not: nothing
 * tells. So it is given one of its own, and where samples of two events come, one of them goes.
 * What such a thread creates inherits both, so it is all threads from then on.
 */
export class OneEventEach {
	/** By CPU and thread: which event counts. */
	#eventIds: Map<number, Map<number, number>> | undefined;

	/** From now on it can happen. */
	begin(): void {
		this.#eventIds ??= new Map();
	}

	/** Whether the sample is from the event that counts for its thread. */
	accepts({ cpu, tid, id }: SampleRecord): boolean {
		if (!this.#eventIds) return true;
		const ids = this.#eventIds.get(cpu) ?? new Map<number, number>();
		this.#eventIds.set(cpu, ids);
		const counts = ids.get(tid) ?? id;
		ids.set(tid, counts);
		return counts === id;
	}

	/** Thread numbers are used again. */
	follow(record: SidebandRecord): void {
		if (record.type !== 'exit' || !this.#eventIds) return;
		for (const ids of this.#eventIds.values()) ids.delete(record.tid);
	}

	/** Ends of threads may have been missed. */
	forget(): void {
		this.#eventIds?.clear();
	}
}

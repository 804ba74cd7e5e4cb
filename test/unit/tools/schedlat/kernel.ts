/** The kernel's side of schedlat's maps, as programs fill them. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { bucketOf } from '../../../../src/aggregate/buckets.js';
import { schedlat as layout } from '../../../../src/generated/schedlat.js';
import type { BpfObject } from '../../../../src/loader/object.js';
import { temporaryFolder } from '../../symbolize/support.js';
import { structs, write } from '../structs.js';

const { thread_key, thread_totals, latencies, latency_place } = layout.structs;
const U64_MAX = 2n ** 64n - 1n;

/** As the kernel has it; times in ns. */
export interface Thread {
	readonly pid: number;
	readonly comm: string;
	readonly traced: boolean;
	readonly run: number;
	readonly switches: number;
	readonly preempted: number;
	readonly migrations: number;
	readonly waiting: number;
	/** Of it, what the kernel has counted; else all. */
	readonly counted?: number;
	readonly tgid?: number;
	readonly process?: string;
	readonly throttled?: boolean;
	/** When it began; else before tracing did. */
	readonly start?: number;
}

/** Of a thread, by its number: latencies of one length that ended. */
export interface Latency {
	readonly pid: number;
	readonly count: number;
	readonly each_ns: number;
	readonly wakeups?: number;
	readonly throttled_ns?: number;
	/** When the longest ended. */
	readonly end_ns?: number;
}

const START = 900;
/** In the caller's PID namespace numbers are others. */
export const seen = (pid: number) => pid - 1000;

function threadsIn(threads: readonly Thread[]): DataView {
	const { size, fields: f } = thread_totals;
	const view = new DataView(new ArrayBuffer(size * threads.length));
	for (const [i, { pid, comm, traced, start, ...thread }] of threads.entries()) {
		const u64 = ({ offset }: { offset: number }, value: number) =>
			view.setBigUint64(i * size + offset, BigInt(value), true);
		const u32 = ({ offset }: { offset: number }, value: number) =>
			view.setUint32(i * size + offset, value, true);
		const text = ({ offset }: { offset: number }, value: string) =>
			Buffer.from(value).copy(new Uint8Array(view.buffer), i * size + offset);
		u64(f.start_ns, start ?? START);
		u64(f.run_ns, thread.run);
		u64(f.counted_ns, thread.counted ?? thread.run);
		u64(f.switches, thread.switches);
		u64(f.preempted, thread.preempted);
		u64(f.migrations, thread.migrations);
		u64(f.waiting_ns, thread.waiting);
		u32(f.pid, pid);
		u32(f.tgid, thread.tgid ?? 1);
		u32(f.tid, seen(pid));
		view.setUint16(i * size + f.traced.offset, traced ? 1 : 0, true);
		text(f.comm, comm);
		text(f.process, thread.process ?? 'process');
		view.setUint16(i * size + f.throttled.offset, thread.throttled ? 1 : 0, true);
	}
	return view;
}

/** Sums of the totals that belong to a latency, as `struct latencies` has them. */
function totalsOf({ count, each_ns, wakeups = 0, throttled_ns = 0, end_ns = 0 }: Latency) {
	return {
		...{ wakeups, throttled_ns, sum: count * each_ns, max: each_ns, max_ns: end_ns },
		min_complement: U64_MAX - BigInt(each_ns),
	};
}

function latenciesIn(all: readonly Latency[]): readonly [keys: DataView, values: DataView] {
	const keys = all.map(({ pid, each_ns }) => {
		return { start_ns: START, pid, bucket: bucketOf(each_ns) };
	});
	const values = all.map((each) => ({ ...totalsOf(each), count: each.count }));
	return [structs(thread_key, keys), structs(latencies, values)];
}

/** What the kernel has now; a test changes it as time goes on. */
export class Kernel {
	threads: readonly Thread[] = [];
	/** Since they were last read. */
	latencies: readonly Latency[] = [];
	ended: readonly Thread[] = [];
	ending: readonly Thread[] = [];
	readonly attached: string[] = [];
	readonly #places: number;
	#window = 0;

	constructor(t: TestContext) {
		// A place for each half, which can be shared as the memory of a map.
		this.#places = openSync(join(temporaryFolder(), 'places'), 'w+');
		writeSync(this.#places, new Uint8Array(2 * latency_place.size));
		t.after(() => closeSync(this.#places));
	}

	/** Latencies of one thread that are at hand, as words of a place, in the half that programs write to. */
	place(all: readonly Latency[]): void {
		const bytes = new DataView(new ArrayBuffer(latency_place.size));
		const [first] = all as readonly [Latency];
		const { at_hand, all: totals } = latency_place.fields;
		write(latency_place, bytes, 0, { start_ns: START, pid: first.pid });
		const sums = all.map(totalsOf);
		const sum = (of: 'wakeups' | 'throttled_ns' | 'sum') =>
			sums.reduce((total, each) => total + each[of], 0);
		const longest = [...sums].sort((a, b) => b.max - a.max)[0];
		const shortest = [...sums].sort((a, b) => a.max - b.max)[0];
		write(latencies, bytes, totals.offset, {
			...longest,
			...{ wakeups: sum('wakeups'), throttled_ns: sum('throttled_ns'), sum: sum('sum') },
			min_complement: shortest?.min_complement ?? 0,
		});
		for (const [i, { count, each_ns }] of all.entries())
			bytes.setUint32(at_hand.offset + 4 * i, bucketOf(each_ns) * 2 ** 20 + count, true);
		writeSync(this.#places, bytes, 0, bytes.byteLength, this.#window * latency_place.size);
	}

	get object(): BpfObject<typeof layout> {
		return {
			layout,
			attach: (name: string) => this.attached.push(name),
			waitForPrograms: () => {},
			setVariable: (_name: string, value: number) => {
				this.#window = value;
			},
			runIterator: () => threadsIn(this.threads),
			map: (name: string) => ({
				fd: this.#places,
				maxEntries: 2,
				valueSize: latency_place.size,
				drain: (each: (keys: DataView, values: DataView, count: number) => void) =>
					this.#drain(name, each),
			}),
		} as unknown as BpfObject<typeof layout>;
	}

	/** Each once, and only of the half that no program writes to any more. */
	#drain(name: string, each: (keys: DataView, values: DataView, count: number) => void): void {
		const done = 1 - this.#window;
		if (name === `latencies_${done}`) {
			each(...latenciesIn(this.latencies), this.latencies.length);
			this.latencies = [];
		}
		for (const which of ['ended', 'ending'] as const) {
			if (name !== 'ending' && name !== `ended_${done}`) continue;
			if (!name.startsWith(which)) continue;
			each(new DataView(new ArrayBuffer(0)), threadsIn(this[which]), this[which].length);
			this[which] = [];
		}
	}
}

/** Reads what bpf/schedlat.bpf.c keeps: threads' totals, and their latencies. */
import type { TableFindings } from '../../aggregate/report.js';
import { readComm } from '../../bpf/comm.js';
import { Window } from '../../bpf/window.js';
import type { schedlat } from '../../generated/schedlat.js';
import { readU64 } from '../../loader/layout.js';
import type { BpfObject } from '../../loader/object.js';
import type { Reader } from '../../reader.js';
import { Latencies } from './latencies.js';
import { LatencyReader, threadId } from './latency-reader.js';
import {
	atLeast,
	type Counters,
	NO_COUNTERS,
	type Reading,
	since,
	type ThreadTime,
} from './scheduling.js';

type Layout = typeof schedlat;

/** Rows of threads to findings. `epoch_ms`: wall-clock time of CLOCK_MONOTONIC's zero. */
type ToFindings = (threads: readonly ThreadTime[], epoch_ms: number) => Promise<TableFindings>;

interface Thread {
	readonly pid: number;
	readonly tid: number;
	readonly comm: string;
	readonly process: string;
	readonly traced: boolean;
	readonly start_ns: number;
	readonly waiting_ns: number;
	readonly throttled: boolean;
	/** Since it began. */
	readonly counters: Reading;
}

/** Threads by `number start`. */
type Threads = Map<string, Thread>;

export class SchedulingReader implements Reader<TableFindings> {
	readonly #object: BpfObject<Layout>;
	readonly #window: Window;
	readonly #toFindings: ToFindings;
	/** As of the last two readings: a thread between its exit and its last switch is in none. */
	#before: [Threads, Threads] = [new Map(), new Map()];
	#ended: Threads = new Map();
	readonly #latencies: LatencyReader;
	#last: Threads | undefined;
	#begun_ns = 0;

	constructor(object: BpfObject<Layout>, toFindings: ToFindings) {
		this.#object = object;
		this.#window = new Window(object);
		this.#toFindings = toFindings;
		this.#latencies = new LatencyReader(object);
	}

	begin(): void {
		this.#begun_ns = Number(process.hrtime.bigint());
		// Before the filter's own program, which takes the thread out of the filter.
		this.#object.attach('schedlat_exit');
	}

	begun(): void {
		this.#before = [this.#threads(), new Map()];
	}

	end(): void {
		this.#last = this.#threads();
	}

	close(): void {
		this.#latencies.close();
	}

	drain(): void {
		const half = this.#window.swap();
		this.#latencies.drain(half);
		for (const [id, thread] of this.#drained(`ended_${half}`)) this.#ended.set(id, thread);
	}

	async read(): Promise<TableFindings> {
		// First the live threads: one that ends now is also among the ended ones, with more.
		const living = this.#last ?? this.#threads();
		this.drain();
		// Reaped already, though its last switch was after the end: it is in no other list.
		const ending = this.#last ? this.#drained('ending') : [];
		const all = new Map([...ending, ...living, ...this.#ended]);
		const allLatencies = this.#latencies.take();
		const threads: ThreadTime[] = [];
		for (const [id, read] of all) {
			const thread = this.#settled(id, read);
			if (thread !== read && living.has(id)) living.set(id, thread);
			const latencies = allLatencies.get(id);
			allLatencies.delete(id);
			if (!thread.traced && !latencies) continue;
			const counters = this.#since(id, thread);
			if (counters.run_ns === 0 && counters.switches === 0 && !latencies && !thread.waiting_ns)
				continue;
			threads.push({ ...thread, counters, latencies: latencies ?? new Latencies() });
		}
		for (const latencies of allLatencies.values()) threads.push({ ...UNKNOWN, latencies });
		for (const id of this.#ended.keys()) living.delete(id);
		this.#before = [living, this.#before[0]];
		this.#ended = new Map();
		const epoch_ms = Date.now() - Number(process.hrtime.bigint()) / 1e6;
		return this.#toFindings(threads, epoch_ms);
	}

	#lastOf(id: string): Thread | undefined {
		return this.#before[0].get(id) ?? this.#before[1].get(id);
	}

	/** As it was read, except run time that has become less. */
	#settled(id: string, thread: Thread): Thread {
		const before = this.#lastOf(id);
		const counters = before ? atLeast(thread.counters, before.counters) : thread.counters;
		return counters === thread.counters ? thread : { ...thread, counters };
	}

	/** What a thread has added to its totals since the last reading. */
	#since(id: string, { counters, start_ns }: Thread): Counters {
		const before = this.#lastOf(id);
		if (before) return since(counters, before.counters);
		// Not seen before: it is new, or it ended before it could be.
		return start_ns >= this.#begun_ns ? counters : NO_COUNTERS;
	}

	#threads(): Threads {
		const view = this.#object.runIterator('schedlat_threads');
		const { size } = this.#object.layout.structs.thread_totals;
		const threads: Threads = new Map();
		for (let at = 0; at + size <= view.byteLength; at += size) this.#add(threads, view, at);
		return threads;
	}

	#drained(map: 'ended_0' | 'ended_1' | 'ending'): Threads {
		const { size } = this.#object.layout.structs.thread_totals;
		const threads: Threads = new Map();
		this.#object.map(map).drain((_keys, values, count) => {
			for (let i = 0; i < count; i++) this.#add(threads, values, i * size);
		});
		return threads;
	}

	#add(threads: Threads, view: DataView, at: number): void {
		const f = this.#object.layout.structs.thread_totals.fields;
		const u32 = ({ offset }: { offset: number }) => view.getUint32(at + offset, true);
		const u64 = ({ offset }: { offset: number }) => readU64(view, at + offset);
		threads.set(threadId(u32(f.pid), u64(f.start_ns)), {
			pid: u32(f.tgid),
			tid: u32(f.tid),
			comm: readComm(view, at + f.comm.offset),
			process: readComm(view, at + f.process.offset),
			traced: view.getUint16(at + f.traced.offset, true) !== 0,
			throttled: view.getUint16(at + f.throttled.offset, true) !== 0,
			start_ns: u64(f.start_ns),
			waiting_ns: u64(f.waiting_ns),
			counters: {
				run_ns: u64(f.run_ns),
				counted_ns: u64(f.counted_ns),
				switches: u64(f.switches),
				preempted: u64(f.preempted),
				migrations: u64(f.migrations),
			},
		});
	}
}

/** Threads that no list of threads has: of another PID namespace, or hidden by the kernel. */
const UNKNOWN = {
	pid: 0,
	tid: 0,
	comm: '(not visible)',
	process: '(not visible)',
	counters: NO_COUNTERS,
	waiting_ns: 0,
	throttled: false,
};

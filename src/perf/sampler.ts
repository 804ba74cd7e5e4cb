/**
 * Stacks sampled by perf events, for users who may not load BPF programs, and kernels where these
 * cannot do it. Any user may sample its own processes (perf_event_paranoid 2 or less). Source:
 * man 2 perf_event_open.
 */

import { TstraceError } from '../errors.js';
import { perf_type_id } from '../generated/uapi.js';
import { pageSizeBytes } from '../loader/memory.js';
import { threadsOf } from '../proc/threads.js';
import { type Flag, type PerfEventAttributes, SAMPLE_TYPE, SIDEBAND_FLAGS } from './attributes.js';
import type { CpuChoice } from './cpus.js';
import { canReadLost, DUMMY } from './events.js';
import type { EventType } from './names.js';
import { OneEventEach } from './one-event-each.js';
import { openPerfEvent, type PerfEvent, PerfOpenError } from './open.js';
import type { SampleRecord, SidebandRecord } from './records.js';
import { PerfRings, type TimedRecord } from './rings.js';

/** With the page of control just what any user may lock: perf_event_mlock_kb is 516 for each CPU. */
const RING_BYTES = 512 * 1024;

export type SamplerOptions = CpuChoice & {
	/** Which processes to sample; those that they start later are sampled too. */
	readonly pids?: readonly number[];
	readonly tids?: readonly number[];
	/** Not from now on, but from when they execute another program: as COMMAND is held by a shell. */
	readonly fromExec?: boolean;
	/** Everybody instead: needs CAP_PERFMON, or perf_event_paranoid below 1. */
	readonly systemWide?: boolean;
	readonly event: EventType;
	/** Whether to sample while the kernel runs: needs CAP_PERFMON, or perf_event_paranoid 1. */
	readonly kernel: 'yes' | 'no' | 'if-allowed';
	/** The most frames of a stack; at most /proc/sys/kernel/perf_event_max_stack. */
	readonly maxStack?: number;
	/** For each CPU; a power of two of pages. Smaller where the user's limit asks for it. */
	readonly ring_bytes?: number;
} & (
		| { readonly frequency_hz: number; readonly period?: never }
		/** Events between two samples; ns for the clocks. */
		| { readonly period: number; readonly frequency_hz?: never }
	);

export class Sampler {
	readonly #options: SamplerOptions;
	readonly #rings: PerfRings;
	readonly #once = new OneEventEach();
	#kernelIncluded: boolean;
	/** By the time a CPU comes online, COMMAND may have executed its program already. */
	#started = false;

	/**
	 * Begins to sample. Throws TstraceError where this user may not, where there is no such event,
	 * and when all of `pids` and `tids` have ended.
	 */
	constructor(options: SamplerOptions) {
		this.#options = options;
		this.#kernelIncluded = options.kernel !== 'no';
		const { ring_bytes = RING_BYTES } = options;
		let events = 0;
		this.#rings = new PerfRings({
			...(options.cpus && { cpus: options.cpus }),
			...(options.online && { online: options.online }),
			ring_bytes: Math.max(ring_bytes, pageSizeBytes()),
			open: openRingOwner,
			attach: (cpu, owner) => {
				const attached = this.#attach(cpu, owner);
				events += attached.length;
				return attached;
			},
		});
		if (events > 0) return;
		this.close();
		throw new TstraceError(`nothing to sample: ${chosenText(options)} has ended or never existed`);
	}

	/** Whether samples are taken while the kernel runs, and their stacks have its frames. */
	get kernelIncluded(): boolean {
		return this.#kernelIncluded;
	}

	/**
	 * Delivers what was and will be recorded, in the order of time: when a ring is a quarter full,
	 * and at `drain`.
	 */
	start(
		onSample: (sample: SampleRecord) => void,
		onSideband: (record: SidebandRecord) => void,
	): void {
		this.#started = true;
		this.#rings.start((record: TimedRecord) => {
			// Idle CPUs, and what lives outside this PID namespace.
			if (record.pid <= 0) return;
			if (record.type !== 'sample') {
				this.#once.follow(record);
				onSideband(record);
			} else if (this.#once.accepts(record)) {
				onSample(record);
			}
		});
	}

	/** Delivers all that was recorded before the call. To be called every second, and at the end. */
	drain(): void {
		this.#rings.drain();
	}

	/** Follows CPUs that came online or went. To be called every second. */
	refreshCpus(): void {
		this.#rings.refreshCpus();
	}

	/** Records lost since the last call. */
	lost(): number {
		const lost = this.#rings.lost();
		if (lost > 0) this.#once.forget();
		return lost;
	}

	/** How often the kernel paused sampling because it took too long, since the last call. */
	pauses(): number {
		return this.#rings.pauses();
	}

	/** Releases all. Twice is once. */
	close(): void {
		this.#rings.close();
	}

	/** The events of one CPU; they write to the ring of `owner`. */
	#attach(cpu: number, owner: PerfEvent): PerfEvent[] {
		const events: PerfEvent[] = [];
		try {
			if (this.#options.systemWide) events.push(this.#open(-1, cpu));
			else this.#openOnThreads(cpu, events);
			for (const event of events) event.setOutput(owner);
			return events;
		} catch (error) {
			for (const event of events) event.close();
			throw error;
		}
	}

	#openOnThreads(cpu: number, events: PerfEvent[]): void {
		const seen = new Set<number>();
		// Threads that are created while we look are found by looking again.
		for (let look = 0; ; look++) {
			const fresh = threadsOf(this.#options).filter((tid) => !seen.has(tid));
			if (fresh.length === 0) return;
			for (const tid of fresh) {
				seen.add(tid);
				const event = this.#tryOpen(tid, cpu);
				if (!event) continue;
				events.push(event);
				if (look > 0) this.#once.begin();
			}
		}
	}

	/** Undefined when the thread has ended meanwhile. */
	#tryOpen(tid: number, cpu: number): PerfEvent | undefined {
		try {
			return this.#open(tid, cpu);
		} catch (error) {
			if (error instanceof PerfOpenError && error.errno === 'ESRCH') return undefined;
			throw error;
		}
	}

	#open(pid: number, cpu: number): PerfEvent {
		try {
			return openPerfEvent(this.#attributes(), { pid, cpu });
		} catch (error) {
			const forbidden =
				error instanceof PerfOpenError && (error.errno === 'EACCES' || error.errno === 'EPERM');
			if (!forbidden || !this.#kernelIncluded || this.#options.kernel !== 'if-allowed') throw error;
			this.#kernelIncluded = false;
			return this.#open(pid, cpu);
		}
	}

	#attributes(): PerfEventAttributes {
		const { event, frequency_hz, period, maxStack, systemWide, fromExec } = this.#options;
		const flags: Flag[] = [...SIDEBAND_FLAGS, 'sample_id_all', 'exclude_hv'];
		if (!systemWide) flags.push('inherit');
		if (fromExec && !this.#started) flags.push('disabled', 'enable_on_exec');
		if (!this.#kernelIncluded) flags.push('exclude_kernel', 'exclude_callchain_kernel');
		// arm64's counters refuse it; samples of idle CPUs are dropped above in any case.
		if (event.type === perf_type_id.PERF_TYPE_SOFTWARE) flags.push('exclude_idle');
		return {
			type: event.type,
			config: event.config,
			sampleType: SAMPLE_TYPE,
			countLost: canReadLost(),
			flags,
			...(frequency_hz === undefined ? { period } : { frequency_hz }),
			...(maxStack === undefined ? {} : { maxStack }),
		};
	}
}

/**
 * A dummy on ourselves, which any user may open, and whose descriptor lives as long as we do:
 * that of a thread which ended would report itself readable for ever.
 */
function openRingOwner(cpu: number, watermark_bytes: number): PerfEvent {
	const flags = ['exclude_kernel', 'exclude_hv'] as const;
	return openPerfEvent(
		{ ...DUMMY, watermark_bytes, countLost: canReadLost(), flags },
		{ pid: 0, cpu },
	);
}

function chosenText({ pids = [], tids = [] }: SamplerOptions): string {
	const chosen = [...pids.map((pid) => `process ${pid}`), ...tids.map((tid) => `thread ${tid}`)];
	return chosen.join(', ') || 'the chosen process or thread';
}

/** The rings of all CPUs as one: their records come in the order of their times. */
import type { node } from 'koffi';
import { TstraceError } from '../errors.js';
import { closeAll } from '../loader/close-all.js';
import { koffi } from '../loader/koffi.js';
import { pageSizeBytes } from '../loader/memory.js';
import { type CpuChoice, PerCpuEvents } from './cpus.js';
import { canReadLost } from './events.js';
import type { PerfEvent } from './open.js';
import { type LostRecord, type PerfRecord, PerfRecordError, parseRecord } from './parse.js';
import type { SampleRecord, SidebandRecord } from './records.js';
import { PerfRing } from './ring.js';
import { TimeOrder } from './time-order.js';

export type TimedRecord = SidebandRecord | SampleRecord;

interface RingOptions extends CpuChoice {
	/** Data for each CPU; a power of two of pages. It is made smaller where the user's limit asks. */
	readonly ring_bytes: number;
	/** Opens the event whose ring it is; its reader is woken after so many bytes. */
	readonly open: (cpu: number, watermark_bytes: number) => PerfEvent;
	/** Opens more events that write to the same ring. */
	readonly attach?: (cpu: number, owner: PerfEvent) => readonly PerfEvent[];
}

/** A ring wakes its reader when a quarter of it is in use: the rest is for while we are busy. */
const WATERMARK_PART = 4;

export class PerfRings {
	readonly #rings: PerCpuEvents<CpuRing>;
	readonly #wake = () => this.drain();
	readonly #order = new TimeOrder<TimedRecord>();
	#lost = 0;
	#pauses = 0;
	#onRecord: ((record: TimedRecord) => void) | undefined;

	/** Opens them; what is recorded from now on is kept until `start`, as far as there is room. */
	constructor(options: RingOptions) {
		let bytes = options.ring_bytes;
		this.#rings = new PerCpuEvents((cpu) => {
			const ring = new CpuRing(cpu, bytes, options);
			bytes = ring.bytes;
			if (this.#onRecord) ring.watch(this.#wake);
			return ring;
		}, options);
	}

	/** Delivers what was recorded since it was opened, and from now on whenever a ring asks for it. */
	start(onRecord: (record: TimedRecord) => void): void {
		this.#onRecord = onRecord;
		for (const ring of this.#rings.open.values()) ring.watch(this.#wake);
	}

	/**
	 * Delivers all that was recorded before the call, in the order of time. Only what another CPU
	 * was writing at this very moment can come late. Before `start` it does nothing.
	 */
	drain(): void {
		const onRecord = this.#onRecord;
		if (!onRecord) return;
		const until_ns = Number(process.hrtime.bigint());
		const read: TimedRecord[] = [];
		for (const ring of this.#rings.open.values()) this.#read(ring, read);
		for (const record of this.#order.take(read, until_ns)) onRecord(record);
	}

	/** Follows CPUs that came online or went. To be called every second. */
	refreshCpus(): void {
		this.drain(); // what a CPU that went has left
		this.#countLost();
		this.#rings.refresh();
	}

	/** Records lost since the last call. */
	lost(): number {
		this.#countLost();
		const lost = this.#lost;
		this.#lost = 0;
		return lost;
	}

	/** How often the kernel paused sampling, as it took too long, since the last call. */
	pauses(): number {
		const pauses = this.#pauses;
		this.#pauses = 0;
		return pauses;
	}

	/** By CPU. */
	get open(): ReadonlyMap<number, CpuRing> {
		return this.#rings.open;
	}

	/** Releases all. Twice is once. */
	close(): void {
		this.#onRecord = undefined;
		this.#rings.close();
	}

	#read(cpuRing: CpuRing, into: TimedRecord[]): void {
		const whole = cpuRing.ring.read((view) => {
			const record = this.#parse(view);
			if (!record) return;
			if (record.type === 'lost') this.#onLost(record, cpuRing);
			else if (record.type === 'throttle') this.#pauses++;
			else into.push(record);
		});
		if (!whole) this.#lost++;
		if (cpuRing.ring.nearlyFull) cpuRing.suspect();
	}

	#onLost({ where, lost }: LostRecord, cpuRing: CpuRing): void {
		if (where === 'ring' && canReadLost()) cpuRing.suspect();
		else this.#lost += lost;
	}

	#countLost(): void {
		if (!canReadLost()) return;
		for (const ring of this.#rings.open.values()) this.#lost += ring.takeLost();
	}

	#parse(view: DataView): PerfRecord | undefined {
		try {
			return parseRecord(view);
		} catch (error) {
			if (!(error instanceof PerfRecordError)) throw error;
			this.#lost++;
			return undefined;
		}
	}
}

/** The ring of one CPU, and the events that write to it. */
class CpuRing {
	readonly ring: PerfRing;
	readonly owner: PerfEvent;
	readonly bytes: number;
	#attached: readonly PerfEvent[] = [];
	#mayHaveLost = false;
	#lostBefore = 0;
	#poll: node.PollHandle | undefined;

	constructor(cpu: number, wantedBytes: number, { open, attach }: RingOptions) {
		[this.owner, this.ring, this.bytes] = openRing(cpu, wantedBytes, open);
		try {
			this.#attached = attach?.(cpu, this.owner) ?? [];
		} catch (error) {
			this.close();
			throw error;
		}
	}

	/**
	 * The kernel reports a wake-up once, to the first that asks; when the descriptor is handed to epoll, at the
	 * end of this turn, that is epoll itself, which forgets it (perf_poll in kernel/events/core.c).
	 * So we look once after that: a ring that is full already would never wake anybody again.
	 */
	watch(onReadable: () => void): void {
		if (this.#poll) return;
		this.#poll = koffi().node.poll(this.owner.fd, { readable: true }, onReadable);
		setImmediate(onReadable);
	}

	/** Something may have been lost here: `takeLost` is to ask. */
	suspect(): void {
		this.#mayHaveLost = true;
	}

	/** Records lost since the last call. Asking takes a system call for each event. */
	takeLost(): number {
		if (!this.#mayHaveLost) return 0;
		this.#mayHaveLost = false;
		const before = this.#lostBefore;
		this.#lostBefore = this.owner.lost();
		for (const event of this.#attached) this.#lostBefore += event.lost();
		return this.#lostBefore - before;
	}

	close(): void {
		const held = [this.#poll, ...this.#attached, this.ring, this.owner];
		this.#poll = undefined;
		closeAll(held.map((each) => () => each?.close()));
	}
}

/** With the largest ring this user may have: see PerfRing.map. */
function openRing(
	cpu: number,
	wantedBytes: number,
	open: RingOptions['open'],
): [PerfEvent, PerfRing, number] {
	for (let bytes = wantedBytes; ; bytes /= 2) {
		const owner = open(cpu, bytes / WATERMARK_PART);
		try {
			return [owner, PerfRing.map(owner.fd, bytes), bytes];
		} catch (error) {
			owner.close();
			if (!(error instanceof TstraceError) || error.detail !== 'EPERM') throw error;
			if (bytes <= pageSizeBytes()) throw new TstraceError(tooMuchLocked(), error.detail);
		}
	}
}

function tooMuchLocked(): string {
	return (
		'no memory for perf events: other programs have locked all the memory that this user may lock; ' +
		'end them, or allow more (sysctl kernel.perf_event_mlock_kb, ulimit -l)'
	);
}

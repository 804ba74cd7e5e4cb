/** Events out of a ring buffer: as they come, or all that came in an interval. */

import type { EventRow, Lost, RowFindings } from '../aggregate/report.js';
import type { Key } from '../aggregate/row-key.js';
import type { BpfMap } from '../loader/map.js';
import { RingBuffer } from '../loader/ringbuf.js';
import type { Reader, RowSink } from '../reader.js';
import { LineBuffer } from '../render/line-buffer.js';
import { WallClock } from './wall-clock.js';

/** Events kept for one JSON object. */
const MAX_ROWS = 100_000;

/** Makes a row of a record, or none of one that others refer to; `epoch_ms` is the wall-clock time of CLOCK_MONOTONIC's zero. */
type RowOf = (record: DataView, epoch_ms: number) => EventRow | undefined;

export class EventRows implements Reader<RowFindings> {
	readonly #map: BpfMap;
	protected readonly ring: RingBuffer;
	protected readonly wall = new WallClock();
	readonly #rowOf: RowOf;
	#rows: EventRow[] = [];
	#dropped = 0;

	/** `map` is loaded, and of type BPF_MAP_TYPE_RINGBUF. */
	constructor(map: BpfMap, rowOf: RowOf) {
		this.#map = map;
		this.ring = new RingBuffer(map);
		this.#rowOf = rowOf;
	}

	/** For programs that wake the reader of their events. */
	stream(sink: RowSink, fail: (error: unknown) => void): void {
		this.ring.watch(this.#map.fd, async () => {
			try {
				this.drain();
				await sink(this.#take());
			} catch (error) {
				fail(error);
			}
		});
	}

	lost(): Lost {
		const dropped = this.#dropped;
		this.#dropped = 0;
		return dropped > 0 ? { events_dropped: dropped } : {};
	}

	async read(): Promise<RowFindings> {
		this.drain();
		return { kind: 'rows', rows: this.#take() };
	}

	close(): void {
		this.ring.close();
	}

	drain(): void {
		const epoch_ms = this.wall.epochMs();
		this.ring.read((record) => this.keep(record, epoch_ms));
	}

	protected keep(record: DataView, epoch_ms: number): void {
		const row = this.#rowOf(record, epoch_ms);
		if (row === undefined) return;
		if (this.#rows.length < MAX_ROWS) this.#rows.push(row);
		else this.#dropped++;
	}

	#take(): EventRow[] {
		const rows = this.#rows;
		this.#rows = [];
		return rows;
	}
}

/** Makes rows of events, or lines where they are too many for objects. */
export interface EventFormatter {
	/** Where in a record its time in ns is, in words; and the most bytes that a record takes. */
	readonly timeAt: number;
	readonly bytes: number;
	row: RowOf;
	/** Looks at a batch before its lines or rows are made; `wall`: by which its moments are told. */
	prepare(words: Uint32Array, places: Uint32Array, count: number, wall: WallClock): void;
	/** Waits for what `prepare` has found to be needed, if anything is, before lines are made. */
	settle?(): Promise<void>;
	/** Adds the line of the record that begins at this word. */
	line(words: Uint32Array, at: number, lines: LineBuffer): void;
	/** For below all lines. */
	totals(): readonly Key[] | undefined;
}

/** How often to look. The programs wake nobody: that would cost more than the events do. */
const LOOK_PERIOD_MS = 50;
const BATCH_EVENTS = 8192;
const WRITE_BYTES = 1 << 18;
const BUFFER_BYTES = 1 << 19;

/**
 * Events by the 100,000 a second. CPUs put them into the ring as they come to it; each batch is sorted by
 * time, so that only at the seam of two batches can one be some microseconds late. As text each becomes a
 * line without an object of its own.
 */
export class EventBatches extends EventRows {
	readonly #formatter: EventFormatter;
	readonly #lines = new LineBuffer(BUFFER_BYTES);
	readonly #places = new Uint32Array(BATCH_EVENTS);
	readonly #times = new Float64Array(BATCH_EVENTS);
	/** Undefined: rows are wanted. */
	#sink: RowSink | undefined;
	#timer: NodeJS.Timeout | undefined;
	#writing: Promise<void> = Promise.resolve();
	#closed = false;

	/** The programs that fill `map` wake nobody (BPF_RB_NO_WAKEUP). */
	constructor(map: BpfMap, formatter: EventFormatter) {
		super(map, formatter.row);
		this.#formatter = formatter;
	}

	override stream(sink: RowSink, fail: (error: unknown) => void): void {
		this.#sink = sink;
		const look = () => {
			this.#writing = this.#writeAll(sink).then(() => {
				if (!this.#closed) this.#timer = setTimeout(look, LOOK_PERIOD_MS);
			}, fail);
		};
		this.#timer = setTimeout(look, LOOK_PERIOD_MS);
	}

	override async read(): Promise<RowFindings> {
		if (!this.#sink) return super.read();
		await this.#writing;
		clearTimeout(this.#timer);
		await this.#writeAll(this.#sink);
		const totals = this.#formatter.totals();
		return { kind: 'rows', rows: [], ...(totals && { totals }) };
	}

	override close(): void {
		clearTimeout(this.#timer);
		this.#closed = true;
		super.close();
	}

	override drain(): void {
		const epoch_ms = this.wall.epochMs();
		const { buffer } = this.ring.words;
		for (const count of this.#batches()) {
			for (let i = 0; i < count; i++) {
				const at = (this.#places[i] as number) * 4;
				this.keep(new DataView(buffer, at, this.#formatter.bytes), epoch_ms);
			}
		}
	}

	async #writeAll(sink: RowSink): Promise<void> {
		const { words } = this.ring;
		const lines = this.#lines;
		for (const count of this.#batches()) {
			await this.#formatter.settle?.();
			// The ring was closed meanwhile.
			if (this.#closed) return;
			for (let i = 0; i < count; i++) {
				this.#formatter.line(words, this.#places[i] as number, lines);
				if (lines.length < WRITE_BYTES) continue;
				await sink(lines.bytes());
				lines.clear();
				// The ring was closed while that waited for its reader.
				if (this.#closed) return;
			}
		}
		if (lines.length > 0) await sink(lines.bytes());
		lines.clear();
	}

	/** What is there now, sorted; each batch is gone when the next is asked for. */
	*#batches(): Generator<number> {
		const { words, produced } = this.ring;
		for (let count = BATCH_EVENTS; count === BATCH_EVENTS; ) {
			count = this.ring.batch(this.#places, produced);
			this.#sort(words, count);
			this.#formatter.prepare(words, this.#places, count, this.wall);
			yield count;
			if (this.#closed) return;
			this.ring.release();
		}
	}

	/** By insertion: they are all but sorted. */
	#sort(words: Uint32Array, count: number): void {
		const places = this.#places;
		const times = this.#times;
		for (let i = 0; i < count; i++) {
			const place = places[i] as number;
			const time = u64At(words, place + this.#formatter.timeAt);
			let to = i;
			for (; to > 0 && (times[to - 1] as number) > time; to--) {
				times[to] = times[to - 1] as number;
				places[to] = places[to - 1] as number;
			}
			times[to] = time;
			places[to] = place;
		}
	}
}

/** A u64 out of words, exact below 2^53. */
export function u64At(words: Uint32Array, at: number): number {
	return (words[at] as number) + (words[at + 1] as number) * 2 ** 32;
}

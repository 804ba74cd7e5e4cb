/** Events out of a ring buffer: as they come, or all that came in an interval. */
import type { Findings, Key, Lost } from '../aggregate/report.js';
import type { BpfMap } from '../loader/map.js';
import { RingBuffer } from '../loader/ringbuf.js';
import type { LineBuffer } from '../render/line-buffer.js';
import type { Reader, RowSink } from './tool.js';

/** Events kept for one JSON object. */
const MAX_ROWS = 100_000;

/** Makes a row of a record; `epoch_ms` is the wall-clock time of CLOCK_MONOTONIC's zero. */
export type RowOf = (record: DataView, epoch_ms: number) => Key;

/** Wall-clock time of CLOCK_MONOTONIC's zero in ms; asked anew, so that a stepped clock shows. */
export function epochMs(): number {
	return Date.now() - Number(process.hrtime.bigint()) / 1e6;
}

export class EventRows implements Reader {
	readonly #map: BpfMap;
	readonly #ring: RingBuffer;
	readonly #rowOf: RowOf;
	#rows: Key[] = [];
	#dropped = 0;

	/** `map` is loaded, and of type BPF_MAP_TYPE_RINGBUF. */
	constructor(map: BpfMap, rowOf: RowOf) {
		this.#map = map;
		this.#ring = new RingBuffer(map);
		this.#rowOf = rowOf;
	}

	/** For programs that wake whoever waits for their events. */
	stream(sink: RowSink): void {
		this.#ring.watch(this.#map.fd, async () => {
			this.drain();
			await sink(this.#take());
		});
	}

	lost(): Lost {
		const dropped = this.#dropped;
		this.#dropped = 0;
		return dropped > 0 ? { events_dropped: dropped } : {};
	}

	async read(): Promise<Findings> {
		this.drain();
		return { kind: 'rows', rows: this.#take() };
	}

	close(): void {
		this.#ring.close();
	}

	drain(): void {
		const epoch_ms = epochMs();
		this.#ring.read((record) => {
			if (this.#rows.length < MAX_ROWS) this.#rows.push(this.#rowOf(record, epoch_ms));
			else this.#dropped++;
		});
	}

	#take(): Key[] {
		const rows = this.#rows;
		this.#rows = [];
		return rows;
	}
}

/** Makes lines of events, where they are too many for objects. */
export interface EventFormatter {
	/** Where in a record its time in ns is, in words. */
	readonly timeAt: number;
	/** Looks at a batch before its lines are made. */
	prepare?(words: Uint32Array, places: Uint32Array, count: number): void;
	/** Adds the line of the record that begins at this word. */
	line(words: Uint32Array, at: number, lines: LineBuffer): void;
	/** Below all lines. */
	summary(): string | undefined;
}

/** How often to look. The programs wake nobody: that would cost more than the events do. */
const LOOK_PERIOD_MS = 50;
const BATCH_EVENTS = 8192;
const WRITE_BYTES = 1 << 18;

/**
 * Text of events by the 100,000 a second. CPUs put them into the ring as they come to it; each batch is
 * sorted by time, so that only at the seam of two batches can a line be some microseconds late.
 */
export class EventText implements Reader {
	readonly #ring: RingBuffer;
	readonly #formatter: EventFormatter;
	readonly #lines: LineBuffer;
	readonly #places = new Uint32Array(BATCH_EVENTS);
	readonly #times = new Float64Array(BATCH_EVENTS);
	#sink: RowSink = async () => undefined;
	#timer: NodeJS.Timeout | undefined;
	#pumping: Promise<void> = Promise.resolve();

	constructor(map: BpfMap, formatter: EventFormatter, lines: LineBuffer) {
		this.#ring = new RingBuffer(map);
		this.#formatter = formatter;
		this.#lines = lines;
	}

	stream(sink: RowSink): void {
		this.#sink = sink;
		const look = () => {
			this.#pumping = this.#pump().then(() => {
				this.#timer = setTimeout(look, LOOK_PERIOD_MS);
			});
		};
		this.#timer = setTimeout(look, LOOK_PERIOD_MS);
	}

	/** The rest; the programs are detached. */
	async read(): Promise<Findings> {
		await this.#pumping;
		clearTimeout(this.#timer);
		await this.#pump();
		const summary = this.#formatter.summary();
		return { kind: 'rows', rows: [], ...(summary === undefined ? {} : { summary }) };
	}

	close(): void {
		clearTimeout(this.#timer);
		this.#ring.close();
	}

	/** Writes all that is there now. */
	async #pump(): Promise<void> {
		const { words } = this.#ring;
		for (let count = BATCH_EVENTS; count === BATCH_EVENTS; ) {
			count = this.#ring.batch(this.#places);
			this.#sort(words, count);
			this.#formatter.prepare?.(words, this.#places, count);
			for (let i = 0; i < count; i++) {
				this.#formatter.line(words, this.#places[i] as number, this.#lines);
				if (this.#lines.length >= WRITE_BYTES) await this.#write();
			}
			this.#ring.release();
		}
		await this.#write();
	}

	async #write(): Promise<void> {
		if (this.#lines.length > 0) await this.#sink(this.#lines.bytes());
		this.#lines.clear();
	}

	/** By insertion: they are all but sorted. */
	#sort(words: Uint32Array, count: number): void {
		const places = this.#places;
		const times = this.#times;
		for (let i = 0; i < count; i++) {
			const place = places[i] as number;
			const at = place + this.#formatter.timeAt;
			const time = (words[at] as number) + (words[at + 1] as number) * 2 ** 32;
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

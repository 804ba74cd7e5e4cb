/** Events of `tstrace timehist` as lines, in the form of perf sched timehist, and as rows. */

import { stateLetter } from '../../abi/states.js';
import type { Key } from '../../aggregate/row-key.js';
import { readComm } from '../../bpf/comm.js';
import { type EventFormatter, u64At } from '../../bpf/events.js';
import { InterruptNames } from '../../bpf/scheduling/interrupts.js';
import { ThreadNames } from '../../bpf/thread-names.js';
import type { WallClock } from '../../bpf/wall-clock.js';
import { readU64 } from '../../loader/layout.js';
import type { LineBuffer } from '../../render/line-buffer.js';
import * as event from './event-fields.js';
import { KernelStacks } from './kernel-stacks.js';
import { ThreadTotals } from './totals.js';

export interface TimehistView {
	readonly next: boolean;
	readonly stacks: boolean;
	/** Frames of a stack that are shown. */
	readonly maxStack: number;
	readonly lines: boolean;
	readonly summary: boolean;
	/** Width of the column that shows CPUs as places; 0: there is none. */
	readonly visual: number;
	readonly wallClock: boolean;
	/** Of the column of thread names; longer ones move what is behind them. */
	readonly nameWidth: number;
}

const TIME_WIDTH = 15;
const DURATION_WIDTH = 9;
/** The columns that only switches have: three durations and the state. */
const SWITCH_WIDTH = 3 * (2 + DURATION_WIDTH) + 3;
/** More than a line without its stack takes, but for the visual column. */
const LINE_BYTES = 512;
const [OPEN, CLOSE, ZERO, DASH, SPACE, LETTER_S, LETTER_M, LETTER_X] = [
	0x5b, 0x5d, 0x30, 0x2d, 0x20, 0x73, 0x6d, 0x58,
];
const bytesOf = (text: string) => new TextEncoder().encode(text);
const NEXT = bytesOf('  next: ');
const AWAKENED = bytesOf('  awakened: ');
const MIGRATED = bytesOf('  migrated: ');
const NO_QUOTA = bytesOf('  throttled: ');
const MSEC = bytesOf(' msec');
const CPU = bytesOf(' cpu ');
const ARROW = bytesOf(' => ');

export function timehistHeader({ visual, nameWidth }: TimehistView): string {
	const name = (text: string) => text.padEnd(nameWidth);
	const [digits, blank, rule] = visual
		? [[...Array(visual).keys()].map((cpu) => cpu % 10).join(''), ' '.repeat(visual)]
				.map((text) => `${text}  `)
				.concat(`${'-'.repeat(visual)}  `)
		: ['', '', ''];
	return [
		`           time    cpu  ${digits}${name('thread name')}  wait time    latency   run time  state`,
		`                        ${blank}${name('[tid/pid]')}     (msec)     (msec)     (msec)`,
		`--------------- ------  ${rule}${'-'.repeat(nameWidth)}  ---------  ---------  ---------  -----`,
	].join('\n');
}

export class TimehistFormatter implements EventFormatter {
	readonly timeAt = event.TIME;
	readonly bytes: number;
	readonly #view: TimehistView;
	readonly #names: ThreadNames;
	readonly #totals = new ThreadTotals();
	readonly #stacks: KernelStacks;
	readonly #states = new Map<number, number>();
	readonly #interrupts = new InterruptNames();
	/** Names of interrupts, padded as those of threads are, by their text. */
	readonly #padded = new Map<string, Uint8Array>();
	/** Of the wall clock against CLOCK_MONOTONIC, in µs; with the time zone. */
	#epoch_us = 0;

	/** `other`: events name the other thread, too. */
	constructor(view: TimehistView, other: boolean) {
		this.#view = view;
		this.#names = new ThreadNames(view.nameWidth);
		this.bytes = view.stacks
			? event.BYTES
			: other
				? event.FIELDS.frames.offset
				: event.FIELDS.other_tgid.offset;
		this.#stacks = new KernelStacks(event.FRAMES, event.FIELDS.frames.size / 8, view.maxStack);
	}

	prepare(words: Uint32Array, places: Uint32Array, count: number, wall: WallClock): void {
		if (this.#view.stacks) this.#stacks.name(words, places, count);
		if (this.#view.wallClock) this.#epoch_us = wall.localEpochUs();
	}

	line(words: Uint32Array, at: number, lines: LineBuffer): void {
		const about = words[at + event.ABOUT] as number;
		const cpu = about & 0xffff;
		const type = (about >>> 16) & 0xff;
		if (this.#view.summary) {
			if (type === event.SWITCH) this.#sum(words, at, cpu, about >>> 24);
			else if (type === event.THROTTLED) this.#sumThrottled(words, at);
		}
		if (!this.#view.lines) return;
		lines.room(LINE_BYTES + this.#view.visual);
		this.#time(lines, Math.floor(u64At(words, at + event.TIME) / 1000));
		lines.byte(SPACE);
		lines.byte(OPEN);
		lines.whole(cpu, 4, ZERO);
		lines.byte(CLOSE);
		lines.spaces(2);
		if (this.#view.visual) this.#visual(lines, cpu, type);
		lines.add(this.#doer(words, at, type));
		if (type === event.SWITCH) this.#switch(words, at, lines, about >>> 24);
		else if (type === event.THROTTLED) this.#throttled(words, at, lines);
		else this.#other(words, at, lines, type);
		lines.newline();
	}

	totals(): readonly Key[] | undefined {
		return this.#view.summary ? this.#totals.rows() : undefined;
	}

	readonly row = (record: DataView, epoch_ms: number): Key => {
		const u32 = (field: { offset: number }) => record.getUint32(field.offset, true);
		const type = record.getUint8(event.FIELDS.type.offset);
		const time_ns = readU64(record, event.FIELDS.time_ns.offset);
		const row: Record<string, string | number> = {
			event: event.EVENTS[type] ?? '',
			time: new Date(epoch_ms + time_ns / 1e6).toISOString(),
			time_ns,
			cpu: record.getUint16(event.FIELDS.cpu.offset, true),
			...(!event.isOwn(type) && !record.getUint8(event.FIELDS.by_thread.offset)
				? {}
				: {
						pid: u32(event.FIELDS.tgid),
						tid: u32(event.FIELDS.tid),
						comm: readComm(record, event.FIELDS.comm.offset),
					}),
		};
		if (type === event.THROTTLED)
			return { ...row, throttled_ns: readU64(record, event.FIELDS.latency_ns.offset) };
		if (type === event.SWITCH) this.#switchRow(record, row);
		else Object.assign(row, this.#doerFields(record, type));
		const role = type === event.SWITCH ? 'next' : type === event.WAKEUP ? 'woken' : 'migrated';
		if (type !== event.SWITCH || this.#view.next) {
			row[`${role}_pid`] = u32(event.FIELDS.other_tgid);
			row[`${role}_tid`] = u32(event.FIELDS.other_tid);
			row[`${role}_comm`] = readComm(record, event.FIELDS.other_comm.offset);
		}
		if (type === event.MIGRATE) {
			row.from_cpu = u32(event.FIELDS.from_cpu);
			row.to_cpu = u32(event.FIELDS.to_cpu);
		}
		return row;
	};

	/** What is not known is not there. */
	#switchRow(record: DataView, row: Record<string, string | number>): void {
		const flags = record.getUint8(event.FIELDS.flags.offset);
		if (!(flags & event.WAIT_UNKNOWN)) row.wait_ns = readU64(record, event.FIELDS.wait_ns.offset);
		if (!(flags & event.LATENCY_UNKNOWN))
			row.delay_ns = readU64(record, event.FIELDS.latency_ns.offset);
		if (!(flags & event.RUN_UNKNOWN)) row.run_ns = readU64(record, event.FIELDS.run_ns.offset);
		row.state = stateLetter(record.getUint32(event.FIELDS.state.offset, true));
		if (this.#view.stacks) row.stack = this.#stacks.text(record);
	}

	/** The thread that left the CPU; or what woke or moved another thread. */
	#doer(words: Uint32Array, at: number, type: number): Uint8Array {
		if (event.isOwn(type)) return this.#names.padded(words, at + event.TGID);
		const context = words[at + event.CONTEXT] as number;
		if (context >>> 16) return this.#names.padded(words, at + event.TGID);
		const kind = context & 0xff;
		const text = this.#interrupts.text(
			kind,
			(context >>> 8) & 0xff,
			words[at + event.IRQ] as number,
		);
		let padded = this.#padded.get(text);
		if (!padded) {
			padded = bytesOf(text.padEnd(this.#view.nameWidth));
			this.#padded.set(text, padded);
		}
		return padded;
	}

	#doerFields(record: DataView, type: number): Key {
		return this.#interrupts.fields(
			type === event.WAKEUP ? 'waker_' : 'mover_',
			record.getUint8(event.FIELDS.context.offset),
			record.getUint8(event.FIELDS.interrupt.offset),
			record.getUint32(event.FIELDS.irq.offset, true),
		);
	}

	/** Seconds since CLOCK_MONOTONIC's zero, or the time of day. */
	#time(lines: LineBuffer, time_us: number): void {
		if (!this.#view.wallClock) {
			lines.millionths(time_us, TIME_WIDTH);
			return;
		}
		lines.timeOfDay(time_us + this.#epoch_us);
	}

	#visual(lines: LineBuffer, cpu: number, type: number): void {
		const { visual } = this.#view;
		for (let i = 0; i < visual; i++) {
			lines.byte(
				i !== cpu || type === event.WAKEUP ? SPACE : type === event.SWITCH ? LETTER_S : LETTER_M,
			);
		}
		lines.spaces(2);
	}

	#switch(words: Uint32Array, at: number, lines: LineBuffer, flags: number): void {
		duration(lines, !(flags & event.WAIT_UNKNOWN), u64At(words, at + event.WAIT));
		duration(lines, !(flags & event.LATENCY_UNKNOWN), u64At(words, at + event.LATENCY));
		duration(lines, !(flags & event.RUN_UNKNOWN), u64At(words, at + event.RUN));
		lines.spaces(2);
		lines.byte(this.#state(words[at + event.STATE] as number));
		if (this.#view.next) {
			lines.add(NEXT);
			lines.add(this.#names.plain(words, at + event.OTHER));
		}
		if (this.#view.stacks) {
			lines.spaces(2);
			this.#stacks.add(words, at, lines);
		}
	}

	/** What it waited for quota, up to now. */
	#throttled(words: Uint32Array, at: number, lines: LineBuffer): void {
		lines.spaces(SWITCH_WIDTH);
		lines.add(NO_QUOTA);
		lines.thousandths(Math.floor(u64At(words, at + event.LATENCY) / 1000), 1);
		lines.add(MSEC);
	}

	#sumThrottled(words: Uint32Array, at: number): void {
		const total = this.#totals.of(this.#names.known(words, at + event.TGID));
		total.throttled_ns += u64At(words, at + event.LATENCY);
	}

	#other(words: Uint32Array, at: number, lines: LineBuffer, type: number): void {
		lines.spaces(SWITCH_WIDTH);
		lines.add(type === event.WAKEUP ? AWAKENED : MIGRATED);
		lines.add(this.#names.plain(words, at + event.OTHER));
		if (type === event.WAKEUP) return;
		lines.add(CPU);
		lines.whole(words[at + event.FROM] as number, 1);
		lines.add(ARROW);
		lines.whole(words[at + event.FROM + 1] as number, 1);
	}

	#sum(words: Uint32Array, at: number, cpu: number, flags: number): void {
		const name = this.#names.known(words, at + event.TGID);
		const total = this.#totals.of(name);
		const run_ns = flags & event.RUN_UNKNOWN ? undefined : u64At(words, at + event.RUN);
		total.add(cpu, u64At(words, at + event.WAIT), u64At(words, at + event.LATENCY), run_ns);
		if (this.#state(words[at + event.STATE] as number) === LETTER_X) this.#totals.ends(name.tid);
	}

	#state(mask: number): number {
		let letter = this.#states.get(mask);
		if (letter === undefined) {
			letter = stateLetter(mask).charCodeAt(0);
			this.#states.set(mask, letter);
		}
		return letter;
	}
}

/** In ms, cut off after the microseconds, as perf does; "-" is not known. */
function duration(lines: LineBuffer, known: boolean, time_ns: number): void {
	lines.spaces(2);
	if (known) {
		lines.thousandths(Math.floor(time_ns / 1000), DURATION_WIDTH);
	} else {
		lines.spaces(DURATION_WIDTH - 1);
		lines.byte(DASH);
	}
}

/** Records of `tstrace trace` as lines, in the form of strace, and as rows. */
import { errnoName } from '../../abi/errno.js';
import type { Key } from '../../aggregate/row-key.js';
import { type EventFormatter, epochMs } from '../../bpf/events.js';
import { LineBuffer } from '../../render/line-buffer.js';
import { printable } from '../../render/terminal.js';
import { type CallPlan, type CallPlanner, callOf } from './plans.js';
import * as record from './record.js';
import { ThreadLabels } from './thread-labels.js';
import { type WriteArgument, writeErrno, writerOf } from './writers.js';

const bytesOf = (text: string) => new TextEncoder().encode(text);
/** More than a line takes: every byte of a record may be written as four. */
const LINE_BYTES = 16_384;
const [SPACE, CLOSE, LESS, GREATER, ZERO] = [0x20, 0x29, 0x3c, 0x3e, 0x30];
const SEPARATOR = bytesOf(', ');
const EQUALS = bytesOf(' = ');
const UNKNOWN = bytesOf(' = ?');
const UNFINISHED = bytesOf(' <unfinished ...>');
const BEGAN_BEFORE = bytesOf(' <began before>');
const LOST = bytesOf(' calls are missing here: tstrace did not read them in time\n');
const LOST_ONE = bytesOf(' call is missing here: tstrace did not read it in time\n');
const DASHES = bytesOf('--- ');

interface CallForm {
	readonly plan: CallPlan;
	/** "openat(". */
	readonly begin: Uint8Array;
	readonly writers: readonly WriteArgument[];
}

export interface TraceView {
	readonly lines: boolean;
}

export class TraceFormatter implements EventFormatter {
	readonly timeAt = record.END;
	readonly bytes = record.HEADER_BYTES;
	readonly #view: TraceView;
	readonly #planner: CallPlanner;
	readonly #forms = new Map<number, CallForm>();
	readonly #labels = new ThreadLabels();
	readonly #call = new record.CallRecord();
	/** Of the wall clock against CLOCK_MONOTONIC, with the time zone. */
	#epoch_us = 0;
	#second = -1;
	#clock = bytesOf('00:00:00.');
	readonly #text = new LineBuffer(LINE_BYTES);

	constructor(view: TraceView, planner: CallPlanner) {
		this.#view = view;
		this.#planner = planner;
	}

	prepare(): void {
		const zone_ms = new Date().getTimezoneOffset() * 60_000;
		this.#epoch_us = Math.round((epochMs() - zone_ms) * 1000);
	}

	line(words: Uint32Array, at: number, lines: LineBuffer): void {
		const call = this.#call;
		call.moveTo(words, at);
		if (!this.#view.lines) return;
		lines.room(LINE_BYTES);
		if (call.lost > 0) {
			lines.add(DASHES);
			lines.whole(call.lost, 1);
			lines.add(call.lost === 1 ? LOST_ONE : LOST);
		}
		this.#time(lines, (call.end_ns - call.duration_ns) / 1000);
		lines.byte(SPACE);
		lines.add(this.#labels.of(words, at));
		lines.byte(SPACE);
		this.#written(lines, call);
		lines.newline();
	}

	totals(): readonly Key[] | undefined {
		return undefined;
	}

	readonly row = (view: DataView, epoch_ms: number): Key => {
		const call = this.#call;
		const words = new Uint32Array(view.buffer);
		const at = view.byteOffset / 4;
		call.moveTo(words, at);
		const { plan } = this.#form(call.call);
		const start_ns = call.end_ns - call.duration_ns;
		this.#text.clear();
		this.#arguments(this.#text, call);
		const { tid, tgid, comm } = this.#labels.known(words, at);
		return {
			syscall: plan.name,
			args: printable(Buffer.from(this.#text.bytes()).toString('latin1')),
			...(call.flags & record.UNFINISHED ? {} : { result: resultOf(call) }),
			...(call.errno ? { error: errnoName(call.errno) } : {}),
			...(call.flags & record.BEGAN_BEFORE ? {} : { duration_ns: call.duration_ns }),
			time: new Date(epoch_ms + start_ns / 1e6).toISOString(),
			time_ns: start_ns,
			pid: tgid,
			tid,
			comm,
			...(call.lost ? { lost_before: call.lost } : {}),
		};
	};

	#form(packed: number): CallForm {
		let form = this.#forms.get(packed);
		if (!form) {
			const plan = this.#planner.plan(callOf(packed));
			form = {
				plan,
				begin: bytesOf(`${plan.name}(`),
				writers: plan.arguments.map(({ argument, struct }) => writerOf(argument, struct)),
			};
			this.#forms.set(packed, form);
		}
		return form;
	}

	#written(lines: LineBuffer, call: record.CallRecord): void {
		const form = this.#form(call.call);
		lines.add(form.begin);
		this.#arguments(lines, call);
		lines.byte(CLOSE);
		if (call.flags & record.UNFINISHED) {
			lines.add(call.duration_ns === 0 ? UNKNOWN : UNFINISHED);
			return;
		}
		lines.add(EQUALS);
		const { errno } = call;
		if (errno !== 0) writeErrno(lines, errno);
		else if (form.plan.returnsAddress) lines.hex64(call.resultLow, call.resultHigh);
		else lines.signed64(call.resultLow, call.resultHigh);
		if (call.flags & record.BEGAN_BEFORE) {
			lines.add(BEGAN_BEFORE);
			return;
		}
		lines.byte(SPACE);
		lines.byte(LESS);
		const { duration_ns } = call;
		const second = Math.floor(duration_ns / 1e9);
		lines.whole(second, 1);
		lines.byte(0x2e);
		lines.whole(duration_ns - second * 1e9, 9, ZERO);
		lines.byte(GREATER);
	}

	#arguments(lines: LineBuffer, call: record.CallRecord): void {
		const { writers } = this.#form(call.call);
		for (let i = 0; i < writers.length; i++) {
			if (i > 0) lines.add(SEPARATOR);
			(writers[i] as WriteArgument)(lines, call, i);
		}
	}

	/** The time of day. */
	#time(lines: LineBuffer, time_us: number): void {
		const now_us = Math.floor(time_us) + this.#epoch_us;
		const second = Math.floor(now_us / 1e6);
		if (second !== this.#second) {
			this.#second = second;
			const day = second % 86_400;
			const two = (value: number) => `${Math.floor(value)}`.padStart(2, '0');
			this.#clock = bytesOf(`${two(day / 3600)}:${two((day / 60) % 60)}:${two(day % 60)}.`);
		}
		lines.add(this.#clock);
		lines.whole(now_us - second * 1e6, 6, ZERO);
	}
}

/** Exact as a number where it is one, else as text. */
function resultOf(call: record.CallRecord): number | string {
	if (call.errno) return -1;
	const value = BigInt.asIntN(64, (BigInt(call.resultHigh) << 32n) | BigInt(call.resultLow));
	return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : `${value}`;
}


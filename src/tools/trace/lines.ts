/** Records of `tstrace trace` as lines, in the form of strace. */
import type { EventRow } from '../../aggregate/report.js';
import type { Key } from '../../aggregate/row-key.js';
import type { EventFormatter } from '../../bpf/events.js';
import { ThreadNames } from '../../bpf/thread-names.js';
import type { WallClock } from '../../bpf/wall-clock.js';
import type { LineBuffer } from '../../render/line-buffer.js';
import { printable } from '../../render/terminal.js';
import { writeHexNumber } from './basic-writers.js';
import { CallForms } from './call-forms.js';
import type { CallStacks } from './call-stacks.js';
import type { KnownFiles } from './known-files.js';
import type { CallPlan, CallPlanner } from './plans.js';
import * as record from './record.js';
import { rowOf } from './rows.js';
import { fcntlResult } from './special-writers.js';
import { endLine, Lifetimes, signalLine } from './thread-events.js';
import { CallTotals, type TotalsOrder } from './totals.js';
import { UNTOLD, writeErrno } from './writers.js';

const bytesOf = (text: string) => new TextEncoder().encode(text);
/** More than a line takes: every byte of a record may be written as four, those of three sets of 128 bytes as 4,010 each. */
export const LINE_BYTES = 16_384;
const [SPACE, CLOSE, POINT, GREATER, ZERO] = [0x20, 0x29, 0x2e, 0x3e, 0x30];
const EQUALS = bytesOf(' = ');
const UNKNOWN = bytesOf(' = ?');
const UNFINISHED = bytesOf(' <unfinished ...>');
const DURATION = bytesOf(' <');
const BEGAN_BEFORE = bytesOf(' <began before tracing>');
const PARENT = bytesOf(' parent ');
const LOST = bytesOf(' calls are missing here: tstrace did not read them in time\n');
const LOST_ONE = bytesOf(' call is missing here: tstrace did not read it in time\n');
const DASHES = bytesOf('--- ');

export interface TraceView {
	readonly lines: boolean;
	readonly summary: boolean;
	/** Of the summary. */
	readonly totalsOrder: TotalsOrder;
}

export class TraceFormatter implements EventFormatter {
	readonly timeAt = record.END;
	readonly bytes = record.HEADER_BYTES;
	readonly lifetimes = new Lifetimes();
	readonly #view: TraceView;
	readonly #files: KnownFiles;
	readonly #forms: CallForms;
	readonly #stacks: CallStacks | undefined;
	readonly #names = new ThreadNames();
	readonly #totals = new CallTotals();
	readonly #call = new record.CallRecord();
	/** Of the wall clock against CLOCK_MONOTONIC, with the time zone. */
	#epoch_us = 0;

	constructor(
		view: TraceView,
		planner: CallPlanner,
		files: KnownFiles,
		stacks: CallStacks | undefined,
	) {
		this.#view = view;
		this.#stacks = stacks;
		this.#files = files;
		this.#forms = new CallForms(planner, files);
	}

	prepare(words: Uint32Array, places: Uint32Array, count: number, wall: WallClock): void {
		this.#epoch_us = wall.localEpochUs();
		if (!this.#stacks) return;
		for (let i = 0; i < count; i++) {
			this.#call.moveTo(words, places[i] as number);
			this.#stacks.of(this.#call);
		}
	}

	async settle(): Promise<void> {
		await this.#stacks?.name();
	}

	line(words: Uint32Array, at: number, lines: LineBuffer): void {
		const call = this.#call;
		call.moveTo(words, at);
		if (call.type === record.IS_FILE) {
			this.#files.add(call);
			return;
		}
		if (this.#view.summary && call.type === record.IS_CALL) this.#sum(call);
		if (!this.#view.lines) return;
		lines.room(LINE_BYTES);
		if (call.lost > 0) writeLost(lines, call.lost);
		const begin_ns = call.end_ns - (call.type === record.IS_CALL ? call.duration_ns : 0);
		lines.timeOfDay(Math.floor(begin_ns / 1000) + this.#epoch_us);
		lines.byte(SPACE);
		lines.add(this.#names.plain(words, at + record.TGID, at + record.COMM));
		lines.byte(SPACE);
		if (call.type === record.IS_CALL) this.#written(lines, call);
		else if (call.type === record.IS_EXIT)
			lines.add(bytesOf(endLine(call, this.lifetimes.of_ns(call))));
		else lines.add(bytesOf(signalLine(call)));
		if (call.parent !== 0) writeParent(lines, call);
		lines.newline();
		const stack = this.#stacks?.of(call);
		if (!stack) return;
		lines.room(stack.lines.length);
		lines.add(stack.lines);
	}

	get hasLines(): boolean {
		return this.#view.lines;
	}

	totals(): readonly Key[] | undefined {
		return this.#view.summary ? this.#totals.rows(this.#view.totalsOrder) : undefined;
	}

	/** Undefined: it is about a file, which other rows name. */
	readonly row = (view: DataView, epoch_ms: number): EventRow | undefined => {
		const call = this.#call;
		const words = new Uint32Array(view.buffer);
		const at = view.byteOffset / 4;
		call.moveTo(words, at);
		if (call.type === record.IS_FILE) {
			this.#files.add(call);
			return undefined;
		}
		const name = this.#names.known(words, at + record.TGID, at + record.COMM);
		const row = rowOf(call, this.#forms, this.#files, name, epoch_ms, this.lifetimes);
		const stack = this.#stacks?.of(call);
		return stack ? { ...row, stack } : row;
	};

	#sum(call: record.CallRecord): void {
		const { plan } = this.#forms.of(call.call);
		const isTimed = (call.flags & (record.UNFINISHED | record.BEGAN_BEFORE)) === 0;
		const failed = record.failureOf(call, plan.returns) !== 0;
		this.#totals.add(plan.name, failed, isTimed ? call.duration_ns : undefined);
	}

	#written(lines: LineBuffer, call: record.CallRecord): void {
		const form = this.#forms.of(call.call);
		lines.add(form.begin);
		if (call.argumentCount > 0) form.writeArguments(lines, call);
		lines.byte(CLOSE);
		if (call.flags & record.UNFINISHED) {
			lines.add(
				call.duration_ns === 0 && !(call.flags & record.BEGAN_BEFORE) ? UNKNOWN : UNFINISHED,
			);
			return;
		}
		lines.add(EQUALS);
		writeResult(lines, call, form.plan.returns);
		if (call.resultFile !== 0) lines.add(this.#files.of(call.idAt(call.resultFile)) ?? UNTOLD);
		if (call.flags & record.BEGAN_BEFORE) {
			lines.add(BEGAN_BEFORE);
			return;
		}
		lines.add(DURATION);
		const { duration_ns } = call;
		const second = Math.floor(duration_ns / 1e9);
		lines.whole(second, 1);
		lines.byte(POINT);
		lines.whole(duration_ns - second * 1e9, 9, ZERO);
		lines.byte(GREATER);
	}
}

function writeResult(
	lines: LineBuffer,
	call: record.CallRecord,
	returns: CallPlan['returns'],
): void {
	const { resultLow: low, resultHigh: high } = call;
	const flags = returns === 'fcntl' ? fcntlResult(call) : undefined;
	if (flags) {
		writeHexNumber(lines, low, high);
		lines.add(bytesOf(` (flags ${flags})`));
		return;
	}
	const errno = record.failureOf(call, returns);
	if (errno !== 0) writeErrno(lines, errno);
	else if (returns === 'address') lines.hex64(low, high);
	else if (returns === 'narrow address') lines.hex64(low, 0);
	else if (returns === 'octal') lines.octal(low);
	else lines.signed64(low, high);
}

/** So many calls are not there, and would be here. */
export function writeLost(lines: LineBuffer, lost: number): void {
	lines.add(DASHES);
	lines.whole(lost, 1);
	lines.add(lost === 1 ? LOST_ONE : LOST);
}

function writeParent(lines: LineBuffer, call: record.CallRecord): void {
	const { comm, pid } = call.parentThread();
	lines.add(PARENT);
	lines.add(bytesOf(`${printable(comm)}[${pid}]`));
}

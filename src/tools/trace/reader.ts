/** Reads the records of `tstrace trace`, and in the end what has not returned. */

import type { Lost, RowFindings } from '../../aggregate/report.js';
import { PerfCallHooks } from '../../bpf/calls/call-hooks.js';
import { callAt } from '../../bpf/calls/calls.js';
import { EventBatches } from '../../bpf/events.js';
import { trace as layout } from '../../generated/trace.js';
import { closeAll } from '../../loader/close-all.js';
import { readU64 } from '../../loader/layout.js';
import { possibleCpus, u32Key } from '../../loader/map.js';
import type { BpfObject } from '../../loader/object.js';
import type { Patience, RowSink } from '../../reader.js';
import { LineBuffer } from '../../render/line-buffer.js';
import type { CallStacks } from './call-stacks.js';
import { KnownFiles } from './known-files.js';
import { LINE_BYTES, TraceFormatter, writeLost } from './lines.js';
import type { Settings } from './options.js';
import { encodePlan, namedIndexes } from './plans.js';
import { HEADER_BYTES } from './record.js';

type Layout = typeof layout;

const BYTES_AT = layout.structs.call_record.fields.bytes.offset;
const NO_CALL = { nr: 0x3ffff, abi: 'native' } as const;

export const PROGRAMS = {
	raw: ['trace_exit', 'trace_enter'],
	perf: ['trace_enter_perf', 'trace_exit_perf'],
} as const;
/** The same with stacks, where each program is followed by the one that takes them. */
export const PROGRAMS_WITH_STACKS = {
	raw: ['trace_exit', 'trace_exit_stack', 'trace_enter', 'trace_enter_stack'],
	perf: ['trace_enter_perf', 'trace_enter_stack_perf', 'trace_exit_perf', 'trace_exit_stack_perf'],
} as const;
const PERF_EVENTS = [
	['trace_exit_perf', 'sys_exit'],
	['trace_exit_stack_perf', 'sys_exit'],
	['trace_enter_perf', 'sys_enter'],
	['trace_enter_stack_perf', 'sys_enter'],
] as const;

export class TraceReader extends EventBatches {
	readonly #object: BpfObject<Layout>;
	readonly #hooks = new PerfCallHooks();
	readonly #formatter: TraceFormatter;
	readonly #stacks: CallStacks | undefined;
	readonly #command: number | undefined;
	#rowSink: RowSink | undefined;

	/** Tells the programs what to take of each call's arguments. */
	constructor(
		object: BpfObject<Layout>,
		settings: Settings,
		stacks: CallStacks | undefined,
		command: number | undefined,
	) {
		const { planner } = settings;
		const plans = object.map('call_plans');
		for (const index of settings.calls ?? namedIndexes())
			plans.update(u32Key(index), encodePlan(planner.plan(callAt(index))));
		// Of numbers that are no calls.
		plans.update(u32Key(plans.maxEntries - 1), encodePlan(planner.plan(NO_CALL)));
		const formatter = new TraceFormatter(settings, planner, new KnownFiles(), stacks);
		super(object.map('records'), formatter);
		this.#formatter = formatter;
		this.#object = object;
		this.#stacks = stacks;
		this.#command = command;
	}

	begin(): void {
		this.#stacks?.begin();
		// Before the filter's own program, which takes the thread out of the filter.
		this.#object.attach('trace_thread_ends');
		this.#hooks.attach(this.#object, PERF_EVENTS);
	}

	released(at_ns: number): void {
		if (this.#command !== undefined) this.#formatter.lifetimes.released(this.#command, at_ns);
	}

	/** The last first: with it recording ends at once. */
	end(): void {
		this.#hooks.close();
		this.#stacks?.end();
	}

	override drain(): void {
		this.#stacks?.drain();
		super.drain();
	}

	override lost(): Lost {
		return { ...super.lost(), ...this.#stacks?.lost() };
	}

	override stream(sink: RowSink, fail: (error: unknown) => void): void {
		this.#rowSink = sink;
		super.stream(sink, fail);
	}

	override async read(patience?: Patience): Promise<RowFindings> {
		const findings = await super.read();
		await this.#stacks?.name();
		if (!patience) return findings;
		const notices = this.#stacks?.notices() ?? [];
		const open = this.#openCalls();
		const sink = this.#rowSink;
		if (!sink) {
			const epoch_ms = this.wall.epochMs();
			const rows = [...open.places].map((at) =>
				this.#formatter.row(new DataView(open.words.buffer, at * 4), epoch_ms),
			);
			return {
				...findings,
				notices,
				rows: [...findings.rows, ...rows.filter((row) => row !== undefined)],
			};
		}
		const lines = new LineBuffer(2 * LINE_BYTES);
		for (const at of open.places) {
			this.#formatter.line(open.words, at, lines);
			await sink(lines.bytes());
			lines.clear();
		}
		const lost = this.#lostAtEnd();
		if (lost > 0 && this.#formatter.hasLines) {
			writeLost(lines, lost);
			await sink(lines.bytes());
		}
		const totals = this.#formatter.totals();
		return { ...findings, notices, ...(totals && { totals }) };
	}

	override close(): void {
		closeAll([() => this.#hooks.close(), () => super.close(), () => this.#stacks?.close()]);
	}

	/** Records of calls that have not returned: where each begins, in words. */
	#openCalls(): { words: Uint32Array; places: number[] } {
		const written = this.#object.runIterator('open_calls');
		const bytes = new Uint8Array(written.byteLength);
		bytes.set(new Uint8Array(written.buffer, written.byteOffset, written.byteLength));
		const words = new Uint32Array(bytes.buffer);
		const places: number[] = [];
		for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
			places.push(at / 4);
			at += HEADER_BYTES + (words[(at + BYTES_AT) / 4] as number);
		}
		return { words, places };
	}

	/** What was lost after the last record that had room. */
	#lostAtEnd(): number {
		const values = this.#object.map('records_lost').lookupPerCpu(u32Key(0));
		let lost = 0;
		for (let cpu = 0; values && cpu < possibleCpus(); cpu++) lost += readU64(values, cpu * 8);
		return lost;
	}
}

/** One run of one tool: everything it holds in the kernel and here, from open to close. */
import type { Circumstances } from '../aggregate/report.js';
import { circumstancesOf } from '../kit/circumstances.js';
import type { FilteredLayout } from '../kit/filter.js';
import type { Tool, WithoutBpf } from '../kit/tool.js';
import type { CostMeter } from '../loader/cost.js';
import { wrapped } from '../render/terminal.js';
import type { Command } from './command.js';
import type { CommonSettings } from './options.js';
import { say } from './output.js';
import { Results } from './results.js';
import type { Stop } from './stop.js';
import { BpfTracing, PlainTracing, type Tracing } from './tracing.js';

/**
 * How long run-time statistics are on; then the pauses between, each four times the one before.
 * Switching them patches the running kernel, which stops all CPUs for a moment.
 */
const COST_SAMPLE_MS = 50;
const COST_FIRST_PAUSE_MS = 500;
const COST_PAUSE_GROWTH = 4;
const COST_LAST_PAUSE_MS = 30_000;
const DRAIN_PERIOD_MS = 1000;
/** How often to look whether the processes chosen are still there: one system call. */
const LOOK_PERIOD_MS = 200;
/** How often streamed rows become a JSON object. */
const STREAM_PERIOD_S = 1;

export interface Run {
	readonly interval_s: number | undefined;
	readonly count: number | undefined;
	readonly common: CommonSettings;
	readonly command: Command | undefined;
	/** tstrace's own arguments, with COMMAND's. */
	readonly args: readonly string[];
	/** Whether BPF is allowed. */
	readonly privileged: boolean;
}

interface Closable {
	close?(): void;
}

export class Session<L extends FilteredLayout, S> {
	readonly #tool: Tool<L, S>;
	readonly #run: Run;
	readonly #results: Results;
	readonly #tracing: Tracing;
	readonly #resources: Closable[] = [];
	readonly #timers = new Set<NodeJS.Timeout>();
	#since = { date: new Date(), ns: 0n };
	readonly #begun_ns: bigint;
	readonly #circumstances: Circumstances;

	/** Begins to trace; when it returns, events are being counted. */
	constructor(tool: Tool<L, S>, settings: S, run: Run, withoutBpf?: WithoutBpf<S>) {
		this.#tool = tool;
		this.#run = run;
		const { common, command } = run;
		this.#circumstances = circumstancesOf(common.filter, run.args);
		const subjects = { filter: common.filter, command: command?.pid };
		try {
			this.#results = this.#held(new Results(common, tool.text(settings)));
			if (withoutBpf) {
				this.#note('without BPF: events are read one by one');
				const reader = withoutBpf.reader(settings, subjects, run.privileged);
				this.#tracing = this.#held(new PlainTracing(reader, subjects));
			} else {
				const options = { verbose: common.verbose, note: (text: string) => this.#note(text) };
				this.#tracing = this.#held(new BpfTracing(tool, settings, subjects, options));
			}
			this.#results.begin();
			this.#begun_ns = process.hrtime.bigint();
			this.#since = { date: new Date(), ns: this.#begun_ns };
			if (!common.quiet) say(wrapped(this.#banner(tool.subject(settings)), '  '));
		} catch (error) {
			this.close();
			throw error;
		}
	}

	/** Traces until it is time to stop, and prints what was found. */
	async trace(stop: Stop): Promise<void> {
		const { interval_s, count, command, common } = this.#run;
		this.#startTimers(stop);
		command?.release();
		void command?.ended.then(() => stop.request());
		const streams = this.#tracing.reader.stream !== undefined && common.format === 'json';
		// Of events there is an object for each second, however long it takes in all.
		const objects =
			streams && interval_s && this.#tool.kind === 'events'
				? Math.ceil(interval_s / STREAM_PERIOD_S)
				: 1;
		const period_s = interval_s ? interval_s / objects : streams ? STREAM_PERIOD_S : undefined;
		const most = interval_s && count ? count * objects : undefined;
		for (let done = 1; ; done++) {
			await stop.wait(period_s);
			const last = stop.requested || done === most;
			// Before it is detached, which takes longer than a wait or two.
			const until = { date: new Date(), ns: process.hrtime.bigint() };
			if (last) this.#detach();
			await this.#report(until);
			// The last rows may have been handed over only now.
			stop.check();
			if (last) break;
		}
		const duration_ns = Number(process.hrtime.bigint() - this.#begun_ns);
		this.#results.total(this.#tracing.cost?.estimate(duration_ns));
	}

	/** Releases everything, last first, on whatever way the run ended. */
	close(): void {
		for (const timer of this.#timers) clearInterval(timer);
		for (const resource of this.#resources.reverse()) resource.close?.();
		this.#resources.length = 0;
	}

	/** Ends the tracing; what was counted can still be read, and no more comes. */
	#detach(): void {
		for (const timer of this.#timers) clearInterval(timer);
		this.#tracing.detach();
	}

	/** From now on `close` releases it. */
	#held<T extends Closable>(resource: T): T {
		this.#resources.push(resource);
		return resource;
	}

	#startTimers(stop: Stop): void {
		const { reader, canEnd, cost } = this.#tracing;
		if (reader.stream && this.#results.streams) {
			reader.stream((rows) => stop.guard(() => this.#results.rows(rows))());
		} else if (reader.drain) {
			this.#every(
				DRAIN_PERIOD_MS,
				stop.guard(() => reader.drain?.()),
			);
		}
		if (canEnd) {
			const look = () => {
				if (this.#tracing.allEnded()) stop.request();
			};
			this.#every(LOOK_PERIOD_MS, stop.guard(look));
		}
		if (cost) this.#sampleCost(stop, cost, COST_FIRST_PAUSE_MS);
	}

	#sampleCost(stop: Stop, cost: CostMeter, pause_ms: number): void {
		cost.begin();
		const next_ms = Math.min(COST_PAUSE_GROWTH * pause_ms, COST_LAST_PAUSE_MS);
		const again = stop.guard(() => this.#sampleCost(stop, cost, next_ms));
		const end = stop.guard(() => {
			cost.end();
			this.#after(pause_ms, again);
		});
		this.#after(COST_SAMPLE_MS, end);
	}

	async #report(until: { date: Date; ns: bigint }): Promise<void> {
		const { date, ns } = this.#since;
		this.#since = until;
		const findings = await this.#tracing.reader.read();
		const duration_ns = Number(until.ns - ns);
		await this.#results.report({
			tool: this.#tool.name,
			circumstances: this.#circumstances,
			start: date,
			duration_ns,
			findings,
			lost: this.#tracing.lost(),
			cost: this.#tracing.cost?.estimate(duration_ns),
		});
	}

	#banner(subject: string): string {
		const { filter } = this.#run.common;
		const whose = [
			...filter.pids.map((pid) => `process ${pid}`),
			...filter.tids.map((tid) => `thread ${tid}`),
		];
		const of = whose.length === 0 ? '' : ` of ${whose.join(', ')}`;
		const { command, count, interval_s } = this.#run;
		const ends = command !== undefined || (count !== undefined && interval_s !== undefined);
		const end = ends ? '' : ' Hit Ctrl-C to end.';
		return `Tracing ${subject}${of}...${end}`;
	}

	#note(text: string): void {
		if (this.#run.common.verbose) say(`${this.#tool.name}: ${text}`);
	}

	#after(pause_ms: number, action: () => Promise<void>): void {
		const timer = setTimeout(() => {
			this.#timers.delete(timer);
			void action();
		}, pause_ms);
		timer.unref();
		this.#timers.add(timer);
	}

	#every(period_ms: number, action: () => Promise<void>): void {
		const timer = setInterval(() => void action(), period_ms);
		timer.unref();
		this.#timers.add(timer);
	}
}

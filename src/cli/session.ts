/** One run of one tool: everything it holds in the kernel and here, from open to close. */
import { fileURLToPath } from 'node:url';
import { type FilteredLayout, FilterSets } from '../kit/filter.js';
import { Losses } from '../kit/losses.js';
import type { Plan, Reader, Tool } from '../kit/tool.js';
import { CostMeter } from '../loader/cost.js';
import { BpfObject } from '../loader/object.js';
import type { Command } from './command.js';
import type { CommonSettings } from './options.js';
import { say } from './output.js';
import { Results } from './results.js';
import type { Stop } from './stop.js';

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
}

interface Closable {
	close?(): void;
}

export class Session<L extends FilteredLayout, S> {
	readonly #tool: Tool<L, S>;
	readonly #run: Run;
	readonly #results: Results;
	readonly #object: BpfObject<L>;
	readonly #filter: FilterSets;
	readonly #reader: Reader;
	readonly #cost: CostMeter;
	readonly #losses: Losses;
	readonly #resources: Closable[] = [];
	readonly #timers = new Set<NodeJS.Timeout>();
	#since = { date: new Date(), ns: 0n };
	readonly #begun_ns: bigint;

	/** Loads and attaches everything; when it returns, events are being counted. */
	constructor(tool: Tool<L, S>, settings: S, run: Run) {
		this.#tool = tool;
		this.#run = run;
		const { common, command } = run;
		try {
			this.#results = this.#held(new Results(common, tool.text(settings)));
			const path = objectPath(tool.layout.name);
			const options = { verbose: common.verbose };
			this.#object = this.#held(new BpfObject(path, tool.layout, options));
			this.#filter = new FilterSets(this.#object, common.filter, command?.pid);
			const filterPrograms = this.#filter.configure();
			const plan = tool.plan(this.#object, settings);
			const attach = [...filterPrograms, ...plan.attach];
			this.#load(attach, plan);
			this.#filter.fill();
			this.#reader = this.#held(tool.reader(this.#object, settings));
			for (const name of attach) this.#object.attach(name);
			for (const name of plan.runOnce ?? []) this.#object.runIterator(name);
			this.#filter.dropEnded();
			const programs = attach.map((name) => this.#object.program(name));
			this.#cost = this.#held(new CostMeter(programs));
			this.#losses = new Losses(this.#object, () => this.#cost.missed());
			this.#results.begin();
			this.#begun_ns = process.hrtime.bigint();
			this.#since = { date: new Date(), ns: this.#begun_ns };
			if (!common.quiet) say(this.#banner(tool.subject(settings)));
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
		const streams = this.#reader.stream !== undefined && common.format === 'json';
		const period_s = interval_s ?? (streams ? STREAM_PERIOD_S : undefined);
		for (let done = 1; ; done++) {
			await stop.wait(period_s);
			const last = stop.requested || done === count;
			if (last) this.#detach();
			await this.#report();
			if (last) break;
		}
		const duration_ns = Number(process.hrtime.bigint() - this.#begun_ns);
		this.#results.total(this.#cost.estimate(duration_ns));
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
		this.#cost.end();
		this.#object.detach();
		this.#object.waitForPrograms();
	}

	/** From now on `close` releases it. */
	#held<T extends Closable>(resource: T): T {
		this.#resources.push(resource);
		return resource;
	}

	#load(attach: readonly string[], plan: Plan<L>): void {
		const once = plan.runOnce ?? [];
		this.#note(plan.because);
		this.#object.load([...attach, ...once], plan.withoutMaps);
		this.#note(`loaded ${[...once, ...attach].join(', ')}`);
	}

	#startTimers(stop: Stop): void {
		const reader = this.#reader;
		if (reader.stream && this.#results.streams) {
			reader.stream((rows) => stop.guard(() => this.#results.rows(rows))());
		} else if (reader.drain) {
			this.#every(
				DRAIN_PERIOD_MS,
				stop.guard(() => reader.drain?.()),
			);
		}
		if (this.#filter.canEnd) {
			const look = () => {
				if (this.#filter.allEnded()) stop.request();
			};
			this.#every(LOOK_PERIOD_MS, stop.guard(look));
		}
		this.#sampleCost(stop, COST_FIRST_PAUSE_MS);
	}

	#sampleCost(stop: Stop, pause_ms: number): void {
		this.#cost.begin();
		const next_ms = Math.min(COST_PAUSE_GROWTH * pause_ms, COST_LAST_PAUSE_MS);
		const again = stop.guard(() => this.#sampleCost(stop, next_ms));
		const end = stop.guard(() => {
			this.#cost.end();
			this.#after(pause_ms, again);
		});
		this.#after(COST_SAMPLE_MS, end);
	}

	async #report(): Promise<void> {
		const { date, ns } = this.#since;
		const now = { date: new Date(), ns: process.hrtime.bigint() };
		this.#since = now;
		const findings = await this.#reader.read();
		const duration_ns = Number(now.ns - ns);
		await this.#results.report({
			tool: this.#tool.name,
			start: date,
			duration_ns,
			findings,
			lost: { ...this.#losses.read(), ...this.#reader.lost?.() },
			cost: this.#cost.estimate(duration_ns),
		});
	}

	#banner(subject: string): string {
		const { filter } = this.#run.common;
		const whose = [
			...filter.pids.map((pid) => `process ${pid}`),
			...filter.tids.map((tid) => `thread ${tid}`),
		];
		const of = whose.length === 0 ? '' : ` of ${whose.join(', ')}`;
		const end = this.#run.command || this.#run.count ? '' : ' Hit Ctrl-C to end.';
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

/** dist/bpf/ARCH/NAME.bpf.o beside the bundle; TSTRACE_BPF_DIR names another folder, for tests. */
function objectPath(name: string): string {
	const folder =
		process.env.TSTRACE_BPF_DIR ?? fileURLToPath(new URL(`bpf/${process.arch}`, import.meta.url));
	return `${folder}/${name}.bpf.o`;
}

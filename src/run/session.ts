/** One run of one tool: everything it holds in the kernel and here, from open to close. */
import type { Circumstances, Findings } from '../aggregate/report.js';
import type { FilteredLayout } from '../bpf/filter.js';
import { closeAll, closedAfter } from '../loader/close-all.js';
import type { Cost } from '../loader/cost.js';
import type { Patience } from '../reader.js';
import { printable, wrapped } from '../render/terminal.js';
import type { Tool } from '../tool.js';
import { circumstancesOf } from './circumstances.js';
import type { CommonSettings } from './common-options.js';
import { filterWords, unmatchedComms } from './filter-words.js';
import { forgottenPid } from './forgotten-pid.js';
import type { Command } from './held-command.js';
import { say } from './output.js';
import { Overhead, unmeasuredCost } from './overhead.js';
import { ProgressLine } from './progress-line.js';
import { Results } from './results.js';
import type { Rounds } from './rounds.js';
import type { Stop } from './stop.js';
import { type Moment, momentNow, type Tracing, type Way } from './tracing.js';

const DRAIN_PERIOD_MS = 1000;
/** How often to look whether the processes chosen are still there: one system call. */
const LOOK_PERIOD_MS = 200;
/** How often to look whether rows were lost while they stream. */
const LOSS_PERIOD_MS = 1000;
/** How often streamed rows become a JSON object. */
const STREAM_PERIOD_S = 1;

interface Run<F> {
	readonly interval_s: number | undefined;
	readonly count: number | undefined;
	readonly common: CommonSettings;
	readonly command: Command | undefined;
	/** tstrace's own arguments, with COMMAND's. */
	readonly args: readonly string[];
	/** Those of COMMAND: this is one of them. */
	readonly rounds: Rounds<F>;
}

interface Closable {
	close?(): void;
}

export class Session<L extends FilteredLayout, S, F extends Findings> {
	readonly #tool: Tool<L, S, F>;
	readonly #run: Run<F>;
	readonly #results: Results<F>;
	readonly #tracing: Tracing<F>;
	readonly #resources: Closable[] = [];
	readonly #timers = new Set<NodeJS.Timeout>();
	#overhead: Overhead | undefined;
	/** What the cost leaves out where there are no run-time statistics: see Overseen. */
	readonly #unseen: string;
	#since: Moment;
	readonly #circumstances: Circumstances;

	/** Begins to trace; when it returns, events are being counted. */
	constructor(tool: Tool<L, S, F>, settings: S, run: Run<F>, way: Way<S, F>) {
		this.#tool = tool;
		this.#run = run;
		const { common, command } = run;
		this.#unseen = way.unseen;
		this.#circumstances = circumstancesOf(common.filter, run.args, tool.filters?.(settings));
		const subjects = {
			filter: common.filter,
			command: command?.pid,
			words: command?.words ?? [],
		};
		try {
			this.#results = this.#held(new Results(common, tool.text(settings), tool.stackTool));
			const options = {
				verbose: common.verbose,
				unmeasured: unmeasuredCost(common),
				note: (text: string) => this.#note(text),
			};
			this.#tracing = this.#held(way.begin(settings, subjects, options));
			this.#results.begin();
			this.#since = this.#tracing.since;
			if (run.rounds.isFirst) {
				this.#tell(this.#banner(tool.subject(settings, subjects)));
				this.#tellForgotten();
			}
		} catch (error) {
			throw closedAfter(error, [() => this.close()]);
		}
	}

	/** Traces until it is time to stop, and prints what was found. */
	async trace(stop: Stop): Promise<void> {
		const { interval_s, count, command, common, rounds } = this.#run;
		this.#startTimers(stop);
		stop.onSignal(() => this.#results.giveUp());
		// A signal that came during start-up is heard only now; COMMAND then never begins.
		await stop.heard();
		if (!stop.requested) this.#release();
		void command?.ended.then(() => stop.request());
		const streams = this.#tracing.reader.stream !== undefined && common.format === 'json';
		// Of events there is an object for each second, however long it takes in all.
		const objects = streams && interval_s ? Math.ceil(interval_s / STREAM_PERIOD_S) : 1;
		const period_s = interval_s ? interval_s / objects : streams ? STREAM_PERIOD_S : undefined;
		const most = interval_s && count ? count * objects : undefined;
		const first = rounds.begin(this.#since);
		this.#since = first;
		for (let done = 1; ; done++) {
			await stop.wait(period_s);
			const last = stop.requested || done === most;
			await this.#endInterval(last, stop);
			if (last) break;
		}
		// What failed meanwhile ended the run; its error comes after its result.
		stop.check();
		if (rounds.isOver) this.#results.total(this.#cost(first, this.#since));
	}

	/** Lets COMMAND begin; what is measured of it begins now. */
	#release(): void {
		if (!this.#run.command) return;
		const released_ns = Number(process.hrtime.bigint());
		this.#run.command.release();
		this.#since = momentNow();
		this.#tracing.reader.released?.(released_ns);
	}

	async #endInterval(last: boolean, stop: Stop): Promise<void> {
		// Before it is detached, which takes longer than a wait or two.
		const until = momentNow();
		try {
			if (last) this.#detach();
			await this.#report(until, last ? stop : undefined);
		} catch (error) {
			// What failed before is the cause, or nearer to it.
			stop.check();
			throw error;
		}
	}

	/** Releases everything, last first, on whatever way the run ended. */
	close(): void {
		this.#stopTimers();
		const resources = this.#resources.splice(0).reverse();
		closeAll(resources.map((resource) => () => resource.close?.()));
	}

	/** Ends the tracing; what was counted can still be read, and no more comes. */
	#detach(): void {
		this.#stopTimers();
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
			reader.stream(
				(rows) => stop.guard(() => this.#results.rows(rows))(),
				(error) => stop.fail(error),
			);
			this.#every(
				LOSS_PERIOD_MS,
				stop.guard(() => this.#results.lostMeanwhile(this.#tracing.lost())),
			);
		} else if (reader.drain) {
			this.#every(
				reader.drainPeriod_ms ?? DRAIN_PERIOD_MS,
				stop.guard(() => reader.drain?.()),
			);
		}
		if (canEnd) {
			const look = () => {
				if (stop.requested || !this.#tracing.allEnded()) return;
				// Those of -p and -t: it is a surprise, long before the interval's end.
				this.#tell('all chosen processes and threads have ended: tracing ends');
				stop.request('nobody_left');
			};
			this.#every(LOOK_PERIOD_MS, stop.guard(look));
		}
		const overseen = { cost, slowDown: () => reader.slowDown?.(), unseen: this.#unseen };
		const limit_pct = this.#run.common.maxOverhead_pct;
		this.#overhead = new Overhead(overseen, limit_pct, stop, (text) => this.#tell(text));
		this.#overhead.begin();
	}

	#stopTimers(): void {
		for (const timer of this.#timers) clearInterval(timer);
		this.#overhead?.close();
	}

	/** Once tracing has ended. */
	#patience(stop: Stop): Patience {
		const line = this.#run.common.quiet ? undefined : new ProgressLine();
		return {
			tell: (what, progress) => line?.show(printable(what), printable(progress ?? '')),
			during: async (action) => {
				try {
					return await stop.interruptible(action);
				} finally {
					line?.clear();
				}
			},
		};
	}

	/** `stop`: it is the last one of this session. */
	async #report(until: Moment, stop: Stop | undefined): Promise<void> {
		const since = this.#since;
		this.#since = until;
		const read = await this.#tracing.reader.read(stop && this.#patience(stop));
		const findings = stop ? this.#ofAllRounds(read, stop) : read;
		if (findings === undefined) return;
		const report = {
			tool: this.#tool.name,
			circumstances: this.#circumstances,
			start: since.date,
			duration_ns: Number(until.ns - since.ns),
			findings,
			lost: this.#tracing.lost(),
			cost: this.#cost(since, until),
			...(stop?.reason ? { ended: stop.reason } : {}),
		};
		await this.#results.report(report, stop !== undefined);
		if (stop) this.#tellUnmatched(findings);
	}

	/** Undefined: further rounds are to come. */
	#ofAllRounds(found: F, stop: Stop): F | undefined {
		const cut = stop.signal !== undefined || stop.reason !== undefined;
		return this.#run.rounds.take(found, cut);
	}

	#tellForgotten(): void {
		const { command, interval_s, args } = this.#run;
		const hint = command ? undefined : forgottenPid(interval_s, args);
		if (hint !== undefined) this.#tell(printable(hint));
	}

	/** A name that no thread has is a misspelt one, and its result no good news. */
	#tellUnmatched(findings: Findings): void {
		const nothingFound = findings.kind === 'stacks' && findings.stacks.length === 0;
		const unseen = this.#tracing.unseenComms(nothingFound);
		for (const line of unmatchedComms(unseen, this.#run.common.filter)) this.#tell(printable(line));
	}

	#cost(from: Moment, to: Moment): Cost {
		return this.#tracing.cost.estimate(Number(to.ns - from.ns), to.own_ns - from.own_ns);
	}

	#banner(subject: string): string {
		const of = printable(filterWords(this.#circumstances.filters));
		const { command, count, interval_s } = this.#run;
		const ends = command !== undefined || (count !== undefined && interval_s !== undefined);
		const end = ends ? '' : ' Hit Ctrl-C to end.';
		return `Tracing ${subject}${of}...${end}`;
	}

	/** Besides the result: not with -q. */
	#tell(text: string): void {
		if (!this.#run.common.quiet) say(wrapped(text, '  '));
	}

	#note(text: string): void {
		if (this.#run.common.verbose) say(printable(`${this.#tool.name}: ${text}`));
	}

	#every(period_ms: number, action: () => Promise<void>): void {
		const timer = setInterval(() => void action(), period_ms);
		timer.unref();
		this.#timers.add(timer);
	}
}

/** Reads counters at both ends of an interval. */
import type { Lost } from '../../aggregate/report.js';
import { TstraceError } from '../../errors.js';
import { type CpuTimes, childTimes } from '../../loader/child-times.js';
import { closedAfter } from '../../loader/close-all.js';
import { type Count, countSince } from '../../perf/count.js';
import { Counters } from '../../perf/counters.js';
import type { CountedEvent } from '../../perf/event-list.js';
import { busyShare, type CpuTime, cpuTime, cpuTimeSince } from '../../proc/cpu-time.js';
import { processLives } from '../../proc/lives.js';
import type { Reader } from '../../reader.js';
import { textOf } from '../../text-of.js';
import type { StatFindings } from './findings.js';
import { type Counting, rowsOf } from './rows.js';
import type { OpenTarget } from './target.js';
import { noneOnline, thisMachine, tooManyFiles, whyNot } from './why-not.js';

interface Reading {
	readonly at_ns: bigint;
	readonly counts: readonly Count[];
	readonly cpuTime: CpuTime | undefined;
}

export class CountReader implements Reader<StatFindings> {
	readonly #events: readonly CountedEvent[];
	readonly #target: OpenTarget;
	readonly #counters: Counters;
	readonly #refusals: readonly Counting['refusal'][];
	/** When it began. */
	#first_ns = 0n;
	#before: Reading;
	#last: Reading | undefined;
	#uncounted: number;
	readonly #childTimes = childTimes();
	/** CPU time of the shell that held COMMAND. */
	#heldTime_s = 0;

	/** Opens the counters; throws TstraceError where none of the events can be counted. */
	constructor(events: readonly CountedEvent[], target: OpenTarget) {
		this.#events = events;
		this.#target = target;
		try {
			this.#counters = new Counters(events, target.counted);
		} catch (error) {
			throw closedAfter(tooManyFiles(error, events.length, target.counted), [() => target.close()]);
		}
		try {
			this.#refusals = this.#refused();
			this.#uncounted = this.#counters.unsettled;
			this.#before = this.#read();
		} catch (error) {
			throw closedAfter(error, [() => this.close()]);
		}
	}

	begin(): void {
		this.#counters.enable();
		this.#startOver(process.hrtime.bigint());
	}

	released(at_ns: number): void {
		this.#heldTime_s = runTime_s(this.#target.command);
		this.#startOver(BigInt(at_ns));
	}

	drain(): void {
		this.#counters.refresh();
	}

	end(): void {
		this.#last = this.#read();
	}

	async read(): Promise<StatFindings> {
		const now = this.#last ?? this.#read();
		const before = this.#before;
		this.#before = now;
		const elapsed_s = Number(now.at_ns - before.at_ns) / 1e9;
		const busy_share =
			now.cpuTime && before.cpuTime && busyShare(cpuTimeSince(before.cpuTime, now.cpuTime));
		// Of a COMMAND that still runs, nobody knows it yet.
		const hasEnded = this.#target.command !== undefined && !processLives(this.#target.command);
		const counted = this.#events.map((event, i) => ({
			event,
			count: countSince(now.counts[i] as Count, before.counts[i] as Count),
			refusal: this.#refusals[i],
			userOnly: this.#counters.isUserOnly(event),
		}));
		return {
			kind: 'table',
			about: {
				elapsed_s,
				until_s: Number(now.at_ns - this.#first_ns) / 1e9,
				remarks: [],
				...(busy_share === undefined
					? {}
					: this.#target.wholeMachine
						? { busy_share }
						: { machine_busy_share: busy_share }),
				...(hasEnded ? timesSince(this.#childTimes, this.#heldTime_s) : {}),
			},
			rows: rowsOf(counted, elapsed_s),
		};
	}

	lost(): Lost {
		const uncounted = this.#uncounted;
		this.#uncounted = 0;
		return uncounted > 0 ? { threads_uncounted: uncounted } : {};
	}

	close(): void {
		this.#counters.close();
		this.#target.close();
	}

	/** Of each event. Throws TstraceError where none can be counted. */
	#refused(): Counting['refusal'][] {
		const machine = thisMachine();
		const all = this.#events.map((event) => {
			const refusal = this.#counters.refusal(event);
			if (refusal) return { errno: refusal.errno, why: whyNot(event, refusal, machine) };
			const isOffline = event.onCpus && this.#counters.size > 0 && !this.#counters.isOpen(event);
			return isOffline ? { errno: 'ENODEV', why: noneOnline(event) } : undefined;
		});
		const [first] = all;
		if (this.#counters.size > 0 && first && !all.includes(undefined)) {
			const names = this.#events.map(({ text }) => text).join(', ');
			throw new TstraceError(`cannot count ${names}: ${first.why}`, first.errno);
		}
		// A COMMAND that is ended while it is held, by Ctrl-C, has counted nothing; the run ends as of every tool.
		if (this.#counters.size > 0 || this.#target.command !== undefined) return all;
		throw new TstraceError(`nothing to count: ${this.#target.words} has ended`);
	}

	#startOver(at_ns: bigint): void {
		this.#first_ns = at_ns;
		this.#before = { ...this.#before, at_ns: this.#first_ns };
	}

	#read(): Reading {
		const at_ns = process.hrtime.bigint();
		return { at_ns, counts: this.#counters.read(), cpuTime: cpuTime() };
	}
}

/** Without what COMMAND's shell used; none while nobody has waited for COMMAND yet. */
function timesSince(before: CpuTimes, held_s: number): CpuTimes | Record<string, never> {
	const now = childTimes();
	const [user_s, system_s] = [now.user_s - before.user_s, now.system_s - before.system_s];
	const all_s = user_s + system_s;
	if (all_s === 0) return {};
	// Which part of it was in the kernel nobody knows: as of all.
	const share = Math.max(0, all_s - held_s) / all_s;
	return { user_s: user_s * share, system_s: system_s * share };
}

/** What a thread has run so far; 0 where the kernel does not say. Documentation/scheduler/sched-stats.rst */
function runTime_s(tid: number | undefined): number {
	const text = tid === undefined ? undefined : textOf(`/proc/${tid}/schedstat`);
	return Number(text?.split(' ')[0] ?? 0) / 1e9;
}

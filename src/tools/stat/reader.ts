/** Reads counters at both ends of an interval. */
import type { Lost } from '../../aggregate/report.js';
import { type Count, countSince } from '../../perf/count.js';
import { Counters } from '../../perf/counters.js';
import type { CountedEvent } from '../../perf/event-list.js';
import type { Reader } from '../../reader.js';
import { type Busy, busySince, readBusy } from './busy.js';
import type { StatFindings } from './findings.js';
import { rowsOf } from './rows.js';
import type { OpenTarget } from './target.js';

interface Reading {
	readonly at_ns: bigint;
	readonly counts: readonly Count[];
	readonly busy: Busy | undefined;
}

export class CountReader implements Reader<StatFindings> {
	readonly #events: readonly CountedEvent[];
	readonly #target: OpenTarget;
	readonly #counters: Counters;
	#first: Reading;
	#before: Reading;
	#last: Reading | undefined;
	#unsettled: number;

	/** Throws TstraceError where nothing can be counted. */
	constructor(events: readonly CountedEvent[], target: OpenTarget) {
		this.#events = events;
		this.#target = target;
		try {
			this.#counters = new Counters(events, target.counted);
		} catch (error) {
			target.close();
			throw error;
		}
		this.#unsettled = this.#counters.unsettled;
		this.#first = this.#read();
		this.#before = this.#first;
	}

	begin(): void {
		this.#counters.enable();
		this.#startOver();
	}

	released(): void {
		this.#startOver();
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
		const busy_share = busySince(now.busy, before.busy);
		const elapsed_s = Number(now.at_ns - before.at_ns) / 1e9;
		const rows = rowsOf({
			counted: this.#events.map((event, i) => ({
				event,
				count: countSince(now.counts[i] as Count, before.counts[i] as Count),
				refusal: this.#counters.refusal(event),
				userOnly: this.#counters.isUserOnly(event),
			})),
			elapsed_s,
		});
		const until_s = Number(now.at_ns - this.#first.at_ns) / 1e9;
		const about = { elapsed_s, until_s, ...(busy_share === undefined ? {} : { busy_share }) };
		return { kind: 'table', about: { ...about, remarks: [] }, rows };
	}

	lost(): Lost {
		const unsettled = this.#unsettled;
		this.#unsettled = 0;
		return unsettled > 0 ? { threads_uncounted: unsettled } : {};
	}

	close(): void {
		this.#counters.close();
		this.#target.close();
	}

	#startOver(): void {
		this.#first = { ...this.#first, at_ns: process.hrtime.bigint() };
		this.#before = this.#first;
	}

	#read(): Reading {
		const at_ns = process.hrtime.bigint();
		const busy = this.#target.wholeMachine ? readBusy() : undefined;
		return { at_ns, counts: this.#counters.read(), busy };
	}
}

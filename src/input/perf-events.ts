/** Stacks of `perf script` text by event: counts of different events cannot be added up. */
import type { FrameTable } from '../aggregate/frame-table.js';
import { withoutModifiers } from '../aggregate/sampled-event.js';
import type { Origin, StackProfile } from '../aggregate/stack-profile.js';
import { StackTable } from '../aggregate/stack-table.js';
import { TstraceError } from '../errors.js';
import type { SampleHeader } from './perf-header.js';

/** perf record -e 'syscalls:*' are about 700. */
const MAX_EVENTS = 1 << 12;

interface EventStacks {
	readonly stacks: StackTable;
	samples: number;
	/** Some sample says how many it stands for. */
	counted: boolean;
}

export class PerfEvents {
	readonly #events = new Map<string | undefined, EventStacks>();

	/** Adds a sample at the first `length` of these frames. One without a period counts 1, as does one of 0. */
	add({ event, period }: SampleHeader, path: Int32Array, length: number): void {
		let own = this.#events.get(event);
		if (!own) {
			if (this.#events.size === MAX_EVENTS) {
				throw new TstraceError(
					`it has more than ${MAX_EVENTS} names of events; check that it is perf script text`,
				);
			}
			own = { stacks: new StackTable(), samples: 0, counted: false };
			this.#events.set(event, own);
		}
		own.samples++;
		own.counted ||= period !== undefined;
		own.stacks.add(path, length, period || 1);
	}

	/** One for each event, in the order they were met. */
	profiles(frames: FrameTable, origin: Origin): StackProfile[] {
		return Array.from(this.#events, ([event, { stacks, samples, counted }]) => ({
			frames,
			stacks,
			origin: {
				...origin,
				...(event === undefined ? {} : { event }),
				...unitOf(event, counted),
			},
			marked: false,
			samples,
		}));
	}
}

/** Of a sample's period. The clocks count ns (perf_event_open(2), PERF_COUNT_SW_CPU_CLOCK), others what they are named for. */
function unitOf(event: string | undefined, counted: boolean): Pick<Origin, 'unit'> {
	if (!counted) return { unit: 'samples' };
	if (event === undefined) return {};
	const name = withoutModifiers(event);
	return { unit: name === 'cpu-clock' || name === 'task-clock' ? 'ns' : name };
}

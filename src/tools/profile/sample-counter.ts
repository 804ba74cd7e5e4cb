/** Adds up samples that are read one by one, where BPF may not do it in the kernel. */
import type { Lost } from '../../aggregate/report.js';
import type { CapturedStack } from '../../aggregate/stack.js';
import type { SampleRecord, SidebandRecord } from '../../perf/records.js';
import { textOf } from '../../text-of.js';

/** Different stacks kept; each takes a kilobyte or so. */
interface CounterOptions {
	readonly maxStacks: number;
	readonly byThread: boolean;
	readonly kernel: boolean;
	readonly user: boolean;
	/** Whether a sample counts. */
	readonly wanted: (sample: SampleRecord, comm: string) => boolean;
}

export class SampleCounter {
	readonly #options: CounterOptions;
	/** The first sample of each stack, and how many there were. */
	readonly #stacks = new Map<string, { readonly first: CapturedStack; samples: number }>();
	readonly #comms = new Map<number, string>();
	#full = 0;

	constructor(options: CounterOptions) {
		this.#options = options;
	}

	add(sample: SampleRecord): void {
		const { byThread, maxStacks, wanted } = this.#options;
		const comm = this.#commOf(sample);
		if (!wanted(sample, comm)) return;
		const kernel = this.#options.kernel ? sample.kernel : [];
		const user = this.#options.user ? sample.user : [];
		const tid = byThread ? sample.tid : 0;
		const key = `${sample.pid} ${tid} ${comm} ${kernel.join()};${user.join()}`;
		const known = this.#stacks.get(key);
		if (known) {
			known.samples++;
			return;
		}
		if (this.#stacks.size >= maxStacks) {
			this.#full++;
			return;
		}
		const { pid, time_ns: at_ns } = sample;
		const counts = { parts: [1], count: 1, variance: 0, lost: false };
		const first = { pid, tid, comm, at_ns, kernel, user, ...counts };
		this.#stacks.set(key, { first, samples: 1 });
	}

	/** Threads' names as they change. */
	follow(record: SidebandRecord): void {
		if (record.type === 'comm') this.#comms.set(record.tid, record.comm);
		// A new thread has the name of the one that made it, or soon another.
		if (record.type === 'fork') this.#comms.delete(record.tid);
	}

	/** All so far. */
	stacks(): CapturedStack[] {
		return Array.from(this.#stacks.values(), ({ first, samples }) => {
			return { ...first, parts: [samples], count: samples };
		});
	}

	lost(): Lost {
		const full = this.#full;
		this.#full = 0;
		return full > 0 ? { samples_without_room: full } : {};
	}

	#commOf({ pid, tid }: SampleRecord): string {
		let comm = this.#comms.get(tid);
		if (comm === undefined) {
			// The thread may have ended already.
			comm = textOf(`/proc/${pid}/task/${tid}/comm`)?.replace(/\n$/, '') ?? '?';
			this.#comms.set(tid, comm);
		}
		return comm;
	}
}

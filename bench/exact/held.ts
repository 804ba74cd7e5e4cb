/** Stacks of the same moment, by gdb and by both of tstrace's walks. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseStates } from '../../src/abi/states.js';
import { type CapturedStack, stackValue } from '../../src/aggregate/stack.js';
import type { off_cpu as layout } from '../../src/generated/off_cpu.js';
import type { BpfObject } from '../../src/loader/object.js';
import { BpfTracing } from '../../src/run/tracing.js';
import { textOf } from '../../src/text-of.js';
import { offcputime } from '../../src/tools/offcputime/offcputime.js';
import { Waits } from '../../src/waits/waits.js';
import { Gdb, type ThreadOfGdb } from './gdb.js';
import { onlyProcess, QUIET, USER_STACKS } from './raw.js';

/** For threads that were let go to get a CPU. */
const RESUME_LIMIT_MS = 10_000;
const LOOK_PERIOD_MS = 5;
const DRAIN_PERIOD_MS = 1000;

/** Every wait of threads that a debugger has stopped. */
const SETTINGS: Parameters<typeof offcputime.plan>[1] = {
	...USER_STACKS,
	...{ period_usec: 0, min_usec: 0, max_usec: 0, states: parseStates('t') },
	...{
		split: false,
		edges: true,
		hideIdle: false,
		apart: undefined,
		wakers: undefined,
		followed: 0,
	},
};

type Walked = Pick<CapturedStack, 'user' | 'userEnd'>;

/** One thread's, as it was stopped. */
export interface HeldStack {
	readonly thread: ThreadOfGdb;
	/** By a BPF program, as the thread went on; undefined: none was found. */
	readonly inKernel: Walked | undefined;
	/** From outside, while it was held. */
	readonly outside: Walked | undefined;
}

/**
 * A process whose threads gdb stops now and then. To tstrace a stop is a wait: it is walked from
 * outside while gdb holds the thread, and by the BPF program when gdb lets it go.
 */
export class HeldProcess {
	readonly #gdb: Gdb;
	readonly #tracing: { close(): void };
	readonly #object: BpfObject<typeof layout>;
	readonly #waits: Waits;
	readonly #timer: NodeJS.Timeout;

	constructor(
		readonly pid: number,
		options: ConstructorParameters<typeof Gdb>[0] = {},
	) {
		const opened: { object?: BpfObject<typeof layout>; waits?: Waits } = {};
		const reader: typeof offcputime.reader = (object, settings, subjects, _note, tables) => {
			opened.object = object;
			opened.waits = new Waits(object, settings, subjects, tables);
			return opened.waits;
		};
		this.#tracing = new BpfTracing({ ...offcputime, reader }, SETTINGS, onlyProcess(pid), QUIET);
		if (!opened.object || !opened.waits) throw new Error('offcputime has no reader');
		this.#object = opened.object;
		this.#waits = opened.waits;
		this.#timer = setInterval(() => this.#waits.drain(), DRAIN_PERIOD_MS);
		this.#gdb = new Gdb(options);
	}

	/** Stops it once: the stacks of all its threads. */
	async stacks(): Promise<HeldStack[]> {
		// Those of before.
		this.#waits.captured();
		const threads = await this.#gdb.hold(this.pid);
		let open: Map<number, CapturedStack>;
		const runs = new Map(threads.map(({ tid }) => [tid, runsOf(this.pid, tid)]));
		try {
			this.#waits.walkOpen();
			open = longest(this.#waits.captured().open);
		} finally {
			this.#waits.countAgain();
			await this.#gdb.release();
		}
		await this.#resumed(runs);
		// The last of them may still walk.
		this.#object.waitForPrograms();
		const ended = longest(this.#waits.captured().ended);
		return threads.map((thread) => ({
			thread,
			inKernel: ended.get(thread.tid),
			outside: open.get(thread.tid),
		}));
	}

	async close(): Promise<void> {
		clearInterval(this.#timer);
		await this.#gdb.close();
		this.#tracing.close();
	}

	/** Waits until all threads that live have been on a CPU since. */
	async #resumed(runs: ReadonlyMap<number, number>): Promise<void> {
		const limit_ms = Date.now() + RESUME_LIMIT_MS;
		for (const [tid, before] of runs) {
			while (runsOf(this.pid, tid) === before) {
				if (Date.now() > limit_ms) throw new Error(`thread ${tid} does not go on`);
				await sleep(LOOK_PERIOD_MS);
			}
		}
	}
}

/** How often a thread got a CPU. Source: Documentation/scheduler/sched-stats.rst. */
function runsOf(pid: number, tid: number): number {
	return Number(textOf(`/proc/${pid}/task/${tid}/schedstat`)?.trim().split(' ')[2]);
}

/** Of each thread: gdb also stops threads for a moment before it holds them. */
function longest(stacks: readonly CapturedStack[]): Map<number, CapturedStack> {
	const found = new Map<number, CapturedStack>();
	for (const stack of stacks) {
		const before = found.get(stack.tid);
		if (!before || stackValue(before) < stackValue(stack)) found.set(stack.tid, stack);
	}
	return found;
}

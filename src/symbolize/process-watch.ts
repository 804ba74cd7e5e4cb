/** Keeps track of processes while stacks are captured, and names the stacks by what they had mapped. */

import type { Lost } from '../aggregate/report.js';
import type { CapturedStack } from '../aggregate/stack.js';
import type { StackFindings } from '../aggregate/stack-rows.js';
import type { Subjects } from '../bpf/filter.js';
import { processOf } from '../bpf/filter.js';
import { closeAll } from '../loader/close-all.js';
import { TstraceError } from '../loader/errors.js';
import type { PerfEvent } from '../perf/open.js';
import type { SidebandRecord } from '../perf/records.js';
import { Sideband } from '../perf/sideband.js';
import { END } from '../unwind/step.js';
import type { StoppedRegisters } from '../unwind/walk.js';
import { type NamingOptions, nameStacks } from './naming.js';
import { ProcessHistory } from './processes.js';
import { SleepingStacks } from './sleeping-stacks.js';

/** /proc/PID/maps takes 0.1 ms or so; of every pause this long, a slice goes into reading them. */
const SLICE_MS = 5;
const PAUSE_MS = 20;

export class ProcessWatch {
	readonly #history = new ProcessHistory();
	readonly #sleeping = new SleepingStacks();
	readonly #sideband: Sideband | undefined;
	readonly #subjects: Subjects;
	readonly #problems: readonly string[];
	readonly #onRecord: (record: SidebandRecord) => void;
	/** Started by those that were chosen. */
	#children = 0;
	#waiting: number[] = [];
	#timer: NodeJS.Timeout | undefined;

	/** `onRecord` gets what the kernel tells, as it is taken in. */
	constructor(subjects: Subjects, onRecord: (record: SidebandRecord) => void = () => {}) {
		this.#subjects = subjects;
		this.#onRecord = onRecord;
		try {
			this.#sideband = new Sideband();
			this.#problems = [];
		} catch (error) {
			if (!(error instanceof TstraceError)) throw error;
			this.#problems = [
				`functions of processes that end during tracing have no names: ${error.message}`,
			];
		}
	}

	/** Reads the processes that exist already little by little, unless the filter chose few. */
	begin(): void {
		const chosen = new Set(this.#named());
		// Nobody else is traced then; on a machine that compiles, what others do would be 30 MB.
		const only = chosen.size > 0 && !this.#subjects.filter.follow;
		this.#sideband?.start((record) => {
			if (!only || chosen.has(record.pid)) this.#history.add(record);
			this.#onRecord(record);
			const isChild = record.type === 'fork' && record.pid !== record.parentPid;
			if (isChild && chosen.has(record.parentPid)) this.#children++;
		});
		this.#waiting = this.#there();
		this.#slice();
	}

	/** Takes in what the kernel has told. Opens nothing. */
	take(): void {
		this.#sideband?.drain();
	}

	/** The same, and follows CPUs that come and go; called every second. */
	drain(): void {
		this.#sideband?.refreshCpus();
		this.#sideband?.drain();
	}

	/** Tracing ends: from now on only processes that there are stacks of are read. */
	end(): void {
		clearTimeout(this.#timer);
	}

	/**
	 * Walks the user stack of a thread of process `pid` that sleeps since `at_ns` or longer, from where its
	 * registers are.
	 */
	walkSleeping(
		pid: number,
		at_ns: number,
		registers: StoppedRegisters,
		depth: number,
	): Pick<CapturedStack, 'user' | 'userEnd'> {
		this.#read(new Set([pid]));
		const space = this.#history.at(pid, at_ns);
		const { addresses, end } = this.#sleeping.walk(pid, space, registers, depth);
		return { user: addresses, userEnd: end === END.whole ? 'whole' : 'no way on' };
	}

	/** Names stacks, and adds up those that read the same; says what the user should know of that. */
	async name(
		stacks: readonly CapturedStack[],
		options: NamingOptions,
	): Promise<Pick<StackFindings, 'stacks' | 'notices'>> {
		this.take();
		const pids = new Set(stacks.map(({ pid }) => pid));
		this.#read(pids);
		const named = await nameStacks(stacks, this.#history, options);
		return { ...named, notices: [...this.#notices(), ...named.notices] };
	}

	/** Reads those of them whose turn has not come. */
	#read(pids: ReadonlySet<number>): void {
		for (const pid of this.#waiting) if (pids.has(pid)) this.#history.snapshot(pid);
		this.#waiting = this.#waiting.filter((pid) => !pids.has(pid));
	}

	/** Processes that have no stacks, or no names, in the result. */
	#notices(): string[] {
		if (this.#children === 0 || this.#subjects.filter.follow) return [...this.#problems];
		const children = this.#children === 1 ? '1 child process' : `${this.#children} child processes`;
		return [
			...this.#problems,
			`${children} started during tracing and were not traced; add --follow.`,
		];
	}

	/** An event of a CPU whose ring tells, by `throttled`, when the kernel pauses events that use it. */
	eventOn(cpu: number): PerfEvent | undefined {
		return this.#sideband?.eventOn(cpu);
	}

	/** How often that was, since the last call. */
	throttled(): number {
		return this.#sideband?.throttled() ?? 0;
	}

	lost(): Lost {
		const lost = this.#sideband?.lost() ?? 0;
		return lost > 0 ? { mappings_lost: lost } : {};
	}

	close(): void {
		clearTimeout(this.#timer);
		closeAll([
			() => this.#sideband?.close(),
			() => this.#sleeping.close(),
			() => this.#history.close(),
		]);
	}

	/** The processes that there are already, of those that were chosen. */
	#there(): number[] {
		const { filter, command } = this.#subjects;
		const all = command === undefined && filter.pids.length + filter.tids.length === 0;
		return all ? ProcessHistory.pids() : this.#named();
	}

	/** Those that were chosen by number, and COMMAND. */
	#named(): number[] {
		const { filter, command } = this.#subjects;
		const owners = filter.tids.flatMap((tid) => processOf(tid) ?? []);
		return [...new Set([...filter.pids, ...owners, ...(command ? [command] : [])])];
	}

	#slice(): void {
		const until_ms = performance.now() + SLICE_MS;
		while (this.#waiting.length > 0 && performance.now() < until_ms) {
			this.#history.snapshot(this.#waiting.pop() as number);
		}
		if (this.#waiting.length > 0) {
			this.#timer = setTimeout(() => this.#slice(), PAUSE_MS);
			this.#timer.unref();
		}
	}
}

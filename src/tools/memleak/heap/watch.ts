/** Keeps probes in the allocators of the processes that are traced, whatever they do. */

import type { Subjects } from '../../../bpf/filter.js';
import { processOf } from '../../../bpf/filter.js';
import type { memleak as layout } from '../../../generated/memleak.js';
import type { BpfObject } from '../../../loader/object.js';
import type { SidebandRecord } from '../../../perf/records.js';
import type { Note } from '../../../reader.js';
import type { Site } from '../allocations.js';
import { commandFiles } from './command-files.js';
import { chooseProbes } from './probe-ways.js';
import { goesOn, type HeapProbeOptions } from './probed-files.js';
import { HeapProbes } from './probes.js';

type Layout = typeof layout;

/** How often to look for allocators that were mapped meanwhile. */
const LOOK_PERIOD_MS = 50;

export class HeapWatch {
	readonly #probes: HeapProbes;
	readonly #subjects: Subjects;
	/** Processes that are traced, as far as is known. */
	readonly #traced = new Set<number>();
	/** Those that may have mapped something new. */
	readonly #changed = new Set<number>();
	/** Those whose first thread ended; others of theirs may go on. */
	readonly #ending = new Set<number>();
	/** When each last executed a program, CLOCK_MONOTONIC. */
	readonly #executed_ns = new Map<number, number>();
	/** Those that executed a program by another thread than the first. */
	readonly #handedOver = new Set<number>();
	/** Those that go on without their first thread, where the kernel finds processes by it. */
	readonly #headless = new Set<number>();
	/** Children that were followed: probes come a moment after they begin. */
	#children = 0;
	#timer: NodeJS.Timeout | undefined;

	constructor(
		object: BpfObject<Layout>,
		options: HeapProbeOptions,
		subjects: Subjects,
		note: Note,
	) {
		const programs = {
			entry: object.program('memleak_entry'),
			return: object.program('memleak_return'),
			last: object.program('memleak_last'),
			signatures: chooseProbes().cookies ? undefined : object.map('signatures'),
		};
		this.#probes = new HeapProbes(programs, options, note);
		this.#subjects = subjects;
	}

	/** Puts the probes in. `drain` takes in what the kernel has told. Throws TstraceError. */
	begin(drain: () => void): void {
		const { filter, command, words } = this.#subjects;
		const owners = filter.tids.flatMap((tid) => processOf(tid) ?? []);
		for (const pid of new Set([...filter.pids, ...owners])) {
			this.#traced.add(pid);
			this.#probes.attachProcess(pid);
		}
		if (command !== undefined) {
			this.#traced.add(command);
			this.#probes.attachFiles(command, commandFiles(words));
		}
		this.#timer = setInterval(() => {
			drain();
			this.#look();
		}, LOOK_PERIOD_MS);
		this.#timer.unref();
	}

	/** Takes in what a process did. */
	follow(record: SidebandRecord): void {
		const { pid, type } = record;
		// A new thread has its process's number.
		const isChild = type === 'fork' && pid !== record.parentPid;
		if (isChild && this.#subjects.filter.follow && this.#traced.has(record.parentPid)) {
			this.#traced.add(pid);
			this.#changed.add(pid);
			this.#ending.delete(pid);
			this.#children++;
		}
		if (!this.#traced.has(pid)) return;
		if (type === 'exit' && record.tid === pid) this.#ending.add(pid);
		// A run-time compiler's memory is no file.
		if (type === 'mmap' && record.inode !== 0) this.#changed.add(pid);
		if (type === 'comm' && record.exec) {
			this.#executed_ns.set(pid, record.time_ns);
			// Another thread than the first took its place: the kernel's probes were the first one's.
			if (this.#ending.delete(pid)) {
				this.#probes.drop(pid);
				this.#handedOver.add(pid);
				this.#headless.delete(pid);
			}
			this.#changed.add(pid);
		}
	}

	/** Whether what was allocated there is gone, because the process executed another program. */
	isGone({ allocated: { pid, at_ns } }: Site): boolean {
		return at_ns < (this.#executed_ns.get(pid) ?? 0);
	}

	/** What the user should know. */
	notices(): string[] {
		const { filter, command } = this.#subjects;
		const executed = [...this.#executed_ns.keys()].filter((pid) => filter.pids.includes(pid));
		return [
			...executed.map(
				(pid) => `process ${pid} executed another program: its earlier allocations are gone.`,
			),
			...(this.#children > 0
				? [
						`${this.#children} child processes: allocations in their first ${LOOK_PERIOD_MS} ms, before ` +
							'they had probes, are missing.',
					]
				: []),
			...[...this.#handedOver].map(
				(pid) =>
					`process ${pid} executed a program from a thread that is not its first: allocations in the ` +
					`${LOOK_PERIOD_MS} ms after that, before it had new probes, are missing.`,
			),
			...[...this.#headless].map(
				(pid) =>
					`the first thread of process ${pid} has ended: later allocations and frees of other threads may be missing.`,
			),
			...this.#probes.notices(),
			...(command !== undefined && !this.#probes.hasAllocator(command) && !this.#probes.hasFailed
				? ['memleak found no allocator in COMMAND; give its file with -O, or use --growth.']
				: []),
		];
	}

	close(): void {
		clearInterval(this.#timer);
		this.#probes.close();
	}

	#look(): void {
		for (const pid of this.#ending) {
			if (!this.#probes.dropEnded(pid)) {
				if (chooseProbes().multiType === undefined && goesOn(pid)) this.#headless.add(pid);
				continue;
			}
			this.#ending.delete(pid);
			this.#changed.delete(pid);
			this.#traced.delete(pid);
		}
		for (const pid of this.#changed) this.#probes.refresh(pid);
		this.#changed.clear();
	}
}

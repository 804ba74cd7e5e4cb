/** Keeps track of processes while stacks are captured, and names the stacks by what they had mapped. */

import type { Lost } from '../aggregate/report.js';
import { type CapturedStack, type NamedStack, wakersOf } from '../aggregate/stack.js';
import type { StackFindings } from '../aggregate/stack-rows.js';
import type { MemoryPlace } from '../aggregate/wait-object.js';
import type { Subjects } from '../bpf/filter.js';
import { namedProcesses } from '../bpf/filter.js';
import { TstraceError } from '../errors.js';
import { closeAll } from '../loader/close-all.js';
import { ringBufferMissing } from '../loader/realtime.js';
import type { SidebandRecord } from '../perf/records.js';
import { Sideband } from '../perf/sideband.js';
import { Debuginfod } from './debuginfod/lacking-symbols.js';
import { FunctionNames } from './function-names.js';
import { ProcessHistory } from './mappings/processes.js';
import { type NamingOptions, nameStacks } from './naming.js';
import { noticeText } from './notices.js';
import { Symbolizer } from './symbolizer.js';
import { memoryNames } from './symbols/memory-names.js';
import { SleepingStacks, type WaitingThread } from './walks/sleeping-stacks.js';
import type { UnwindTables } from './walks/unwind-tables.js';

/** /proc/PID/maps takes 0.1 ms or so; of every pause this long, a slice goes into reading them. */
const SLICE_MS = 5;
const PAUSE_MS = 20;
/** When records were lost: each takes 1 ms or so, while more are lost. */
const MOST_COMPARED = 8;

export class ProcessWatch {
	readonly #history = new ProcessHistory();
	readonly #sleeping = new SleepingStacks();
	/** Of stacks that are named as they come. Nobody waits for symbols to be fetched meanwhile. */
	readonly #symbolizer: Symbolizer;
	/** Undefined: walks do not take any. */
	readonly #functions: FunctionNames | undefined;
	/** What tells of processes, for those whose events use its rings; undefined: this user may not have it. */
	readonly sideband: Sideband | undefined;
	readonly #subjects: Subjects;
	readonly #tables: UnwindTables | undefined;
	readonly #problems: readonly string[];
	readonly #onRecord: (record: SidebandRecord) => void;
	/** Started by those that were chosen. */
	#children = 0;
	#waiting: number[] = [];
	/** As of when threads that wait were walked last. */
	#walked_ns = 0;
	#timer: NodeJS.Timeout | undefined;
	readonly #everybody: boolean;
	/** Records are of these processes only, as nobody else is traced; undefined: of all. */
	#only: ReadonlySet<number> | undefined;
	#lost = 0;

	/**
	 * `tables`: by which programs walk, if they do; they begin and end with the watch. `onRecord` gets what the kernel
	 * tells, as it is taken in. `everybody`: stacks may be of other processes, too, than those that are traced.
	 */
	constructor(
		subjects: Subjects,
		tables?: UnwindTables,
		{
			onRecord = () => {},
			everybody = false,
		}: { onRecord?: (record: SidebandRecord) => void; everybody?: boolean } = {},
	) {
		this.#subjects = subjects;
		this.#tables = tables;
		this.#onRecord = onRecord;
		this.#everybody = everybody;
		this.#functions = tables && new FunctionNames(tables.functions, this.#history);
		this.#symbolizer = new Symbolizer(this.#history, new Debuginfod(true), this.#functions);
		try {
			this.sideband = new Sideband();
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
		const chosen = new Set(namedProcesses(this.#subjects));
		// Nobody else is traced then; on a machine that compiles, what others do would be 30 MB.
		const isFew = chosen.size > 0 && !this.#subjects.filter.follow && !this.#everybody;
		this.#only = isFew ? chosen : undefined;
		this.sideband?.start((record) => {
			if (this.#only?.has(record.pid) ?? true) this.#history.add(record);
			this.#onRecord(record);
			const isChild = record.type === 'fork' && record.pid !== record.parentPid;
			if (isChild && chosen.has(record.parentPid)) this.#children++;
		});
		this.#waiting = this.#there();
		this.#slice();
		this.#tables?.begin();
		this.#functions?.begin(() => this.take());
	}

	/** Takes in what the kernel has told. Opens nothing. */
	take(): void {
		this.sideband?.drain();
	}

	/** The same, and follows CPUs that come and go; called every second. */
	drain(): void {
		this.sideband?.refreshCpus();
		this.sideband?.drain();
		this.#countLost();
		this.#tables?.drain();
	}

	/** Tracing ends: from now on only processes that there are stacks of are read. */
	end(): void {
		clearTimeout(this.#timer);
		this.#tables?.end();
	}

	/**
	 * Walks the user stack of a thread that waits since `at_ns` or longer, at most `depth` frames. To be called after
	 * `take`: it may have forked, or loaded what it is in, a moment ago.
	 */
	walkWaiting(
		thread: WaitingThread,
		at_ns: number,
		depth: number,
	): Pick<CapturedStack, 'user' | 'functions' | 'userEnd'> {
		if (this.#waiting.includes(thread.pid)) this.#read(new Set([thread.pid]));
		if (at_ns !== this.#walked_ns) this.#sleeping.begin();
		this.#walked_ns = at_ns;
		const space = this.#history.at(thread.pid, at_ns);
		const { addresses, functions, end } = this.#sleeping.walk(
			thread,
			space,
			depth,
			this.#functions,
		);
		return { user: addresses, ...(functions ? { functions } : {}), userEnd: end };
	}

	/** What lies at addresses of data: see memory-names.ts. */
	memoryNames(places: readonly MemoryPlace[]): ReadonlyMap<MemoryPlace, string> {
		this.take();
		this.#read(new Set(places.map(({ pid }) => pid)));
		return memoryNames(places, this.#history);
	}

	/** Names stacks, and adds up those that read the same; says what the user should know of that. */
	async name(
		stacks: readonly CapturedStack[],
		options: NamingOptions,
	): Promise<Pick<StackFindings, 'stacks' | 'notices'>> {
		this.#takeFor(stacks);
		const named = await nameStacks(stacks, this.#history, options, this.#functions);
		return { ...named, notices: [...this.#notices(), ...named.notices] };
	}

	/** Names stacks while tracing goes on, in the order given; one call at a time. `depth`: of a walk, at most. */
	async nameEach(stacks: readonly CapturedStack[], depth: number): Promise<NamedStack[]> {
		this.#takeFor(stacks);
		return this.#symbolizer.resolve(stacks, depth);
	}

	/** What the user should know of all that `nameEach` has named. */
	noticesOfEach(): string[] {
		return [...this.#notices(), ...this.#symbolizer.notices().map(noticeText)];
	}

	/** Takes in what there is to know of the processes whose stacks these are. */
	#takeFor(stacks: readonly CapturedStack[]): void {
		this.take();
		const pids = new Set(
			stacks.flatMap((stack) => [stack, ...wakersOf(stack)].flatMap(({ pid }) => pid || [])),
		);
		this.#read(pids);
	}

	/** Reads those of them whose turn has not come. */
	#read(pids: ReadonlySet<number>): void {
		for (const pid of this.#waiting) if (pids.has(pid)) this.#history.snapshot(pid);
		this.#waiting = this.#waiting.filter((pid) => !pids.has(pid));
	}

	/** Processes that have no stacks, or no names, in the result. */
	#notices(): string[] {
		const problems = [...this.#problems];
		const tables = this.#tables?.problem;
		if (tables) problems.push(`stacks are cut: ${tables}`);
		const missing = this.#tables ? undefined : ringBufferMissing();
		if (missing !== undefined)
			problems.push(`user stacks may be cut: they are walked by frame pointers, as ${missing}`);
		if (this.#children === 0 || this.#subjects.filter.follow) return problems;
		const isOne = this.#children === 1;
		const began = `${isOne ? '1 child process' : `${this.#children} child processes`} started`;
		const rest = `during tracing and ${isOne ? 'was' : 'were'} not traced; add --follow.`;
		return [...problems, `${began} ${rest}`];
	}

	lost(): Lost {
		this.#countLost();
		const mappings_lost = this.#lost;
		this.#lost = 0;
		return mappings_lost > 0 ? { mappings_lost } : {};
	}

	/** The kernel counts lost records of all processes together. Those of processes that are not traced are no loss. */
	#countLost(): void {
		const lost = this.sideband?.lost() ?? 0;
		if (lost === 0) return;
		if (!this.#only || !this.#areKnown(this.#only)) this.#lost += lost;
	}

	/** Whether it is known what these processes have mapped now; false where that would take long to find out. */
	#areKnown(pids: ReadonlySet<number>): boolean {
		if (pids.size > MOST_COMPARED) return false;
		const mapped = Array.from(pids, (pid) => [pid, ProcessHistory.mapped(pid)] as const);
		// Records of all that have been made by now, or lost.
		this.take();
		return mapped.every(([pid, code]) => code && this.#history.knows(pid, code));
	}

	close(): void {
		clearTimeout(this.#timer);
		closeAll([
			() => this.#functions?.close(),
			() => this.#tables?.close(),
			() => this.sideband?.close(),
			() => this.#sleeping.close(),
			() => this.#history.close(),
		]);
	}

	/** The processes that there are already, of those that were chosen. */
	#there(): number[] {
		const { filter, command } = this.#subjects;
		const all = command === undefined && filter.pids.length + filter.tids.length === 0;
		return all || this.#everybody ? ProcessHistory.pids() : namedProcesses(this.#subjects);
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

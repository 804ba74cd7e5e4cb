/** Reads where threads spend their time: waits with their chains, samples of what runs, and how long each thread was. */
import { existsSync } from 'node:fs';
import type { Lost } from '../../aggregate/report.js';
import type { Key } from '../../aggregate/row-key.js';
import type { CapturedStack } from '../../aggregate/stack.js';
import type { StackFindings, StackRow } from '../../aggregate/stack-rows.js';
import type { Subjects } from '../../bpf/filter.js';
import { depthOf } from '../../bpf/stacks/stacks.js';
import type { off_cpu as layout } from '../../generated/off_cpu.js';
import type { BpfObject } from '../../loader/object.js';
import { onlineCpus, type PerCpuEvents } from '../../perf/cpus.js';
import { eventOf } from '../../perf/names.js';
import type { PerfEvent } from '../../perf/open.js';
import { runOnOverflow } from '../../perf/programs.js';
import { cpuTime, cpuTimeSince } from '../../proc/cpu-time.js';
import { FileLocks } from '../../proc/file-locks.js';
import type { Patience } from '../../reader.js';
import type { UnwindTables } from '../../symbolize/walks/unwind-tables.js';
import { type WaitSettings, Waits } from '../../waits/waits.js';
import { type Answer, answerOf } from './answer.js';
import type { BlockedTime, ThreadTime } from './evidence.js';
import { type Machine, machineOf } from './machine.js';
import { partsOf } from './parts.js';
import { histogramOf, SeenWaits } from './seen-waits.js';
import { targetOf } from './target.js';
import { EndedThreads, identityOf, readAccounts, type ThreadAccount } from './thread-accounts.js';
import { ranSince, timeWithin } from './thread-times.js';
import { verdictOf } from './verdict.js';
import { windowRows } from './window-rows.js';
import { type WorstWait, worstWaits } from './worst.js';

/** On each CPU. Not 200, so as not to run in step with what happens 100 times a second. */
const SAMPLES_HZ = 199;

/** By identity: as tracing began. */
type AccountsBefore = ReadonlyMap<string, ThreadAccount>;

export interface WhyFindings extends StackFindings {
	readonly found: Answer;
	/** The longest first. */
	readonly worst: readonly WorstWait[];
}

export class WindowReader extends Waits {
	readonly #settings: WaitSettings;
	readonly #subjects: Subjects;
	readonly #seen: SeenWaits;
	readonly #ended: EndedThreads;
	readonly #fileLocks = new FileLocks();
	#events: PerCpuEvents<PerfEvent> | undefined;
	#atBegin: readonly ThreadAccount[] = [];
	#atEnd: readonly ThreadAccount[] = [];
	#timeAtBegin = cpuTime();
	#timeAtEnd = this.#timeAtBegin;

	constructor(
		object: BpfObject<typeof layout>,
		settings: WaitSettings,
		subjects: Subjects,
		tables: UnwindTables | undefined,
	) {
		const seen = new SeenWaits();
		super(object, settings, subjects, tables, seen);
		this.#seen = seen;
		this.#settings = settings;
		this.#subjects = subjects;
		this.#ended = EndedThreads.of(object);
	}

	override begin(): void {
		super.begin();
		// Before the filter's own program, which takes the thread out of the filter.
		this.object.attach('account_ended');
		const program = this.object.program('sample_running');
		// A timer, and no hardware counter: an NMI would interrupt programs that walk stacks.
		const attributes = { ...eventOf('cpu-clock'), frequency_hz: SAMPLES_HZ };
		this.#events = runOnOverflow(attributes, program, this.#subjects.filter.cpus);
		// Before the window, as what a thread ran since counts by the part that is in it.
		this.#atBegin = readAccounts(this.object);
		this.#timeAtBegin = cpuTime();
	}

	override drain(): void {
		super.drain();
		this.#fileLocks.look();
		this.#ended.drain();
		this.#events?.refresh();
	}

	override end(): void {
		// First: what is read then is as of now.
		this.stopCounting();
		this.#atEnd = readAccounts(this.object);
		this.#timeAtEnd = cpuTime();
		super.end();
		this.#fileLocks.look();
		this.#events?.close();
		this.#events = undefined;
		for (const { kernelPid, ready_ns, preempted, traced } of this.#atEnd) {
			const begin_ns = Math.max(ready_ns, this.begun_ns);
			const end_ns = this.ended_ns;
			if (!traced || ready_ns === 0 || begin_ns >= end_ns) continue;
			const wait = { begin_ns, end_ns, weighed_ns: end_ns - begin_ns, count: 1, variance: 0 };
			this.#seen.forCpu(kernelPid, { ...wait, throttled_ns: 0, waking_ns: 0, preempted });
		}
	}

	override async read(patience?: Patience): Promise<WhyFindings> {
		await this.readObjects();
		const { ended, open, numbers } = this.captured();
		// What else they hold is not needed once they have names.
		const objects = ended.map(({ object }) => object);
		const samples = this.sums.take(this.sums.read(), { parts: 1, period_ns: 0 });
		const naming = {
			maxDepth: depthOf(this.#settings),
			debuginfod: this.#settings.debuginfod,
			patience,
			sources: true,
		};
		// All at once: each file is read once.
		const { stacks, notices } = await this.named(
			[...ended, ...open, ...samples.map(asSample)],
			naming,
		);
		this.#ended.drain();
		const accounts = this.#accounts();
		const before = new Map(this.#atBegin.map((account) => [identityOf(account), account]));
		const evidence = {
			target: targetOf(this.#subjects),
			lockHolders: this.#fileLocks.holders,
			machine: this.#machine(before, accounts),
			isThere: (pid: number) => existsSync(`/proc/${pid}`),
			window_ns: this.ended_ns - this.begun_ns,
			threads: this.#threads(before, accounts),
			blocked: stacks.flatMap((row) => (isSample(row) ? [] : this.#blocked(row, numbers))),
			forCpu: this.#seen.forCpuOf(accounts),
			samples: stacks.filter(isSample).map(withoutPlace),
		};
		const parts = partsOf(evidence);
		const found = answerOf(evidence, parts);
		return {
			kind: 'stacks',
			unit: 'ns',
			noun: 'wait',
			about: { sampled_hz: SAMPLES_HZ },
			parts: ['time'],
			stacks: windowRows(parts),
			notices: [...notices, ...this.notices()],
			found,
			worst: worstWaits(parts.parts, {
				longest: this.#seen.longest,
				numbers,
				objects,
				threads: accounts,
				window: { begin_ns: this.begun_ns, end_ns: this.ended_ns },
				stayed: verdictOf(found).rule === 'idle' ? found.stays?.largest : undefined,
			}),
		};
	}

	override lost(): Lost {
		return { ...super.lost(), ...this.#ended.lost() };
	}

	override close(): void {
		this.#events?.close();
		this.#ended.close();
		super.close();
	}

	#machine(before: AccountsBefore, accounts: readonly ThreadAccount[]): Machine {
		return machineOf({
			cpus: onlineCpus().length,
			tracer: process.pid,
			begin: this.#atBegin,
			end: this.#atEnd,
			ended: this.#ended.all(),
			time: cpuTimeSince(this.#timeAtBegin, this.#timeAtEnd),
			own_ns: accounts.reduce((sum, last) => sum + ranSince(before.get(identityOf(last)), last), 0),
		});
	}

	#blocked(row: StackRow, numbers: readonly number[]): BlockedTime {
		const sources = row.sources ?? [];
		const known = new Set(sources.flatMap((source) => numbers[source] ?? []));
		const durations = [...known].flatMap((number) => this.#seen.durations.get(number) ?? []);
		if (durations.length > 0) return { row, durations, open: false };
		return { row, durations: [histogramOf(row.value / row.count, row.count)], open: true };
	}

	/** The last that is known of each thread that was traced at some time. */
	#accounts(): ThreadAccount[] {
		const last = new Map<string, ThreadAccount>();
		const traced = new Set<string>();
		for (const account of [...this.#atBegin, ...this.#atEnd, ...this.#ended.all()]) {
			const id = identityOf(account);
			if (account.traced) traced.add(id);
			// A thread that executes a program takes the place of its process's first thread, which ends.
			if (account.at_ns >= (last.get(id)?.at_ns ?? 0)) last.set(id, account);
		}
		return [...last].flatMap(([id, account]) => (traced.has(id) ? [account] : []));
	}

	#threads(before: AccountsBefore, accounts: readonly ThreadAccount[]): ThreadTime[] {
		const window = { begin_ns: this.begun_ns, end_ns: this.ended_ns };
		return accounts.flatMap(
			(account) => timeWithin(window, before.get(identityOf(account)), account) ?? [],
		);
	}
}

/** Of stacks that are no waits. */
const SAMPLE: Key = { place: 'running' };
const asSample = (stack: CapturedStack): CapturedStack => ({
	...stack,
	apart: SAMPLE,
	parts: [stack.count],
});
const isSample = ({ key }: StackRow) => key.place === SAMPLE.place;
const withoutPlace = ({ key: { place: _, ...key }, ...row }: StackRow): StackRow => ({
	key,
	...row,
});

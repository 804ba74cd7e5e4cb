/** Stacks sampled by perf events: added up by BPF in the kernel, or read one by one. */

import { statSync } from 'node:fs';
import { remembered } from '../../aggregate/remembered.js';
import type { Lost } from '../../aggregate/report.js';
import type { CapturedStack } from '../../aggregate/stack.js';
import type { StackFindings } from '../../aggregate/stack-rows.js';
import type { Subjects } from '../../bpf/filter.js';
import { commMatcher } from '../../bpf/glob.js';
import { depthOf, type StackSettings } from '../../bpf/stacks/stacks.js';
import { StackSums, type SummedLayout } from '../../bpf/stacks/sums.js';
import { TstraceError } from '../../errors.js';
import { closeAll } from '../../loader/close-all.js';
import type { BpfObject } from '../../loader/object.js';
import type { PerCpuEvents } from '../../perf/cpus.js';
import type { PerfEvent } from '../../perf/open.js';
import { runOnOverflow } from '../../perf/programs.js';
import { Sampler } from '../../perf/sampler.js';
import { isKernelThread } from '../../proc/kernel-threads.js';
import { processIds } from '../../proc/threads.js';
import type { Patience, Reader } from '../../reader.js';
import { ProcessHistory } from '../../symbolize/mappings/processes.js';
import { type NamingOptions, type NamingSettings, nameStacks } from '../../symbolize/naming.js';
import { ProcessWatch } from '../../symbolize/process-watch.js';
import type { UnwindTables } from '../../symbolize/walks/unwind-tables.js';
import { SampleCounter } from './sample-counter.js';
import { nextSlower, rateOf, type SamplingRate } from './sampling-rate.js';

/** What to sample, and how often. */
export interface SamplingSettings extends StackSettings, NamingSettings, SamplingRate {
	/** What to tell the user about the choice of the event. */
	readonly notices: readonly string[];
}

const PARTS = ['samples'];

/** BPF adds up; `program` is the one that runs at each sample. */
export class KernelSamples<L extends SummedLayout> implements Reader<StackFindings> {
	readonly #object: BpfObject<L>;
	readonly #program: L['programs'][number];
	readonly #settings: SamplingSettings;
	readonly #subjects: Subjects;
	readonly #sums: StackSums;
	readonly #processes: ProcessWatch;
	#events: PerCpuEvents<PerfEvent> | undefined;
	/** How many times less often it samples than it was told to. */
	#slower = 1;

	constructor(
		object: BpfObject<L>,
		program: L['programs'][number],
		settings: SamplingSettings,
		subjects: Subjects,
		tables: UnwindTables | undefined,
	) {
		this.#object = object;
		this.#program = program;
		this.#settings = settings;
		this.#subjects = subjects;
		this.#processes = new ProcessWatch(subjects, tables);
		this.#sums = new StackSums(object);
		this.#sums.open();
	}

	begin(): void {
		this.#processes.begin();
		this.#open();
	}

	/** Each sample then counts as many as are left out. */
	slowDown(): string | undefined {
		const slower = nextSlower(this.#settings, this.#slower);
		if (slower === undefined) return undefined;
		this.#slower = slower;
		this.#events?.close();
		this.#open();
		const { frequency_hz } = this.#settings;
		if (frequency_hz === undefined)
			return `tstrace now takes one sample in ${slower}, which counts as ${slower}`;
		const hz = Number((frequency_hz / slower).toPrecision(4));
		return `tstrace now samples ${hz} times a second; each sample counts as ${slower}`;
	}

	#open(): void {
		const program = this.#object.program(this.#program);
		this.#object.setVariable('sample_weight', this.#slower);
		const attributes = { ...this.#settings.event, ...rateOf(this.#settings, this.#slower) };
		this.#events = runOnOverflow(attributes, program, this.#subjects.filter.cpus, (cpu) =>
			this.#processes.sideband?.eventOn(cpu),
		);
	}

	drain(): void {
		// Rings first: events of new CPUs use them.
		this.#processes.drain();
		this.#events?.refresh();
	}

	end(): void {
		this.#events?.close();
		this.#processes.end();
	}

	/** Samples since the last call. */
	captured(): CapturedStack[] {
		return this.#sums.take(this.#sums.read(), { parts: PARTS.length, period_ns: 0 });
	}

	async read(patience?: Patience): Promise<StackFindings> {
		const named = await this.#processes.name(this.captured(), namingOf(this.#settings, patience));
		return findingsOf(named, this.#settings, this.#slower);
	}

	lost(): Lost {
		const { sideband } = this.#processes;
		return { ...this.#processes.lost(), ...lostInPauses(sideband?.pauses() ?? 0) };
	}

	close(): void {
		const held = [this.#events, this.#processes, this.#sums];
		closeAll(held.map((each) => () => each?.close()));
	}
}

/** Samples come through the rings of perf events: for users who may not load BPF programs. */
export class PlainSamples implements Reader<StackFindings> {
	readonly #sampler: Sampler;
	readonly #settings: SamplingSettings;
	readonly #history = new ProcessHistory();
	readonly #counter: SampleCounter;
	#lost = 0;
	#pauses = 0;

	/** Throws TstraceError for a filter that only BPF has. */
	constructor(settings: SamplingSettings, subjects: Subjects) {
		this.#settings = settings;
		const { filter, command } = subjects;
		if (filter.cgroups.length > 0)
			throw new TstraceError(
				'--cgroup and --container need BPF, which is not allowed here: run tstrace as root',
			);
		const { pids, tids, cpus, comms, follow, userThreads, kernelThreads } = filter;
		const named = command === undefined ? pids : [command];
		const chosen = named.length + tids.length > 0 ? named : ownProcesses();
		const sole = new Set(named);
		const matches = commMatcher(comms);
		const isKernels = remembered(isKernelThread);
		this.#counter = new SampleCounter({
			...settings,
			wanted: ({ pid }, comm) =>
				(sole.size === 0 || follow || sole.has(pid)) &&
				(comms.length === 0 || matches(comm)) &&
				!(userThreads && isKernels(pid)) &&
				!(kernelThreads && !isKernels(pid)),
		});
		for (const pid of chosen) this.#history.snapshot(pid);
		this.#sampler = new Sampler({
			...{ pids: chosen, tids },
			fromExec: command !== undefined && tids.length === 0,
			event: settings.event,
			...rateOf(settings),
			kernel: settings.kernel ? 'if-allowed' : 'no',
			maxStack: settings.maxDepth,
			...(cpus.length > 0 ? { cpus } : {}),
		});
	}

	begin(): void {
		this.#sampler.start(
			(sample) => this.#counter.add(sample),
			(record) => {
				this.#history.add(record);
				this.#counter.follow(record);
			},
		);
	}

	drain(): void {
		this.#sampler.refreshCpus();
		this.#sampler.drain();
	}

	/** Naming takes a while; what is sampled meanwhile must not be added to what is being named. */
	end(): void {
		this.#sampler.drain();
		this.#lost = this.#sampler.lost();
		this.#pauses = this.#sampler.pauses();
		this.#sampler.close();
	}

	async read(patience?: Patience): Promise<StackFindings> {
		const notices = this.#sampler.kernelIncluded
			? []
			: [
					'kernel frames are missing: this user may not see them (kernel.perf_event_paranoid is 2).',
				];
		const naming = namingOf(this.#settings, patience);
		const named = await nameStacks(this.#counter.stacks(), this.#history, naming);
		const found = findingsOf(named, this.#settings);
		return { ...found, notices: [...notices, ...found.notices] };
	}

	lost(): Lost {
		return {
			...(this.#lost > 0 ? { samples_lost: this.#lost } : {}),
			...lostInPauses(this.#pauses),
			...this.#counter.lost(),
		};
	}

	close(): void {
		closeAll([() => this.#sampler.close(), () => this.#history.close()]);
	}
}

/** Pauses in which the kernel took no samples. */
const lostInPauses = (count: number): Lost => (count > 0 ? { samples_throttled: count } : {});

function namingOf(settings: SamplingSettings, patience: Patience | undefined): NamingOptions {
	return { maxDepth: depthOf(settings), debuginfod: settings.debuginfod, patience };
}

function findingsOf(
	{ stacks, notices }: Pick<StackFindings, 'stacks' | 'notices'>,
	settings: SamplingSettings,
	slower = 1,
): StackFindings {
	return {
		kind: 'stacks',
		unit: 'samples',
		noun: 'sample',
		// What was asked for: values are of that rate, whatever the rate became.
		about: {
			event: settings.event.name,
			...rateOf(settings),
			...(slower > 1 ? { slowed_by: slower } : {}),
		},
		parts: PARTS,
		stacks,
		notices: [...settings.notices, ...notices],
	};
}

/** This user's processes: those that run now. */
function ownProcesses(): number[] {
	const uid = process.geteuid?.();
	return processIds()
		.filter((pid) => statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === uid)
		.filter((pid) => pid !== process.pid);
}

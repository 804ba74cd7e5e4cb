/** What goes on during a run: BPF programs that count, or events that are read here. */
import { fileURLToPath } from 'node:url';
import type { Findings, Lost } from '../aggregate/report.js';
import {
	byNumber,
	type FilteredLayout,
	FilterSets,
	type Subjects,
	subjectsEnded,
} from '../bpf/filter.js';
import { Losses } from '../bpf/loss.js';
import { closeAll, closedAfter } from '../loader/close-all.js';
import { CostMeter, ownTime_ns } from '../loader/cost.js';
import { bpfAllowed, forgetKernelBtf, requireBpfPrivileges } from '../loader/kernel.js';
import { BpfObject } from '../loader/object.js';
import type { Note, Reader } from '../reader.js';
import { type BpfTool, isPlain, type Plan, type Tool, type WithoutBpf } from '../tool.js';

/** A moment, by the wall clock, by CLOCK_MONOTONIC, and by the CPU time of our own until then. */
export interface Moment {
	readonly date: Date;
	readonly ns: bigint;
	readonly own_ns: number;
}

export const momentNow = (): Moment => ({
	date: new Date(),
	ns: process.hrtime.bigint(),
	own_ns: ownTime_ns(),
});

export interface Tracing<F extends Findings> {
	readonly reader: Reader<F>;
	/** When the counting began: what prepares the first report comes later, and takes 10 ms. */
	readonly since: Moment;
	readonly cost: CostMeter;
	/** Whether threads or processes were chosen by number, so that there may come a time when none is left. */
	readonly canEnd: boolean;
	/** Whether of these none is left. */
	allEnded(): boolean;
	/** Names of --comm that no thread came by with, where that is known; else all, if nothing was found. */
	unseenComms(nothingFound: boolean): string[];
	/** Ends it; what was counted can still be read, and no more comes. */
	detach(): void;
	/** What was lost since the last call. */
	lost(): Lost;
	close(): void;
}

interface TracingOptions {
	readonly verbose: boolean;
	/** Why the cost in the kernel is not to be measured; undefined: it is. */
	readonly unmeasured?: string | undefined;
	/** It ends at once, without a result: what takes long, and is for the result only, is left out. */
	readonly isTrial?: boolean;
	readonly note: Note;
}

/** How this process runs a tool: with the tool's BPF programs, or without any. */
export interface Way<S, F extends Findings> {
	readonly withBpf: boolean;
	/** What the cost leaves out where the kernel has no run-time statistics for us, and what to do about it. */
	readonly unseen: string;
	/** Begins to trace. Throws TstraceError. */
	begin(settings: S, subjects: Subjects, options: TracingOptions): Tracing<F>;
}

/** The way that this user's privileges leave; throws TstraceError where there is none. */
export function wayInto<L extends FilteredLayout, S, F extends Findings>(
	tool: Tool<L, S, F>,
): Way<S, F> {
	if (isPlain(tool)) return wayWithoutBpf(tool.withoutBpf);
	if (!bpfAllowed() && tool.withoutBpf) return wayWithoutBpf(tool.withoutBpf);
	requireBpfPrivileges();
	return {
		withBpf: true,
		unseen: 'the time of its BPF programs; to count both, run tstrace as root (CAP_SYS_ADMIN)',
		begin: (settings, subjects, options) => new BpfTracing(tool, settings, subjects, options),
	};
}

function wayWithoutBpf<S, F extends Findings>(way: WithoutBpf<S, F>): Way<S, F> {
	return {
		withBpf: false,
		unseen: way.unseen,
		begin: (settings, subjects, { note }) => {
			note(`without BPF: ${way.because}`);
			return new PlainTracing(way.reader(settings, subjects, note), subjects);
		},
	};
}

/** Programs of one BPF object; once constructed, events are being counted. */
export class BpfTracing<L extends FilteredLayout, S, F extends Findings> implements Tracing<F> {
	readonly reader: Reader<F>;
	readonly since: Moment;
	readonly cost: CostMeter;
	readonly canEnd: boolean;
	readonly #object: BpfObject<L>;
	readonly #filter: FilterSets;
	readonly #losses: Losses;
	readonly #note: Note;
	readonly #release: Array<() => void> = [];

	constructor(tool: BpfTool<L, S, F>, settings: S, subjects: Subjects, options: TracingOptions) {
		this.#note = options.note;
		this.canEnd = byNumber(subjects.filter);
		try {
			const object = new BpfObject(objectPath(tool.layout.name), tool.layout, options);
			this.#object = object;
			this.#release.push(() => object.close());
			this.#filter = new FilterSets(object, subjects.filter, subjects.command);
			const filterPrograms = this.#filter.configure();
			const plan = tool.plan(object, settings, subjects, this.#note);
			this.#release.push(() => plan.tables?.close());
			plan.tables?.order(!options.isTrial);
			const attach = [...filterPrograms, ...plan.attach];
			this.#load(attach, plan);
			this.#filter.fill();
			const reader = tool.reader(object, settings, subjects, this.#note, plan.tables);
			forgetKernelBtf();
			this.reader = reader;
			this.#release.push(() => reader.close?.());
			reader.begin?.();
			for (const name of attach) object.attach(name);
			this.#filter.dropEnded();
			for (const name of plan.runOnce ?? []) object.runIterator(name);
			this.since = momentNow();
			reader.begun?.();
			const metered = (trap_ns: number) => (name: string) => ({
				program: object.program(name),
				trap_ns,
			});
			const all = [...attach.map(metered(0)), ...(plan.load ?? []).map(metered(plan.trap_ns ?? 0))];
			const cost = new CostMeter(all, options.unmeasured);
			this.cost = cost;
			this.#release.push(() => cost.close());
			this.#losses = new Losses(object, () => cost.missed());
		} catch (error) {
			throw closedAfter(error, [() => this.close()]);
		}
	}

	allEnded(): boolean {
		return this.#filter.allEnded();
	}

	unseenComms(): string[] {
		return this.#filter.unseen();
	}

	detach(): void {
		// First: what it reads is as of now, and to end the statistics takes milliseconds.
		this.reader.end?.();
		this.cost.end();
		this.#object.detach();
		this.#object.waitForPrograms();
	}

	lost(): Lost {
		return { ...this.#losses.read(), ...this.reader.lost?.() };
	}

	close(): void {
		closeAll(this.#release.splice(0).reverse());
	}

	#load(attach: readonly string[], plan: Plan<L>): void {
		const others = [...(plan.runOnce ?? []), ...(plan.load ?? [])];
		this.#note(plan.because);
		this.#object.load([...attach, ...others], plan.withoutMaps);
		this.#note(`loaded ${[...others, ...attach].join(', ')}`);
	}
}

/** Events read in user space: of a tool that needs no BPF, or for users who may not use it. */
class PlainTracing<F extends Findings> implements Tracing<F> {
	readonly since = momentNow();
	readonly cost = new CostMeter([]);
	readonly canEnd: boolean;
	readonly #subjects: Subjects;

	constructor(
		readonly reader: Reader<F>,
		subjects: Subjects,
	) {
		this.#subjects = subjects;
		this.canEnd = byNumber(subjects.filter);
		reader.begin?.();
	}

	allEnded(): boolean {
		return subjectsEnded(this.#subjects.filter);
	}

	unseenComms(nothingFound: boolean): string[] {
		return nothingFound ? [...this.#subjects.filter.comms] : [];
	}

	detach(): void {
		this.reader.end?.();
	}

	lost(): Lost {
		return this.reader.lost?.() ?? {};
	}

	close(): void {
		this.reader.close?.();
	}
}

/** dist/bpf/ARCH/NAME.bpf.o beside the bundle; TSTRACE_BPF_DIR names another folder, for tests. */
function objectPath(name: string): string {
	const folder =
		process.env.TSTRACE_BPF_DIR ?? fileURLToPath(new URL(`bpf/${process.arch}`, import.meta.url));
	return `${folder}/${name}.bpf.o`;
}

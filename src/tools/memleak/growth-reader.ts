/** Where processes grow: the reader of `tstrace memleak --growth`. */

import type { Lost } from '../../aggregate/report.js';
import { type CapturedStack, stackValue } from '../../aggregate/stack.js';
import type { StackFindings } from '../../aggregate/stack-rows.js';
import { PerfCallHooks } from '../../bpf/calls/call-hooks.js';
import type { Subjects } from '../../bpf/filter.js';
import { depthOf } from '../../bpf/stacks/stacks.js';
import type { memleak as layout } from '../../generated/memleak.js';
import { closeAll } from '../../loader/close-all.js';
import type { BpfObject } from '../../loader/object.js';
import type { PerCpuEvents } from '../../perf/cpus.js';
import { eventOf } from '../../perf/names.js';
import type { PerfEvent } from '../../perf/open.js';
import { runOnOverflow } from '../../perf/programs.js';
import type { Patience, Reader } from '../../reader.js';
import type { NamingOptions } from '../../symbolize/naming.js';
import { ProcessWatch } from '../../symbolize/process-watch.js';
import type { UnwindTables } from '../../symbolize/walks/unwind-tables.js';
import { type AllocationKind, SiteTable } from './allocations.js';
import type { LeakSettings } from './options.js';
import { ResidentMemory, residentBytes } from './resident.js';

type Layout = typeof layout;

/** Both are counted when the fault has been handled; "page-faults" also counts those that fail. */
const FAULT_EVENTS = ['minor-faults', 'major-faults'];

export const GROWTH_KINDS: Partial<Record<AllocationKind, string>> = {
	GROWTH_FAULTS: 'page faults',
	GROWTH_BRK: 'brk',
	GROWTH_MMAP: 'mmap',
};

/** The program at perf's tracepoint, which the reader attaches. */
export const CALL_BY_PERF = 'memleak_call_perf' as const;

export class GrowthReader implements Reader<StackFindings> {
	readonly #object: BpfObject<Layout>;
	readonly #sites: SiteTable;
	readonly #processes: ProcessWatch;
	readonly #subjects: Subjects;
	readonly #naming: Pick<NamingOptions, 'maxDepth' | 'debuginfod'>;
	readonly #hooks = new PerfCallHooks();
	#events: PerCpuEvents<PerfEvent>[] = [];
	/** Of each site, what it had at the end of the interval before. */
	#before = new Map<bigint, { readonly bytes: number; readonly count: number }>();
	/** What the kernel says, which knows of huge pages, and of what was given back. */
	readonly #resident = new ResidentMemory();

	constructor(
		object: BpfObject<Layout>,
		settings: LeakSettings,
		subjects: Subjects,
		tables: UnwindTables | undefined,
	) {
		this.#object = object;
		this.#subjects = subjects;
		this.#naming = { maxDepth: depthOf(settings), debuginfod: settings.debuginfod };
		this.#sites = new SiteTable(object);
		this.#sites.open();
		this.#processes = new ProcessWatch(subjects, tables);
	}

	begin(): void {
		const { cpus } = this.#subjects.filter;
		this.#processes.begin();
		this.#resident.begin(this.#residentNow());
		for (const name of FAULT_EVENTS) {
			const program = this.#object.program('memleak_fault');
			this.#events.push(runOnOverflow({ ...eventOf(name), period: 1 }, program, cpus));
		}
		this.#hooks.attach(this.#object, [[CALL_BY_PERF, 'sys_enter']]);
	}

	drain(): void {
		for (const events of this.#events) events.refresh();
		this.#processes.drain();
	}

	end(): void {
		this.#hooks.close();
		for (const events of this.#events) events.close();
		this.#processes.end();
	}

	async read(patience?: Patience): Promise<StackFindings> {
		const sites = this.#sites.sites();
		const stacks = sites.flatMap(({ id, kind, allocated }): CapturedStack[] => {
			const before = this.#before.get(id) ?? { bytes: 0, count: 0 };
			const bytes = stackValue(allocated) - before.bytes;
			const count = allocated.count - before.count;
			return count > 0
				? [{ ...allocated, apart: { memory: GROWTH_KINDS[kind] ?? '' }, parts: [bytes], count }]
				: [];
		});
		this.#before = new Map(
			sites.map(({ id, allocated }) => [
				id,
				{ bytes: stackValue(allocated), count: allocated.count },
			]),
		);
		const named = await this.#processes.name(stacks, { ...this.#naming, patience });
		return {
			kind: 'stacks',
			unit: 'bytes',
			noun: 'time',
			about: {},
			parts: ['grown'],
			stacks: named.stacks,
			notices: [...this.#resident.notices(this.#residentNow()), ...named.notices],
		};
	}

	lost(): Lost {
		return this.#processes.lost();
	}

	close(): void {
		const held = [this.#hooks, ...this.#events, this.#processes, this.#sites];
		closeAll(held.map((each) => () => each.close()));
	}

	#residentNow(): Map<number, number> {
		const { filter, command } = this.#subjects;
		const pids = [...filter.pids, ...(command === undefined ? [] : [command])];
		return new Map(
			pids.flatMap((pid) => {
				const bytes = residentBytes(pid);
				return bytes === undefined ? [] : [[pid, bytes] as const];
			}),
		);
	}
}

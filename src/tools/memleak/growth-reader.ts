/** Where processes grow: the reader of `tstrace memleak --growth`. */

import type { Lost } from '../../aggregate/report.js';
import type { StackFindings } from '../../aggregate/stack-rows.js';
import type { Subjects } from '../../bpf/filter.js';
import { depthOf, StackTables } from '../../bpf/stacks.js';
import type { memleak as layout } from '../../generated/memleak.js';
import { closeAll } from '../../loader/close-all.js';
import type { BpfObject } from '../../loader/object.js';
import type { PerCpuEvents } from '../../perf/cpus.js';
import { parseEvent } from '../../perf/events.js';
import type { PerfEvent } from '../../perf/open.js';
import { runOnOverflow } from '../../perf/programs.js';
import type { Reader } from '../../reader.js';
import { humanBytes } from '../../render/units.js';
import { nameStacks } from '../../symbolize/naming.js';
import { ProcessWatch } from '../../symbolize/process-watch.js';
import { type AllocationKind, readSites, type Site } from './allocations.js';
import type { LeakSettings } from './options.js';
import { residentBytes } from './resident.js';

type Layout = typeof layout;

/** Both are counted when the fault has been handled; "page-faults" also counts those that fail. */
const FAULT_EVENTS = ['minor-faults', 'major-faults'];

export const GROWTH_KINDS: Partial<Record<AllocationKind, string>> = {
	GROWTH_FAULTS: 'page faults',
	GROWTH_BRK: 'brk',
	GROWTH_MMAP: 'mmap',
};

export class Growth implements Reader<StackFindings> {
	readonly #object: BpfObject<Layout>;
	readonly #tables: StackTables;
	readonly #processes: ProcessWatch;
	readonly #subjects: Subjects;
	readonly #maxDepth: number;
	#events: PerCpuEvents<PerfEvent>[] = [];
	/** Of each site, what it had at the end of the interval before. */
	#before = new Map<bigint, { bytes: number; count: number }>();
	#resident = new Map<number, number>();
	#ended = false;

	constructor(object: BpfObject<Layout>, settings: LeakSettings, subjects: Subjects) {
		this.#object = object;
		this.#subjects = subjects;
		this.#maxDepth = depthOf(settings);
		this.#tables = new StackTables(object);
		this.#tables.open();
		object.map('sites').update(new Uint8Array(8), new Uint8Array(object.layout.structs.site.size));
		this.#processes = new ProcessWatch(subjects);
	}

	begin(): void {
		const { cpus } = this.#subjects.filter;
		this.#processes.begin();
		this.#resident = this.#residentNow();
		for (const name of FAULT_EVENTS) {
			const program = this.#object.program('memleak_fault');
			this.#events.push(runOnOverflow({ ...parseEvent(name), period: 1 }, program, cpus));
		}
	}

	drain(): void {
		for (const events of this.#events) events.refresh();
		this.#processes.drain();
	}

	end(): void {
		for (const events of this.#events) events.close();
		this.#processes.drain();
		this.#ended = true;
	}

	async read(): Promise<StackFindings> {
		this.#processes.drain();
		const sites = readSites(this.#object, this.#tables.read());
		const stacks = sites.flatMap((site) => {
			const before = this.#before.get(site.id) ?? { bytes: 0, count: 0 };
			const bytes = site.allocated_bytes - before.bytes;
			const count = site.allocated_count - before.count;
			const kind = GROWTH_KINDS[site.kind] ?? '';
			return count > 0
				? [{ ...site, kind, at_ns: site.first_ns, parts: [bytes], count, variance: 0 }]
				: [];
		});
		this.#before = new Map(sites.map((site) => [site.id, amountOf(site)]));
		if (this.#ended) this.#processes.end(new Set(stacks.map(({ pid }) => pid)));
		const { rows, notices } = await nameStacks(stacks, this.#processes.history, {
			maxDepth: this.#maxDepth,
		});
		return {
			kind: 'stacks',
			unit: 'bytes',
			noun: 'time',
			about: {},
			parts: ['grown'],
			stacks: rows,
			notices: [...this.#processes.notices(), ...this.#residentNotices(), ...notices],
		};
	}

	lost(): Lost {
		return this.#processes.lost();
	}

	close(): void {
		const held = [...this.#events, this.#processes, this.#tables];
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

	/** What the kernel says, which knows of huge pages, and of what was given back. */
	#residentNotices(): string[] {
		const before = this.#resident;
		this.#resident = this.#residentNow();
		return [...this.#resident].map(([pid, now]) => {
			const was = before.get(pid) ?? 0;
			const sign = now < was ? '' : '+';
			return `process ${pid} has ${humanBytes(now)} resident (${sign}${humanBytes(now - was)}).`;
		});
	}
}

function amountOf({ allocated_bytes, allocated_count }: Site) {
	return { bytes: allocated_bytes, count: allocated_count };
}

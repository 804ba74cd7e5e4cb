/** What is outstanding, by stack, interval by interval: the reader of `tstrace memleak`. */

import type { Lost } from '../../aggregate/report.js';
import { type CapturedStack, stackValue } from '../../aggregate/stack.js';
import type { StackFindings } from '../../aggregate/stack-rows.js';
import type { Subjects } from '../../bpf/filter.js';
import { depthOf } from '../../bpf/stacks/stacks.js';
import type { memleak as layout } from '../../generated/memleak.js';
import { closeAll } from '../../loader/close-all.js';
import { readU64 } from '../../loader/layout.js';
import type { BpfObject } from '../../loader/object.js';
import type { Note, Patience, Reader } from '../../reader.js';
import { grouped } from '../../render/numbers.js';
import { humanBytes } from '../../render/units.js';
import { ProcessWatch } from '../../symbolize/process-watch.js';
import type { UnwindTables } from '../../symbolize/walks/unwind-tables.js';
import { type Allocation, type AllocationKind, eachAllocation, SiteTable } from './allocations.js';
import { HeapWatch } from './heap/watch.js';
import { stillMapped } from './live-mappings.js';
import { type LeakSettings, MAX_SAMPLE_BYTES, subjectOf } from './options.js';
import { Outstanding } from './outstanding.js';
import {
	keepLargest,
	type LeakSite,
	MAX_SINGLE,
	singleNotices,
	singleRow,
} from './single-allocations.js';
import { GrowthHistory } from './suspects.js';

type Layout = typeof layout;

/** By how much rarer samples become where they cost too much, and what they begin with. */
const SLOW_DOWN_FACTOR = 8;
const FIRST_SAMPLE_BYTES = 65_536;

/** The most mappings for which tstrace looks whether they still exist. */
const MAX_CHECKED = 2 ** 18;

export class Leaks implements Reader<StackFindings> {
	readonly #object: BpfObject<Layout>;
	readonly #settings: LeakSettings;
	readonly #sites: SiteTable;
	readonly #processes: ProcessWatch;
	readonly #heap: HeapWatch | undefined;
	/** By site: how a stack reads may change when more is known of it. */
	readonly #growth: GrowthHistory<bigint>;
	#sample_bytes: number;
	/** Whether that is so, while all probes are in. */
	readonly #seesAll: boolean;
	#unseenFrees = 0;
	/** Mappings that seemed outstanding in the last interval, and were too many to look for. */
	#uncheckedMappings = 0;

	constructor(
		object: BpfObject<Layout>,
		settings: LeakSettings,
		subjects: Subjects,
		note: Note,
		tables: UnwindTables | undefined,
	) {
		this.#object = object;
		this.#settings = settings;
		this.#sample_bytes = settings.sample_bytes;
		object.setVariable('sample_bytes', settings.sample_bytes);
		const heaps = subjectOf(settings, subjects) === 'heap';
		this.#seesAll = heaps && seesAll(settings, subjects);
		this.#growth = new GrowthHistory(settings.suspectAfter);
		this.#sites = new SiteTable(object);
		this.#sites.open();
		if (heaps) this.#heap = new HeapWatch(object, settings, subjects, note);
		this.#processes = new ProcessWatch(subjects, tables, {
			onRecord: (record) => this.#heap?.follow(record),
		});
	}

	begin(): void {
		this.#processes.begin();
		this.#heap?.begin(() => this.#processes.take());
		this.#object.setVariable('sees_all', this.#seesAll ? 1 : 0);
	}

	drain(): void {
		this.#processes.drain();
	}

	/** What is kept already counts as it did. */
	slowDown(): string | undefined {
		const sample_bytes = this.#sample_bytes * SLOW_DOWN_FACTOR || FIRST_SAMPLE_BYTES;
		if (sample_bytes > MAX_SAMPLE_BYTES) return undefined;
		this.#sample_bytes = sample_bytes;
		this.#object.setVariable('sees_all', 0);
		this.#object.setVariable('sample_bytes', sample_bytes);
		return `tstrace now keeps about one allocation per ${humanBytes(sample_bytes)}`;
	}

	end(): void {
		// Its frees go last.
		this.#object.setVariable('sees_all', 0);
		// Probes first: what is read then is of one moment.
		this.#heap?.close();
		this.#processes.end();
	}

	async read(patience?: Patience): Promise<StackFindings> {
		this.#processes.drain();
		const sites = this.#leakSites();
		if (this.#settings.all) keepLargest(sites);
		const stacks = sites.map((each) => this.#counted(each));
		const named = await this.#processes.name(stacks, {
			sources: true,
			fromTracepoint: true,
			maxDepth: depthOf(this.#settings),
			debuginfod: this.#settings.debuginfod,
			patience,
		});
		const comparable = !this.#settings.churn && !this.#settings.all;
		// What was allocated in all grows as long as it is used; a single one never does.
		if (comparable)
			this.#growth.next(new Map(sites.map(({ id, outstanding }) => [id, outstanding.bytes])));
		const rows = named.stacks.flatMap((row) => {
			const of = (row.sources ?? []).flatMap((source) => sites[source] ?? []);
			const details = { ...this.#details(of), ...(comparable ? this.#growthOf(of) : {}) };
			return [{ ...row, details }, ...of.flatMap(({ single }) => single.map(singleRow(row)))];
		});
		if (this.#settings.all) rows.sort((a, b) => b.value - a.value);
		return {
			kind: 'stacks',
			unit: 'bytes',
			noun: 'allocation',
			about: this.#about(),
			parts: [this.#settings.churn ? 'allocated' : 'outstanding'],
			stacks: rows.filter(({ value, count }) => value > 0 || count > 0),
			notices: [
				...this.#notices(),
				...(this.#settings.all ? singleNotices(sites) : []),
				...named.notices,
			],
		};
	}

	lost(): Lost {
		return this.#processes.lost();
	}

	close(): void {
		const held = [this.#heap, this.#processes, this.#sites];
		closeAll(held.map((each) => () => each?.close()));
	}

	/** What is to be shown, still without names. */
	#leakSites(): LeakSite[] {
		const now_ns = Number(process.hrtime.bigint());
		const { older_ns, all } = this.#settings;
		const sites = new Map<bigint, LeakSite>();
		for (const site of this.#sites.sites()) {
			// What a process had before it executed another program is gone.
			if (this.#heap?.isGone(site)) continue;
			sites.set(site.id, { ...site, outstanding: new Outstanding(), single: [] });
		}
		const leakSites = [...sites.values()];
		const mappings = new Map<number, Allocation[]>();
		let mappingCount = 0;
		let singles = 0;
		const see = (allocation: Allocation) => {
			const site = sites.get(allocation.site);
			const age_ns = now_ns - allocation.born_ns;
			if (!site || age_ns < older_ns) return;
			if (!all) {
				site.outstanding.add(allocation, age_ns);
				return;
			}
			site.single.push({ ...allocation, age_ns });
			if (++singles % (2 * MAX_SINGLE) === 0) keepLargest(leakSites);
		};
		eachAllocation(this.#object, (allocation) => {
			const pid = sites.get(allocation.site)?.allocated.pid;
			const isMapping = allocation.kind === 'ALLOCATION_MAPPING';
			if (!isMapping || !pid || mappingCount++ >= MAX_CHECKED) return see(allocation);
			const of = mappings.get(pid) ?? [];
			of.push(allocation);
			mappings.set(pid, of);
		});
		this.#uncheckedMappings = Math.max(0, mappingCount - MAX_CHECKED);
		for (const [pid, of] of mappings) stillMapped(pid, of).forEach(see);
		return leakSites;
	}

	#growthOf(sites: readonly LeakSite[]): { growth_bytes: number; suspect: boolean } {
		const { growth, suspect } = this.#growth.of(sites.map(({ id }) => id));
		return { growth_bytes: growth, suspect };
	}

	#counted({ allocated, kind, outstanding }: LeakSite): CapturedStack {
		const memory = KERNEL_KINDS[kind];
		const stack = { ...allocated, ...(memory ? { apart: { memory } } : {}) };
		// At the most: bpf/lib/memleak/byte_sampling.h.
		if (this.#settings.churn) return { ...stack, variance: stackValue(stack) * this.#sample_bytes };
		const { bytes, count, variance_bytes2: variance } = outstanding;
		return { ...stack, parts: [bytes], count, variance };
	}

	#details(sites: readonly LeakSite[]): Record<string, number> {
		const all = new Outstanding();
		for (const { outstanding } of sites) all.addAll(outstanding);
		const sum = (field: 'freed_bytes' | 'freed_count') =>
			sites.reduce((total, site) => total + site[field], 0);
		const freed = { freed_bytes: sum('freed_bytes'), freed_count: sum('freed_count') };
		if (this.#settings.churn) return { ...freed, outstanding_bytes: all.bytes };
		return {
			age_p50_s: all.age_s(50),
			age_p90_s: all.age_s(90),
			age_max_s: all.oldestAge_s(),
			...(this.#settings.all ? {} : freed),
		};
	}

	#about(): Record<string, number> {
		const sample_bytes = this.#sample_bytes;
		this.#unseenFrees = readU64(this.#object.variableBytes('unseen_frees'), 0);
		return {
			...(sample_bytes > 0 ? { sample_bytes } : {}),
			unseen_frees: this.#unseenFrees,
		};
	}

	#notices(): string[] {
		const unseen = this.#unseenFrees;
		return [
			...(unseen > 0
				? [
						`${grouped(unseen)} ${unseen === 1 ? 'call' : 'calls'} freed memory that was allocated before tracing began, or whose allocation tstrace did not see.`,
					]
				: []),
			...(this.#uncheckedMappings > 0
				? [
						`tstrace did not check ${grouped(this.#uncheckedMappings)} mappings against the kernel's list, as there were too many: ` +
							'the process may have unmapped parts of them.',
					]
				: []),
			...(this.#heap?.notices() ?? []),
		];
	}
}

/** What the kinds are called where there are several. */
const KERNEL_KINDS: Partial<Record<AllocationKind, string>> = {
	ALLOCATION_SLAB: 'slab',
	ALLOCATION_PAGES: 'pages',
	ALLOCATION_PERCPU: 'per-CPU',
};

/** Whether every allocation is kept, so that a free of an unknown address says something. */
function seesAll(settings: LeakSettings, { filter }: Subjects): boolean {
	const { tids, comms, cgroups, cpus } = filter;
	return (
		tids.length + comms.length + cgroups.length + cpus.length === 0 &&
		settings.sample_bytes === 0 &&
		settings.smallest_bytes === 0 &&
		!Number.isFinite(settings.largest_bytes)
	);
}

/** What is outstanding, by stack, interval by interval: the reader of `tstrace memleak`. */

import type { Lost } from '../../aggregate/report.js';
import type { StackFindings } from '../../aggregate/stack-rows.js';
import type { Subjects } from '../../bpf/filter.js';
import { depthOf, StackTables } from '../../bpf/stacks.js';
import type { memleak as layout } from '../../generated/memleak.js';
import { closeAll } from '../../loader/close-all.js';
import { readU64 } from '../../loader/layout.js';
import type { BpfObject } from '../../loader/object.js';
import type { Note, Reader } from '../../reader.js';
import { grouped } from '../../render/numbers.js';
import { humanBytes } from '../../render/units.js';
import { type CountedStack, nameStacks } from '../../symbolize/naming.js';
import { ProcessWatch } from '../../symbolize/process-watch.js';
import {
	type Allocation,
	type AllocationKind,
	eachAllocation,
	readSites,
	type Site,
} from './allocations.js';
import { GrowthHistory } from './growth.js';
import { HeapWatch } from './heap/watch.js';
import { stillMapped } from './live-mappings.js';
import { type LeakSettings, MAX_SAMPLE_BYTES, subjectOf } from './options.js';
import { Outstanding } from './outstanding.js';
import {
	keepLargest,
	MAX_SINGLE,
	type Shown,
	singleNotices,
	singleRow,
} from './single-allocations.js';

type Layout = typeof layout;

/** By how much rarer samples become where they cost too much, and what they begin with. */
const SLOW_DOWN_FACTOR = 8;
const FIRST_SAMPLE_BYTES = 65_536;

/** The most mappings for which tstrace looks whether they still exist. */
const MAX_CHECKED = 2 ** 18;

/** A site, and what is outstanding there. */
interface Place extends Shown {
	readonly site: Site;
}

export class Leaks implements Reader<StackFindings> {
	readonly #object: BpfObject<Layout>;
	readonly #settings: LeakSettings;
	readonly #tables: StackTables;
	readonly #processes: ProcessWatch;
	readonly #heap: HeapWatch | undefined;
	/** By site: how a stack reads may change when more is known of it. */
	readonly #growth: GrowthHistory<bigint>;
	#sample_bytes: number;
	/** Whether that is so, while all probes are in. */
	readonly #seesAll: boolean;
	#unseenFrees = 0;
	/** That seem outstanding, in the last interval. */
	#mappings = 0;
	#ended = false;

	constructor(object: BpfObject<Layout>, settings: LeakSettings, subjects: Subjects, note: Note) {
		this.#object = object;
		this.#settings = settings;
		this.#sample_bytes = settings.sample_bytes;
		object.setVariable('sample_bytes', settings.sample_bytes);
		const heaps = subjectOf(settings, subjects) === 'heap';
		this.#seesAll = heaps && seesAll(settings, subjects);
		this.#growth = new GrowthHistory(settings.suspectAfter);
		this.#tables = new StackTables(object);
		this.#tables.open();
		object.map('sites').update(new Uint8Array(8), new Uint8Array(object.layout.structs.site.size));
		if (heaps) this.#heap = new HeapWatch(object, settings, subjects, note);
		this.#processes = new ProcessWatch(subjects, (record) => this.#heap?.follow(record));
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
		this.#processes.drain();
		this.#ended = true;
	}

	async read(): Promise<StackFindings> {
		this.#processes.drain();
		const places = this.#places();
		if (this.#settings.all) keepLargest(places);
		const stacks = places.map((place) => this.#counted(place));
		if (this.#ended) this.#processes.end(new Set(stacks.map(({ pid }) => pid)));
		const named = await nameStacks(stacks, this.#processes.history, {
			sources: true,
			fromTracepoint: true,
			maxDepth: depthOf(this.#settings),
		});
		const comparable = !this.#settings.churn && !this.#settings.all;
		// What was allocated in all grows as long as it is used; a single one never does.
		if (comparable)
			this.#growth.next(new Map(places.map((each) => [each.site.id, each.outstanding.bytes])));
		const rows = named.rows.flatMap((row) => {
			const of = (row.sources ?? []).flatMap((source) => places[source] ?? []);
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
				...this.#processes.notices(),
				...this.#notices(),
				...(this.#settings.all ? singleNotices(places) : []),
				...named.notices,
			],
		};
	}

	lost(): Lost {
		return this.#processes.lost();
	}

	close(): void {
		const held = [this.#heap, this.#processes, this.#tables];
		closeAll(held.map((each) => () => each?.close()));
	}

	/** What is to be shown, still without names. */
	#places(): Place[] {
		const now_ns = Number(process.hrtime.bigint());
		const { older_ns, all } = this.#settings;
		const sites = new Map<bigint, Place>();
		for (const site of readSites(this.#object, this.#tables.read())) {
			// What a process had before it executed another program is gone.
			if (this.#heap?.isGone(site)) continue;
			sites.set(site.id, { site, outstanding: new Outstanding(), single: [] });
		}
		const places = [...sites.values()];
		const mappings = new Map<number, Allocation[]>();
		this.#mappings = 0;
		let singles = 0;
		const see = (allocation: Allocation) => {
			const place = sites.get(allocation.site);
			const age_ns = now_ns - allocation.born_ns;
			if (!place || age_ns < older_ns) return;
			if (!all) {
				place.outstanding.add(allocation, age_ns);
				return;
			}
			place.single.push({ ...allocation, age_ns });
			if (++singles % (2 * MAX_SINGLE) === 0) keepLargest(places);
		};
		eachAllocation(this.#object, (allocation) => {
			const pid = sites.get(allocation.site)?.site.pid;
			const isMapping = allocation.kind === 'ALLOCATION_MAPPING';
			if (!isMapping || !pid || this.#mappings++ >= MAX_CHECKED) return see(allocation);
			const of = mappings.get(pid) ?? [];
			of.push(allocation);
			mappings.set(pid, of);
		});
		for (const [pid, of] of mappings) stillMapped(pid, of).forEach(see);
		return places;
	}

	#growthOf(places: readonly Place[]): { growth_bytes: number; suspect: boolean } {
		const { growth, suspect } = this.#growth.of(places.map(({ site }) => site.id));
		return { growth_bytes: growth, suspect };
	}

	#counted({ site, outstanding }: Place): CountedStack {
		const at = { at_ns: site.first_ns, kind: KERNEL_KINDS[site.kind] };
		if (this.#settings.churn) {
			const { allocated_bytes, allocated_count: count } = site;
			// At the most: bpf/lib/byte_sampling.h.
			const variance = allocated_bytes * this.#sample_bytes;
			return { ...site, ...at, parts: [allocated_bytes], count, variance };
		}
		const { bytes, count, variance_bytes2: variance } = outstanding;
		return { ...site, ...at, parts: [bytes], count, variance };
	}

	#details(places: readonly Place[]): Record<string, number> {
		const all = new Outstanding();
		for (const { outstanding } of places) all.addAll(outstanding);
		const sum = (field: 'freed_bytes' | 'freed_count') =>
			places.reduce((total, { site }) => total + site[field], 0);
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
			...(this.#mappings > MAX_CHECKED
				? [
						`tstrace did not check ${grouped(this.#mappings - MAX_CHECKED)} mappings against the kernel's list, as there were too many: ` +
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

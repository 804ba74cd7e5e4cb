/** memleak: what is allocated and never freed. */

import { callTables } from '../../abi/syscalls.js';
import { shownStacks } from '../../aggregate/keep-stacks.js';
import type { StackFindings, StackRow } from '../../aggregate/stack-rows.js';
import { chooseCallHook, PERF_HOOK_NS } from '../../bpf/calls/call-hooks.js';
import { mapsCanGrow } from '../../bpf/growing-maps.js';
import { memleak as layout } from '../../generated/memleak.js';
import { pageSizeBytes } from '../../loader/memory.js';
import type { BpfObject } from '../../loader/object.js';
import { filtersOf } from '../../options/stack-filter.js';
import { refuseKernelThreads } from '../../proc/kernel-threads.js';
import { renderStacks } from '../../render/stacks.js';
import type { Style } from '../../render/terminal.js';
import { humanBytes } from '../../render/units.js';
import { unwindTables } from '../../symbolize/walks/unwind-tables.js';
import { defineTool, type Plan } from '../../tool.js';
import { SiteTable } from './allocations.js';
import { chanceTable } from './byte-sampling.js';
import { doctor } from './doctor.js';
import { CALL_BY_PERF, GROWTH_KINDS, GrowthReader } from './growth-reader.js';
import { chooseProbes } from './heap/probe-ways.js';
import { kernelMemoryConstants, kernelMemoryPrograms } from './kernel-memory.js';
import { Leaks } from './leaks.js';
import {
	type LeakSettings,
	leakOptions,
	leakSettings,
	requireHeap,
	shownOf,
	subjectOf,
} from './options.js';

type Layout = typeof layout;

const NO_USER_MEMORY = "it has no heap; without -p, memleak shows the kernel's memory";

/** Threads that have called the allocator, and live. */
const MAX_CALLING_THREADS = 16_384;

export const memleak = defineTool<
	Layout,
	LeakSettings,
	StackFindings,
	ReturnType<typeof leakOptions>
>({
	name: 'memleak',
	summary: 'which stacks allocate memory and do not free it',
	description:
		'Shows which stacks allocated memory that is outstanding: allocated since tracing began, and ' +
		"not freed yet. With -p or COMMAND it traces the heaps and mappings of these processes, else the kernel's own memory.",
	examples: [
		['tstrace memleak -p 1234 10', 'a process, every 10 seconds'],
		['tstrace memleak -p 1234 --sample-bytes 512K 10', 'sampled: costs much less'],
		['tstrace memleak -p 1234 --older 60 120 1', 'older than a minute'],
		['tstrace memleak -- ./server --once', 'a command, from its start'],
	],
	options: leakOptions,
	kind: 'stacks',
	repeats: true,
	stackTool: {
		use: 'report',
		title: 'Memory Flame Graph',
		palette: 'mem',
		folded: { unit: 'bytes', divisor: 1 },
	},
	layout,
	doctor,

	settings: leakSettings,

	subject(settings, subjects) {
		const { sample_bytes } = settings;
		const of = subjectOf(settings, subjects);
		if (of === 'growth') return 'page faults, brk and mmap';
		const what = of === 'kernel' ? 'kernel allocations' : 'allocations';
		return sample_bytes > 0 ? `${what} (one in ${humanBytes(sample_bytes)})` : what;
	},

	filters: filtersOf,

	plan(object, settings, subjects, note): Plan<Layout> {
		const subject = subjectOf(settings, subjects);
		requireHeap(settings, subject);
		refuseKernelThreads(subjects.filter, NO_USER_MEMORY);
		new SiteTable(object).configure({
			...settings,
			kernel: subject === 'kernel',
			user: subject !== 'kernel',
		});
		object.map('allocations').setMaxEntries(subject === 'growth' ? 1 : settings.maxAllocations);
		// Those of the kernel are made where interrupts may be off.
		if (subject === 'heap' && mapsCanGrow()) object.map('allocations').setGrowing();
		if (subject === 'heap') object.map('heap_calls').setMaxEntries(MAX_CALLING_THREADS);
		object.map('scratch').setMaxEntries(layout.enums.stack_constant.SCRATCHES);
		object.setConstants({
			page_bytes: pageSizeBytes(),
			smallest_bytes: settings.smallest_bytes,
			...(Number.isFinite(settings.largest_bytes) ? { largest_bytes: settings.largest_bytes } : {}),
		});
		const chances = object.constantBytes('chances');
		for (const [i, chance] of chanceTable().entries()) chances.setUint32(i * 4, chance, true);
		const tables =
			subject === 'kernel' ? undefined : unwindTables(object, settings, subjects, note);
		if (subject === 'heap') return { ...heapPlan(object), tables };
		if (subject === 'growth') return { ...growthPlan(object), tables };
		object.setConstants(kernelMemoryConstants());
		return {
			attach: kernelMemoryPrograms(),
			because: "uses the tracepoints of the kernel's allocators",
		};
	},

	reader: (object, settings, subjects, note, tables) =>
		settings.growth
			? new GrowthReader(object, settings, subjects, tables)
			: new Leaks(object, settings, subjects, note, tables),

	text(settings) {
		return {
			none: settings.growth
				? 'nothing has grown'
				: settings.churn
					? 'nothing was allocated'
					: 'nothing is outstanding',
			report: async (findings, style) => {
				if (settings.growth) return growthText(findings, settings, style);
				const verb = settings.churn ? 'allocated' : 'outstanding';
				const top = shownOf(findings.stacks, settings);
				return renderStacks(findings, { ...settings, top, style, verb, detail, telling });
			},
			// What is known of an entry beside its sums cannot be added up.
			shown: (findings, json) => shownStacks(findings, { ...settings, by: 'thread' }, json),
			stacks: { ...settings, process: false },
		};
	},
});

/**
 * What the kernel's trap takes at each probe that is hit. `make bench TOOL=memleak`, a virtual machine
 * with kernel 6.18: a pair of malloc and free takes 3486 ns, 1669 of them in programs, and hits 3 probes.
 */
const TRAP_NS = Math.round((3486 - 1669) / 3);

function heapPlan(object: BpfObject<Layout>): Plan<Layout> {
	const { multiType, cookies, because } = chooseProbes();
	const programs = ['memleak_entry', 'memleak_return', 'memleak_last'] as const;
	if (multiType !== undefined) {
		for (const name of programs) object.program(name).setAttachType(multiType);
	}
	return {
		attach: ['memleak_exit'],
		load: programs,
		trap_ns: TRAP_NS,
		withoutMaps: cookies ? ['signatures'] : [],
		because,
	};
}

function growthPlan(object: BpfObject<Layout>): Plan<Layout> {
	const [native] = callTables();
	const numberOf = (name: string) =>
		Number(Object.entries(native).find(([, each]) => each === name)?.[0] ?? -1);
	object.setConstants({ brk_nr: numberOf('brk'), mmap_nr: numberOf('mmap') });
	const hook = chooseCallHook();
	const isRaw = hook.name === 'raw';
	return {
		attach: isRaw ? ['memleak_call'] : [],
		load: isRaw ? ['memleak_fault'] : ['memleak_fault', CALL_BY_PERF],
		// Of calls; what the kernel takes for a page fault's event was not measured.
		trap_ns: isRaw ? 0 : PERF_HOOK_NS,
		because: `traces page faults, brk and mmap, at ${hook.name} tracepoints: ${hook.because}`,
	};
}

/** Bytes of different kinds do not add up. */
function growthText(findings: StackFindings, settings: LeakSettings, style: Style): string {
	return Object.values(GROWTH_KINDS)
		.map((memory) => {
			const isOf = ({ key }: StackRow) => key.memory === memory;
			const stacks = findings.stacks.filter(isOf);
			const leftOut = (findings.leftOut ?? []).map((each) => ({
				...each,
				rows: each.rows.filter(isOf),
			}));
			return renderStacks(
				{ ...findings, stacks, leftOut },
				{ ...settings, style, verb: `by ${memory}` },
			);
		})
		.join('');
}

/** Functions of the kernel's allocators, and what they call themselves by: mm/slub.c, mm/page_alloc.c. */
const KERNEL_ALLOCATOR =
	/^_*(alloc|kmalloc|kmem_cache|kvmalloc|vmalloc|vma_alloc|folio_alloc|slab|allocate|krealloc|kzalloc|get_free_page|pcpu_alloc|kmemdup|kstrdup)/;

/** The function that called the kernel's allocator. */
function telling({ frames }: StackRow) {
	return frames
		.filter(({ name, kind }) => kind !== 'kernel' || !KERNEL_ALLOCATOR.test(name))
		.slice(-1);
}

/** "+12,000 B in the interval, growing; age p50 2.0 s, oldest 10.1 s" */
function detail({ details = {} }: StackRow): string {
	const { growth_bytes, age_p50_s, age_max_s, freed_bytes, size_bytes, suspect } = details;
	// A single one.
	if (size_bytes !== undefined) return `age ${age(age_max_s)}`;
	const parts: string[] = [];
	if (suspect) parts.push('SUSPECT, keeps growing');
	if (typeof growth_bytes === 'number' && age_p50_s !== undefined)
		parts.push(`${growth_bytes < 0 ? '' : '+'}${humanBytes(growth_bytes)}`);
	if (age_p50_s !== undefined) {
		parts.push(`age p50 ${age(age_p50_s)}, oldest ${age(age_max_s)}`);
	}
	if (typeof freed_bytes === 'number' && freed_bytes > 0)
		parts.push(`freed ${humanBytes(freed_bytes)}`);
	return parts.join(', ');
}

function age(seconds: unknown): string {
	const value = Number(seconds);
	return value < 100 ? `${value.toPrecision(2)} s` : `${Math.round(value)} s`;
}

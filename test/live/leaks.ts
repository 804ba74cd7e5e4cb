/** What test/workloads/leaks.c, cuts.c, freeing.c, news.cc and heaps.c leave behind, by function; and how to ask for it. */
import assert from 'node:assert/strict';
import { type JsonStack, type StackReport, stackReport, traceWork } from './stacks.js';
import type { Finished, Workload } from './support.js';

type Leak = readonly [bytes: number, count: number];
const PAGE = 4096;

/** Of KIND "all": bytes that stay, and in how many allocations. */
export const ALL: Readonly<Record<string, Leak>> = {
	leak_small: [99_700, 997],
	leak_large: [31 * 4096, 31],
	leak_calloc: [13 * 210, 13],
	leak_realloc: [11 * 5040, 22],
	leak_shrunk: [17 * 90, 17],
	leak_reallocarray: [7 * 500, 7],
	leak_posix_memalign: [5 * 300, 5],
	leak_aligned_alloc: [6 * 640, 6],
	leak_memalign: [8 * 130, 8],
	leak_valloc: [9 * 1000, 9],
	leak_pvalloc: [10 * 1001, 10],
	leak_unmoved: [3 * 333, 3],
	leak_mapping: [3 * 3 * PAGE, 3],
	leak_moved_mapping: [4 * 4 * PAGE, 4],
	leak_shrunk_mapping: [2 * 2 * PAGE, 2],
};

/** Of cuts: of these the kernel knows more than the calls say. */
export const CUTS: Readonly<Record<string, Leak>> = {
	leak_aligned_pages: [7 * 3 * PAGE, 7],
	leak_cut_pages: [4 * PAGE, 1],
	leak_reserved_pages: [15 * PAGE, 1],
	leak_pages_within: [5 * PAGE, 1],
	leak_rest_of_pages: [14 * PAGE, 1],
	leak_pages_in_front: [6 * PAGE, 1],
	leak_pages_in_the_middle: [6 * PAGE, 1],
	leak_beside_a_byte: [3 * 5 * PAGE, 3],
	leak_after_steps: [3 * 4 * PAGE, 3],
	leak_more_than_asked: [2 * 3 * PAGE, 2],
};

/** Of cuts: bytes that were unmapped, of mappings of which only their ends were. */
export const ENDS_CUT: Readonly<Record<string, number>> = {
	leak_aligned_pages: 7 * 5 * PAGE,
	// 2 pages and a byte, which are 3 pages.
	leak_beside_a_byte: 3 * 3 * PAGE,
	leak_after_steps: 3 * 12 * PAGE,
};

/** Of freeing: by four threads, 25 times each. */
export const FREEING: Readonly<Record<string, Leak>> = {
	map_after_free: [4 * 25 * 3 * PAGE, 4 * 25],
	map_over_free: [4 * 25 * 5 * PAGE, 4 * 25],
};

export const NEWS: Readonly<Record<string, Leak>> = {
	leak_new: [23 * 77, 23],
	leak_array: [19 * 88, 19],
	leak_aligned: [5 * 192, 5],
	leak_aligned_array: [6 * 128, 6],
	leak_nothrow: [7 * 55 + 7 * 65, 14],
	leak_after_failure: [10 * 33 + 5 * 44, 15],
};
export const CAUGHT = 10;

const leaksFrom = (heap: string, more: number): Readonly<Record<string, Leak>> => ({
	[`${heap}_malloc`]: [(50 + more) * 100, 50 + more],
	[`${heap}_calloc`]: [(20 + more) * 210, 20 + more],
	[`${heap}_realloc`]: [(10 + more) * (500 + 40 + 90), 3 * (10 + more)],
	[`${heap}_unmoved`]: [(3 + more) * 333, 3 + more],
});

/** Of heaps: what stays of each of its allocators. */
export const HEAPS = {
	libraryJe: leaksFrom('library_je', 1),
	libraryOwn: leaksFrom('library_own', 2),
	programJe: leaksFrom('program_je', 3),
	programLibc: leaksFrom('program_libc', 4),
};

export interface LeakRow extends JsonStack {
	readonly age_p50_s: number;
	readonly age_p90_s: number;
	readonly age_max_s: number;
	readonly allocated_bytes: number;
	readonly freed_bytes: number;
	readonly freed_count: number;
	readonly outstanding_bytes: number;
	readonly growth_bytes: number;
	readonly suspect: boolean;
	readonly address: string;
}

export interface LeakReport extends StackReport {
	readonly stacks: readonly LeakRow[];
	readonly unseen_frees: number;
}

export const leakReport = (finished: Finished) => stackReport(finished) as LeakReport;

/** The leaf, which is who called the allocator. */
export const leafOf = ({ frames }: JsonStack) => frames.at(-1) ?? '';

/** What is outstanding by the function that allocated it. */
export function leaksOf(stacks: readonly JsonStack[]): Record<string, Leak> {
	const leaks: Record<string, Leak> = {};
	for (const stack of stacks) {
		const [bytes, count] = leaks[leafOf(stack)] ?? [0, 0];
		leaks[leafOf(stack)] = [bytes + stack.value, count + stack.count];
	}
	return leaks;
}

/** What a workload leaks while it works; it has to end as it would untraced. */
export async function leakedBy(
	workload: Workload,
	...args: readonly string[]
): Promise<{ report: LeakReport; done: number[] }> {
	const whose = ['-p', `${workload.pid}`];
	const { finished, done } = await traceWork(workload, ['memleak', '--json', ...whose, ...args]);
	assert.equal(workload.status, 0, 'the workload ended well');
	return { report: leakReport(finished), done };
}

/**
 * What of the mappings that seem outstanding is mapped still. Any part of one may be unmapped, or mapped
 * over, without the call that says so being about its address: only the kernel's list knows.
 */
import { firstAtLeast } from '../../ascending.js';
import { readMaps } from '../../proc/process-facts.js';
import type { Allocation } from './allocations.js';

type MappedAllocation = Pick<Allocation, 'address' | 'size_bytes' | 'weight_bytes' | 'born_ns'>;
type AddressRange = readonly [start: number, end: number];

/** For a process that has ended: what was mapped over is still known. */
const EVERYWHERE: readonly AddressRange[] = [[0, Number.POSITIVE_INFINITY]];

/** Mappings of one process, without what is not mapped there any more, or another's. */
export function stillMapped<M extends MappedAllocation>(
	pid: number,
	mappings: readonly M[],
): readonly M[] {
	const text = readMaps(pid);
	return withinRanges(mappings, text ? rangesOf(text) : EVERYWHERE);
}

/** man 5 proc_pid_maps: by address, and apart from each other. */
function rangesOf(maps: string): AddressRange[] {
	const lines = maps.matchAll(/^([0-9a-f]{1,16})-([0-9a-f]{1,16}) /gm);
	return Array.from(lines, ([, start, end]) => [Number(`0x${start}`), Number(`0x${end}`)]);
}

/**
 * What lies within `ranges`, which are sorted and disjoint; where mappings overlap, it is the latest's.
 * One of which a part is left counts for that part.
 */
export function withinRanges<M extends MappedAllocation>(
	mappings: readonly M[],
	ranges: readonly AddressRange[],
): M[] {
	const startOf = ({ address }: M) => Number(address);
	const edges = new Float64Array(
		[...mappings.flatMap((m) => [startOf(m), startOf(m) + m.size_bytes]), ...ranges.flat()].sort(
			(a, b) => a - b,
		),
	);
	// Between edges all is of one kind; `next` leads past what has its owner, or is not mapped.
	const next = Uint32Array.from({ length: edges.length + 1 }, (_, i) => i);
	const skipTaken = (from: number): number => {
		let to = from;
		while (next[to] !== to) {
			next[to] = next[next[to] as number] as number;
			to = next[to] as number;
		}
		return to;
	};
	let range = 0;
	for (let i = 0; i < edges.length; i++) {
		while (range < ranges.length && (ranges[range]?.[1] ?? 0) <= (edges[i] as number)) range++;
		if ((edges[i] as number) < (ranges[range]?.[0] ?? Number.POSITIVE_INFINITY)) next[i] = i + 1;
	}
	const left = new Map<M, number>();
	for (const mapping of mappings.toSorted((a, b) => b.born_ns - a.born_ns)) {
		const end = startOf(mapping) + mapping.size_bytes;
		let bytes = 0;
		let i = skipTaken(firstAtLeast(edges, startOf(mapping)));
		for (; (edges[i] ?? end) < end; i = skipTaken(i)) {
			bytes += (edges[i + 1] as number) - (edges[i] as number);
			next[i] = i + 1;
		}
		left.set(mapping, bytes);
	}
	return mappings.flatMap((mapping) => {
		const { size_bytes, weight_bytes } = mapping;
		const bytes = left.get(mapping) ?? 0;
		if (bytes === size_bytes) return [mapping];
		if (bytes === 0) return [];
		return [{ ...mapping, size_bytes: bytes, weight_bytes: (weight_bytes * bytes) / size_bytes }];
	});
}

/** `memleak -a`: allocations that are rows of their own. */
import type { StackRow } from '../../aggregate/stack-rows.js';
import { grouped } from '../../render/numbers.js';
import type { Allocation, Site } from './allocations.js';
import type { Outstanding } from './outstanding.js';

/** How many are rows of their own; more would take gigabytes, and minutes. */
export const MAX_SINGLE = 100_000;

interface Single extends Allocation {
	readonly age_ns: number;
}

/** A site with what is outstanding of it. */
export interface LeakSite extends Site {
	/** But for the single ones. */
	readonly outstanding: Outstanding;
	/** Allocations that are to be rows of their own. */
	single: Single[];
}

/** Leaves the largest allocations single, MAX_SINGLE in all; the others are added up where they are. */
export function keepLargest(sites: readonly LeakSite[]): void {
	const sizes = Float64Array.from(
		sites.flatMap(({ single }) => single.map(({ weight_bytes }) => weight_bytes)),
	).sort();
	if (sizes.length <= MAX_SINGLE) return;
	const least = sizes[sizes.length - MAX_SINGLE] as number;
	let room = MAX_SINGLE - sizes.filter((size) => size > least).length;
	for (const site of sites) {
		site.single = site.single.filter((each) => {
			if (each.weight_bytes > least) return true;
			if (each.weight_bytes === least && room-- > 0) return true;
			site.outstanding.add(each, each.age_ns);
			return false;
		});
	}
}

/** Makes rows of a site's allocations, out of what was named for the site. */
export function singleRow({ key, frames }: StackRow): (of: Single) => StackRow {
	return ({ address, tid, size_bytes, weight_bytes, weight_count, age_ns }) => {
		const age_s = age_ns / 1e9;
		return {
			key: { ...key, ...(tid ? { tid } : {}), address: `0x${address.toString(16)}` },
			frames,
			parts: [weight_bytes],
			value: weight_bytes,
			count: weight_count,
			variance: weight_bytes * (weight_bytes - size_bytes),
			details: { size_bytes, age_p50_s: age_s, age_p90_s: age_s, age_max_s: age_s },
		};
	};
}

/** Says how many are not by themselves. */
export function singleNotices(sites: readonly LeakSite[]): string[] {
	const others = sites.reduce((sum, { outstanding }) => sum + outstanding.count, 0);
	if (others === 0) return [];
	return [
		`-a lists the ${grouped(MAX_SINGLE)} largest allocations one by one; the other ` +
			`${grouped(others)} are added up by stack.`,
	];
}

/** Two samplings of the same program at the same time: which ways to a function each of them found. */
import { isWhole } from '../whole/stacks.js';

/** The return addresses of a whole stack, from the leaf's caller to the root, to how often it was sampled. */
export type Paths = ReadonlyMap<string, number>;

/**
 * Samples of a path that one sampling must have before the other is asked for it. Where both sample as
 * often, half of them fall to each: all ten to one of the two happens to one path in a thousand.
 */
export const FEW = 10;

/** `stacks`: addresses, leaf first. Stacks of one frame have no path. */
export function pathsOf(stacks: Iterable<{ addresses: ArrayLike<number>; count: number }>): Paths {
	const paths = new Map<string, number>();
	for (const { addresses, count } of stacks) {
		if (addresses.length < 2) continue;
		const path = Array.from(addresses)
			.slice(1)
			.map((address) => address.toString(16))
			.join(' ');
		paths.set(path, (paths.get(path) ?? 0) + count);
	}
	return paths;
}

export interface Found {
	/** Paths with FEW samples or more, and their samples. */
	readonly paths: number;
	readonly samples: number;
	/** Those of them that the other sampling has not. */
	readonly missing: ReadonlyArray<readonly [path: string, samples: number]>;
}

/** Which of the paths another sampling has, too. */
export function foundIn(paths: Paths, other: Paths): Found {
	const asked = [...paths].filter(([, samples]) => samples >= FEW);
	const samples = asked.reduce((sum, [, count]) => sum + count, 0);
	return { paths: asked.length, samples, missing: asked.filter(([path]) => !other.has(path)) };
}

/** The lowest address that can be the kernel's. */
const KERNEL = 2 ** 63;

/**
 * Whole user stacks in what `perf script -F tid,ip,sym` prints: a line with the thread, then frames, leaf
 * first. perf gives the address before a return address: tools/perf/util/unwind-libdw.c, frame_callback.
 */
export function* wholeOfPerf(text: string): Generator<{ addresses: number[]; count: number }> {
	for (const sample of text.split('\n\n')) {
		const frames = [...sample.matchAll(/^\s+([\da-f]+) (.*)$/gm)]
			.map(([, address = '', name = '']) => ({ address: Number.parseInt(address, 16), name }))
			.filter(({ address }) => address < KERNEL);
		if (!isWhole(frames.map(({ name }) => name).reverse())) continue;
		yield { addresses: frames.map(({ address }, i) => address + Number(i > 0)), count: 1 };
	}
}

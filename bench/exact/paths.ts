/** Two samplings of the same program at the same time: which ways to a function each of them found. */
import { isWhole } from '../whole/stacks.js';
import { placeIn } from './places.js';

/** The return addresses of a whole stack, from the leaf's caller to the root, to how often it was sampled. */
type Paths = ReadonlyMap<string, number>;

/** Frames, leaf first: "libc.so.6+0x1234", as of the file. */
interface PlacedStack {
	readonly frames: readonly string[];
	readonly count: number;
}

/**
 * Samples of a path that one sampling must have before the other is asked for it. Where both sample as
 * often, half of them fall to each: all ten to one of the two happens to one path in a thousand.
 */
export const FEW = 10;

/** Stacks of one frame have no path. */
export function pathsOf(stacks: Iterable<PlacedStack>): Paths {
	const paths = new Map<string, number>();
	for (const { frames, count } of stacks) {
		const path = frames.slice(1).join(' ◂ ');
		if (path !== '') paths.set(path, (paths.get(path) ?? 0) + count);
	}
	return paths;
}

export interface Found {
	/** Paths with FEW samples or more, their samples, and those of all paths. */
	readonly paths: number;
	readonly samples: number;
	readonly all: number;
	/** Those of them that the other sampling has not. */
	readonly missing: ReadonlyArray<readonly [path: string, samples: number]>;
}

/** Which of the paths another sampling has, too. */
export function foundIn(paths: Paths, other: Paths): Found {
	const asked = [...paths].filter(([, samples]) => samples >= FEW);
	const sum = (some: Iterable<readonly [string, number]>) =>
		[...some].reduce((total, [, count]) => total + count, 0);
	return {
		...{ paths: asked.length, samples: sum(asked), all: sum(paths) },
		missing: asked.filter(([path]) => !other.has(path)),
	};
}

/**
 * Whole user stacks in what `perf script -F tid,ip,sym,dso` prints: a line with the thread, then frames, leaf
 * first. perf gives the address before a return address, as of the file: tools/perf/util/unwind-libdw.c,
 * frame_callback; evsel_fprintf.c, sample__fprintf_callchain.
 */
export function* wholeOfPerf(text: string): Generator<PlacedStack> {
	for (const sample of text.split('\n\n')) {
		const frames = [...sample.matchAll(/^\s+([\da-f]+) (.*) \((.*)\)$/gm)]
			.map(([, address = '', name = '', file = '']) => ({ address, name, file }))
			.filter(({ file }) => !file.startsWith('[k'));
		if (!isWhole(frames.map(({ name }) => name).reverse())) continue;
		const placed = frames.map(({ address, file }, i) =>
			placeIn(file, Number.parseInt(address, 16) + Number(i > 0)),
		);
		yield { frames: placed, count: 1 };
	}
}

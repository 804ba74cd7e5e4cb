/** Frames of `perf script` text that addr2line is asked about, once all of them are known. */
import type { FrameTable } from '../aggregate/frame-table.js';
import type { StackProfile } from '../aggregate/stack-profile.js';
import { MAX_STACK_FRAMES, StackTable } from '../aggregate/stack-table.js';
import { TstraceError } from '../errors.js';
import { functionsAt, type PerfAddress } from './addr2line.js';
import type { Notify } from './format-reader.js';
import { type FrameText, kindOf } from './perf-frames.js';

/** What is in no file: compiled by a JIT, the kernel's, [vdso]; stackcollapse-perf.pl's own list. */
const NO_FILE = /perf-\d+.map|kernel\.|\[[^[\]]+\]/;
/** Linux has no longer ones. */
const MAX_PATH = 4096;

interface Deferred extends PerfAddress {
	readonly module: string;
	/** What stands for it where addr2line knows nothing. */
	readonly otherwise: readonly number[];
}

/** Numbers below 0 stand for frames that are not known yet. */
export class DeferredFrames {
	readonly #frames: FrameTable;
	readonly #deferred: Deferred[] = [];
	readonly #numbers = new Map<string, number>();

	constructor(frames: FrameTable) {
		this.#frames = frames;
	}

	/** The number that stands for a frame until `resolved`; undefined: addr2line cannot know it. */
	deferred(
		{ address, symbol, module }: FrameText,
		otherwise: readonly number[],
	): number[] | undefined {
		if (module === undefined || NO_FILE.test(module.slice(0, MAX_PATH))) return undefined;
		const identity = `${address} ${otherwise.join()} ${module}`;
		let number = this.#numbers.get(identity);
		if (number === undefined) {
			this.#deferred.push({ address, symbol, module, otherwise });
			number = -this.#deferred.length;
			this.#numbers.set(identity, number);
		}
		return [number];
	}

	/** The profiles with the functions that were inlined. */
	async resolved(profiles: readonly StackProfile[], notify: Notify): Promise<StackProfile[]> {
		const byModule = new Map<string, Deferred[]>();
		for (const place of this.#deferred) {
			const same = byModule.get(place.module);
			if (same) same.push(place);
			else byModule.set(place.module, [place]);
		}
		const known = new Map<Deferred, readonly number[]>();
		for (const [module, places] of byModule) {
			const functions = await functionsAt(module, places, notify);
			for (const place of places) {
				const names = functions.get(place.address);
				known.set(place, names ? this.#interned(names, module) : place.otherwise);
			}
		}
		const framesOf = (number: number): readonly number[] =>
			number >= 0 ? [number] : (known.get(this.#deferred[-number - 1] as Deferred) ?? []);
		return profiles.map((profile) => ({ ...profile, stacks: expanded(profile, framesOf) }));
	}

	#interned(names: readonly string[], module: string): number[] {
		return names.map((name, index) =>
			this.#frames.intern(name, index === 0 ? kindOf(module) : 'inlined'),
		);
	}
}

function expanded(
	{ stacks }: StackProfile,
	framesOf: (number: number) => readonly number[],
): StackTable {
	const all = new StackTable();
	for (const [stack, value] of stacks.values().entries()) {
		const path = Array.from(stacks.frames(stack), framesOf).flat();
		if (path.length > MAX_STACK_FRAMES) {
			throw new TstraceError(
				`a stack has more than ${MAX_STACK_FRAMES} frames, including inlined ones; leave out --inline`,
			);
		}
		all.add(path, path.length, value);
	}
	return all;
}

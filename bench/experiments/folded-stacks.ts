/** Files of folded stacks, for the converters; the same each time. */
import { closeSync, openSync, writeSync } from 'node:fs';

export const STACKS = 200_000;

/** Numbers from 0 to below `limit` that look random and are the same each time. Park and Miller. */
function numbers(seed: number): (limit: number) => number {
	let state = seed;
	return (limit) => {
		state = (state * 48_271) % 0x7fffffff;
		return state % limit;
	};
}

/** Stacks of 8 to 30 frames: towards the root of a few names, towards the leaf of 120. */
function* stacks(seed: number): Generator<string> {
	const next = numbers(1);
	const weight = numbers(seed);
	for (let i = 0; i < STACKS; i++) {
		const depth = 8 + next(23);
		const names = Array.from({ length: depth }, (_, at) => {
			const name = next(at < 3 ? 4 : 120);
			return name % 3 ? `func_${name}` : `f${name}`;
		});
		yield `${names.join(';')} ${1 + weight(1000)}\n`;
	}
}

/**
 * Writes the stacks into a file, again and again with other roots until it has so many bytes.
 * Another seed gives the same stacks other weights.
 */
export function writeStacks(path: string, bytes: number, seed = 1): void {
	const file = openSync(path, 'w');
	let written = 0;
	for (let round = 0; written < bytes || round === 0; round++) {
		let piece = '';
		for (const line of stacks(seed)) {
			piece += round === 0 ? line : `process_${round % 4};${line}`;
			if (piece.length < 1 << 20) continue;
			written += writeSync(file, piece);
			piece = '';
		}
		written += writeSync(file, piece);
	}
	closeSync(file);
}

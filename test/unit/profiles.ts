/** Recordings made by hand, and read back as text; and those that random ones are drawn from. */
import fc from 'fast-check';
import { FrameTable } from '../../src/aggregate/frame-table.js';
import type { Origin, StackProfile } from '../../src/aggregate/stack-profile.js';
import { StackTable } from '../../src/aggregate/stack-table.js';
import { readFolded } from '../../src/input/folded.js';
import type { ReadOptions } from '../../src/input/format-reader.js';
import { ALL_MARKS, renderFolded } from '../../src/render/folded.js';

export const READING: ReadOptions = {
	identify: 'none',
	addresses: false,
	inline: false,
	event: undefined,
};

/** Content in pieces of so many bytes. */
export async function* chunksOf(content: string | Uint8Array, bytes = 1 << 16) {
	const all = Buffer.from(content);
	for (let at = 0; at < all.length; at += bytes) yield all.subarray(at, at + bytes);
}

/** Folded text as a profile, with the notices it gave. */
export async function fromFolded(
	content: string | Uint8Array,
	bytes?: number,
): Promise<{ profile: StackProfile; notices: string[] }> {
	const notices: string[] = [];
	const [profile] = await readFolded(chunksOf(content, bytes), READING, (notice) =>
		notices.push(notice),
	);
	return { profile: profile as StackProfile, notices };
}

/** Values by stack, such as "main;read_[k]"; the mark makes a frame the kernel's. */
export type Counts = Readonly<Record<string, number>>;

export function profileOfStacks(counts: Counts, origin: Origin = {}): StackProfile {
	const stacks = Object.entries(counts);
	return profileOf(
		stacks.map(([names, value]) => [names.split(';'), value]),
		origin,
	);
}

/** A profile of stacks whose names may be anything; "_[k]" at a frame's end makes it the kernel's. */
export function profileOf(
	stacks: Iterable<readonly [frames: readonly string[], value: number]>,
	origin: Origin = {},
): StackProfile {
	const profile = { frames: new FrameTable(), stacks: new StackTable(), origin, marked: false };
	for (const [names, value] of stacks) {
		const path = names.map((name) =>
			name.endsWith('_[k]')
				? profile.frames.intern(name.slice(0, -4), 'kernel')
				: profile.frames.intern(name),
		);
		profile.stacks.add(path, path.length, value);
	}
	return profile;
}

/** A profile as folded text, its lines sorted. */
export function toFolded(profile: StackProfile): string {
	const options = {
		divisor: 1,
		marks: profile.marked ? ALL_MARKS : new Set<never>(),
		sorted: true,
	};
	return [...renderFolded(profile, options)].join('');
}

/** Few names, so that stacks meet, recur and share beginnings. */
export const anyCounts: fc.Arbitrary<Counts> = fc.dictionary(
	fc
		.array(fc.constantFrom('a', 'b', 'c', 'd_[k]'), { minLength: 1, maxLength: 5 })
		.map((names) => names.join(';')),
	fc.integer({ min: 1, max: 1000 }),
	{ minKeys: 1, maxKeys: 12, noNullPrototype: true },
);

/** Profiles for tests, and the recordings that random ones are drawn from. */
import fc from 'fast-check';
import { FrameTable } from '../../src/aggregate/frame-table.js';
import type { Origin, StackProfile } from '../../src/aggregate/stack-profile.js';
import { StackTable } from '../../src/aggregate/stack-table.js';

/** Values by stack, such as "main;read_[k]"; the mark makes it the kernel's. */
export type Counts = Readonly<Record<string, number>>;

export function profileFrom(counts: Counts, origin: Origin = {}): StackProfile {
	const frames = new FrameTable();
	const stacks = new StackTable();
	for (const [stack, value] of Object.entries(counts)) {
		const path = stack
			.split(';')
			.map((name) =>
				name.endsWith('_[k]')
					? frames.intern(name.slice(0, -4), 'kernel')
					: frames.intern(name, 'user'),
			);
		stacks.add(path, path.length, value);
	}
	return { frames, stacks, origin, marked: false };
}

/** Few names, so that stacks meet, recur and share beginnings. */
export const anyCounts: fc.Arbitrary<Counts> = fc.dictionary(
	fc
		.array(fc.constantFrom('a', 'b', 'c', 'd_[k]'), { minLength: 1, maxLength: 5 })
		.map((names) => names.join(';')),
	fc.integer({ min: 1, max: 1000 }),
	{ minKeys: 1, maxKeys: 12, noNullPrototype: true },
);

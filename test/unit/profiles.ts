/** Recordings made by hand, and read back as text. */
import { FrameTable } from '../../src/aggregate/frame-table.js';
import type { StackProfile } from '../../src/aggregate/stack-profile.js';
import { StackTable } from '../../src/aggregate/stack-table.js';
import { readFolded } from '../../src/input/folded.js';
import type { ReadOptions } from '../../src/input/reader.js';
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

/** A profile of these stacks: frames with semicolons between, and a value. */
export function profileOfStacks(
	stacks: Readonly<Record<string, number>>,
	origin: StackProfile['origin'] = {},
): StackProfile {
	const profile = { frames: new FrameTable(), stacks: new StackTable(), origin, marked: true };
	for (const [names, value] of Object.entries(stacks)) {
		const path = names.split(';').map((name) => profile.frames.intern(name));
		profile.stacks.add(path, path.length, value);
	}
	return profile;
}

/** A profile of stacks whose names may be anything; "_[k]" at a frame's end makes it the kernel's. */
export function profileOf(
	stacks: Iterable<readonly [frames: readonly string[], value: number]>,
	origin: StackProfile['origin'] = {},
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

/** Recordings by hand, and what is known of them without any of the code under test. */
import { FrameTable } from '../../src/aggregate/frame-table.js';
import type { Origin, StackProfile } from '../../src/aggregate/stack-profile.js';
import { StackTable } from '../../src/aggregate/stack-table.js';

/** Frames, root first, and what was counted there; "_[k]" at a frame's end makes it the kernel's. */
export type Stacks = readonly (readonly [frames: readonly string[], value: number])[];

export function profileOf(recording: Stacks, origin: Origin = {}): StackProfile {
	const frames = new FrameTable();
	const stacks = new StackTable();
	for (const [names, value] of recording) {
		const path = names.map((name) =>
			name.endsWith('_[k]') ? frames.intern(name.slice(0, -4), 'kernel') : frames.intern(name),
		);
		stacks.add(path, path.length, value);
	}
	return { frames, stacks, origin, marked: false };
}

/** What each box is to stand for, by its path from the root on: ['all', 'main', 'f']. */
export function boxesOf(recording: Stacks): Map<string, number> {
	const boxes = new Map<string, number>();
	for (const [names, value] of recording) {
		const path = ['all', ...names.map((name) => name.replace(/_\[k\]$/, ''))];
		for (let depth = 1; depth <= path.length; depth++) {
			const key = JSON.stringify(path.slice(0, depth));
			boxes.set(key, (boxes.get(key) ?? 0) + value);
		}
	}
	return boxes;
}

/** A server that parses JSON: 1,000 samples. */
export const SERVER: Stacks = [
	[['server', 'main', 'accept'], 40],
	[['server', 'main', 'handle'], 60],
	[['server', 'main', 'handle', 'json::parse'], 150],
	[['server', 'main', 'handle', 'json::parse', 'json::value', 'json::parse'], 110],
	[['server', 'main', 'handle', 'json::parse', 'json::value', 'json::parse', 'malloc'], 52],
	[['server', 'main', 'handle', 'Regex'], 88],
	[['server', 'main', 'read', 'do_syscall_64_[k]', 'vfs_read_[k]'], 200],
	[['server', 'idle'], 200],
	[['other'], 100],
];

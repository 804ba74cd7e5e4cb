/** A recording, and what is known of its picture without any of the code under test. */
/** Frames, root first, and what was counted there; "_[k]" at a frame's end makes it the kernel's. */
export type Stacks = readonly (readonly [frames: readonly string[], value: number])[];

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

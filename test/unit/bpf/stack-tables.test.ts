/** How much room --max-stacks makes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StackTables } from '../../../src/bpf/stacks/stacks.js';

type Objects = ConstructorParameters<typeof StackTables>[0];

test('so many stacks have room, each with one of the kernel and one of user space', () => {
	const sizes = new Map<string, number>();
	const object = {
		map: (name: string) => ({ setMaxEntries: (entries: number) => sizes.set(name, entries) }),
		setConstants: () => {},
		constantBytes: () => new DataView(new ArrayBuffer(8)),
	} as unknown as Objects;
	for (const maxStacks of [100, 16_384]) {
		new StackTables(object).configure({
			...{ maxStacks, maxDepth: 127, kernel: true, user: true, byThread: false },
			...{ unwind: 'fp', runtimeFrames: 'native' },
		} as Parameters<StackTables['configure']>[0]);
		assert.ok((sizes.get('stacks') ?? 0) >= 2 * maxStacks, `${sizes.get('stacks')}`);
	}
});

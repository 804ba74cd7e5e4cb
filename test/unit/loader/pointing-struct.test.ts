import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { viewMemory } from '../../../src/loader/memory.js';
import { PointingStruct } from '../../../src/loader/pointing-struct.js';

const BYTES = 4096;

/** What a kernel that takes its time would read where the struct points. */
function readAfter(value: number, meanwhile: () => void): Uint8Array {
	const struct = new PointingStruct(16);
	struct.point(8, new Uint8Array(BYTES).fill(value));
	return struct.give((bytes) => {
		meanwhile();
		const at = new DataView(bytes.buffer).getBigUint64(8, true);
		return new Uint8Array(viewMemory(at, BYTES)).slice();
	});
}

test('a struct points to what it was given', () => {
	assert.deepEqual(
		readAfter(7, () => {}),
		new Uint8Array(BYTES).fill(7),
	);
});

const { gc } = globalThis;

// In a process of its own, with a collector that can be called, and once code is optimised.
if (gc !== undefined) {
	const others: Uint8Array[] = [];
	const collect = () => {
		gc();
		// Freed memory is given to whoever asks next.
		for (let i = 0; i < 64; i++) others.push(new Uint8Array(BYTES).fill(9));
	};
	// Several ways, so that optimised code is not made for one that the others leave again.
	const ways = [() => {}, () => others.pop(), () => others.at(0), () => Math.random(), collect];
	new Function('f', '%PrepareFunctionForOptimization(f)')(readAfter);
	for (let i = 0; i < 3000; i++) readAfter(1, ways[i % (i < 20 ? 5 : 4)] ?? collect);
	new Function('f', '%OptimizeFunctionOnNextCall(f)')(readAfter);
	let wrong = 0;
	for (let i = 0; i < 50; i++) {
		if (readAfter(7, collect).some((byte) => byte !== 7)) wrong++;
		others.length = 0;
	}
	process.exit(wrong);
}

test('what it points to is not collected before the kernel has read it', () => {
	const flags = ['--expose-gc', '--allow-natives-syntax'];
	const { status, stderr } = spawnSync(
		process.execPath,
		[...flags, fileURLToPath(import.meta.url)],
		{
			encoding: 'utf8',
			env: { ...process.env, NODE_TEST_CONTEXT: undefined },
		},
	);
	assert.equal(status, 0, stderr);
});

test('addresses for the kernel are taken here only', () => {
	const takers = ['src/loader', 'src/perf'].flatMap((folder) =>
		readdirSync(folder)
			.filter((name) => readFileSync(`${folder}/${name}`, 'utf8').includes('koffi().address'))
			.map((name) => `${folder}/${name}`),
	);
	assert.deepEqual(takers, ['src/loader/pointing-struct.ts']);
});

/** Mappings against the kernel's list: parts that are gone, or somebody else's by now. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withinRanges } from '../../../../src/tools/memleak/live-mappings.js';

const mapping = (start: number, size_bytes: number, born_ns: number, weight = 1) => ({
	address: BigInt(start),
	size_bytes,
	weight_bytes: size_bytes * weight,
	born_ns,
});

function left(mappings: ReturnType<typeof mapping>[], ranges: [number, number][]) {
	const found = withinRanges(mappings, ranges);
	return found.map(({ address, size_bytes, weight_bytes }) => [
		Number(address),
		size_bytes,
		weight_bytes,
	]);
}

test('what is mapped stays as it is, what is not goes', () => {
	const mappings = [mapping(100, 10, 1), mapping(200, 10, 2)];
	assert.deepEqual(left(mappings, [[50, 150]]), [[100, 10, 10]]);
	assert.deepEqual(left(mappings, []), []);
	assert.deepEqual(left([], [[0, 10]]), []);
	assert.equal(withinRanges(mappings, [[0, 300]])[0], mappings[0]);
});

test('of what is gone in part the rest counts: a beginning, an end, the middle', () => {
	const mappings = [mapping(100, 40, 1, 3)];
	assert.deepEqual(left(mappings, [[110, 200]]), [[100, 30, 90]]);
	assert.deepEqual(left(mappings, [[0, 110]]), [[100, 10, 30]]);
	assert.deepEqual(
		left(mappings, [
			[100, 110],
			[130, 140],
		]),
		[[100, 20, 60]],
	);
	// The kernel's list may be in more pieces: another protection, another name.
	assert.deepEqual(
		left(mappings, [
			[100, 110],
			[110, 140],
		]),
		[[100, 40, 120]],
	);
});

test('what was mapped over is the later one’s, wherever it lies', () => {
	const reserved = mapping(100, 100, 1);
	const committed = mapping(120, 20, 2);
	assert.deepEqual(left([reserved, committed], [[0, 300]]), [
		[100, 80, 80],
		[120, 20, 20],
	]);
	assert.deepEqual(left([committed, reserved], [[0, 300]]), [
		[120, 20, 20],
		[100, 80, 80],
	]);
	const over = mapping(90, 200, 3);
	assert.deepEqual(left([reserved, committed, over], [[0, 300]]), [[90, 200, 200]]);
	assert.deepEqual(left([reserved, mapping(100, 100, 5)], [[0, 300]]), [[100, 100, 100]]);
});

test('the same as byte by byte', () => {
	let seed = 7;
	const random = (below: number) => {
		seed = (seed * 1103515245 + 12345) % 2 ** 31;
		return seed % below;
	};
	for (let run = 0; run < 300; run++) {
		const mappings = Array.from({ length: 1 + random(8) }, (_, i) =>
			mapping(random(60), 1 + random(20), run * 10 + i),
		);
		const starts = Array.from({ length: 3 }, (_, i) => i * 30 + random(10));
		const ranges = starts.map((start): [number, number] => [start, start + random(20)]);
		const isMapped = (at: number) => ranges.some(([start, end]) => at >= start && at < end);
		const owned = mappings.map(() => 0);
		for (let at = 0; at < 100; at++) {
			const has = ({ address, size_bytes }: (typeof mappings)[0]) =>
				at >= Number(address) && at < Number(address) + size_bytes;
			const last = mappings.findLastIndex(has);
			if (last >= 0 && isMapped(at)) owned[last] = (owned[last] ?? 0) + 1;
		}
		const expected = mappings.flatMap(({ address }, i) =>
			owned[i] ? [[Number(address), owned[i], owned[i]]] : [],
		);
		assert.deepEqual(left(mappings, ranges), expected);
	}
});

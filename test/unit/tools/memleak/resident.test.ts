/** What is said of the memory that processes have: since when it has changed, and which way. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResidentMemory, residentBytes } from '../../../../src/tools/memleak/resident.js';

const MIB = 2 ** 20;

const sizes = (...all: ReadonlyArray<readonly [pid: number, mib: number]>) =>
	new Map(all.map(([pid, mib]) => [pid, mib * MIB]));

test('a process grows, shrinks and stays: each interval tells of itself only', () => {
	const memory = new ResidentMemory();
	memory.begin(sizes([7, 20], [8, 300]));
	assert.deepEqual(memory.notices(sizes([7, 25], [8, 298])), [
		'process 7 has 25.0 MiB resident (+5.00 MiB).',
		'process 8 has 298 MiB resident (-2.00 MiB).',
	]);
	assert.deepEqual(memory.notices(sizes([7, 32], [8, 298])), [
		'process 7 has 32.0 MiB resident (+7.00 MiB).',
		'process 8 has 298 MiB resident (+0 B).',
	]);
	assert.deepEqual(memory.notices(sizes([7, 31])), [
		'process 7 has 31.0 MiB resident (-1.00 MiB).',
	]);
});

test('a process that was not there before has grown by all that it has', () => {
	const memory = new ResidentMemory();
	memory.begin(sizes([7, 20]));
	assert.deepEqual(memory.notices(sizes([9, 3])), ['process 9 has 3.00 MiB resident (+3.00 MiB).']);
});

test('what a process has is what it is told of itself, in bytes', () => {
	const own_bytes = process.memoryUsage.rss();
	const bytes = residentBytes(process.pid) ?? 0;
	// Of hundreds of megabytes; "kB" are 1,024 bytes, not 1,000.
	assert.ok(Math.abs(bytes - own_bytes) < 0.01 * own_bytes, `${bytes}, not ${own_bytes}`);
	assert.equal(residentBytes(2), undefined, 'a kernel thread');
});

/** What is said of the memory that processes have: since when it has changed, and which way. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
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

test('what a process has is what it is said to have, in bytes', async () => {
	const child = spawn('sleep', ['100']);
	// It executes its program first.
	const isAsleep = () => / S /.test(readFileSync(`/proc/${child.pid}/stat`, 'utf8'));
	while (!isAsleep()) await new Promise(setImmediate);
	const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
	// man 5 proc_pid_status: "kB" are 1,024 bytes.
	const kib = Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]);
	assert.equal(residentBytes(child.pid as number), 1024 * kib);
	child.kill();
	assert.equal(residentBytes(2), undefined, 'a kernel thread');
});

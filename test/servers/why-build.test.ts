/** why, of a build that has more jobs than the machine has CPUs. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { written } from '../../bench/shared/servers.js';
import { checkTrouble, type WhyReport } from '../live/lab-check.js';
import { tstrace } from '../live/support.js';
import { around, serverFolder } from './support.js';

const folder = serverFolder();
const CPUS = availableParallelism();
const JOBS = 4 * CPUS;
/** Functions of a file: as many as take the compiler a moment. */
const FUNCTIONS = 150;

/** Each compiler says how long it took, and ran, in s. */
const MAKEFILE = `
SHELL = /bin/bash
CC := $(shell command -v clang-19 || command -v clang)
all: ${Array.from({ length: JOBS }, (_, i) => `part${i}.o`).join(' ')}
part%.o: part.c
	TIMEFORMAT='%R %U %S'; { time $(CC) -O1 -c part.c -o $@; } 2> $@.times
`;
const PART = Array.from(
	{ length: FUNCTIONS },
	(_, i) =>
		`int f${i}(int n, int *p) { int s = ${i}; for (int i = 0; i < n; i++) s = s * 31 + p[(s ^ i) & 15] % (i + ${i + 1}); return s; }`,
).join('\n');

test('make -j: compilers are ready to run, and have no CPU', () => {
	written(folder, 'Makefile', MAKEFILE);
	written(folder, 'part.c', PART);
	const make = ['make', '-s', '-C', folder, `-j${JOBS}`];
	const { status, stdout, stderr } = tstrace(['why', '--json', '--follow', '--', ...make]);
	assert.equal(status, 0, stderr);
	const report = JSON.parse(stdout) as WhyReport;
	let [all_s, run_s] = [0, 0];
	for (let i = 0; i < JOBS; i++) {
		const [real = 0, user = 0, system = 0] = readFileSync(join(folder, `part${i}.o.times`), 'utf8')
			.split(' ')
			.map(Number);
		all_s += real;
		run_s += user + system;
	}
	const truth = [
		{
			place: 'runnable',
			kinds: ['run_queue', 'preempted'],
			share: around(1 - run_s / all_s),
			says: /^\S+ \(\d+\), with \d+ other processes, is ready to run for .* more threads want to run than there are CPUs/,
		},
	] as const;
	assert.deepEqual(checkTrouble(truth, report), [], report.verdict);
});

/**
 * How much the kernel's verifier has to do for each program: what it takes is start-up time. A
 * branch in a shared header can make it go through all that follows many times over, in tools that
 * nobody thought of.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Tracing } from './support.js';

/** About 20 ms; the kernel's own limit is a million. */
const MOST_INSTRUCTIONS = 20_000;
/** With one more function in the walk, and a loop over all frames, by which each has two words. */
const MOST_WITH_LINES = 25_000;

/** What the kernel verified for each program that a process holds: 5.17, else nothing. */
function verifiedInstructions(pid: number): number[] {
	return readdirSync(`/proc/${pid}/fdinfo`).flatMap((fd) => {
		const [, count] = /^verified_insns:\t(\d+)$/m.exec(fdinfo(pid, fd)) ?? [];
		return count === undefined ? [] : [Number(count)];
	});
}

function fdinfo(pid: number, fd: string): string {
	try {
		return readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8');
	} catch (error) {
		/* Closed meanwhile. */
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
		throw error;
	}
}

for (const args of [
	['runqlat'],
	['runqlat', '--split'],
	['runqlat', '--slower', '100ms'],
	['offcputime'],
	['offcputime', '--exact'],
	['offcputime', '--lines'],
	['offcputime', '--by', 'waker'],
	['offwaketime'],
	['offwaketime', '--hops', '4'],
	['why'],
	['profile'],
	['profile', '--lines'],
	['syscount'],
	['syscount', '--latency'],
	['syscount', '-x', '--paths', '-p', `${process.pid}`],
	['schedlat'],
	['timehist', '-w', '-p', `${process.pid}`],
	['trace', '-y', '-p', `${process.pid}`],
	['trace', '-y', '--path', '/tmp/*', '-p', `${process.pid}`],
	['trace', '-k', '-y', '--path', '/tmp/*', '-p', `${process.pid}`],
	['memleak', '-p', `${process.pid}`],
	['memleak', '--lines', '-p', `${process.pid}`],
	['memleak', '--growth', '-p', `${process.pid}`],
] as const) {
	const shown = args.filter((word) => !/^\d+$/.test(word)).join(' ');
	test(`${shown}: the verifier goes through few instructions`, async () => {
		const tracing = await Tracing.start(args);
		const counts = verifiedInstructions(tracing.pid);
		const { status, stderr } = await tracing.end('SIGTERM');
		assert.equal(status, 0, stderr);
		assert.ok(counts.length > 0);
		const most = shown.includes('--lines') ? MOST_WITH_LINES : MOST_INSTRUCTIONS;
		assert.ok(Math.max(...counts) <= most, `${counts}`);
	});
}

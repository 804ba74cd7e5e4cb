/** syscount against strace's counts, and on workloads whose truth is known. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportsOf, runToEnd, tstrace } from './support.js';

/** dd with a read and a write for each of so many bytes. */
const dd = (count: number) => ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', `count=${count}`];
const COUNT = 99_991;
const FEW = 97;

/** What strace counts of a command, by call: calls and errors. */
function straceCounts(command: readonly string[]): Map<string, [calls: number, errors: number]> {
	const { status, stderr } = runToEnd('strace', ['-c', '-f', ...command]);
	assert.equal(status, 0, stderr);
	// "% time", seconds, usecs/call, calls, errors or nothing, name
	const lines = stderr.matchAll(/^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(\d+)?\s+(\w+)$/gm);
	const counts = [...lines].map(
		([, calls, errors, name = '']) =>
			[name, [Number(calls), Number(errors ?? 0)]] as [string, [number, number]],
	);
	return new Map(counts.filter(([name]) => name !== 'total'));
}

test(`${COUNT} reads and writes, and dd's own few as strace counts them`, () => {
	const expected = straceCounts(dd(FEW));
	const { status, stdout } = tstrace(['syscount', '--json', '-q', '--', ...dd(COUNT)]);
	assert.equal(status, 0);
	const [report] = reportsOf(stdout);
	assert.deepEqual(report?.lost, {});
	for (const name of ['read', 'write']) {
		const [calls, errors] = expected.get(name) as [number, number];
		expected.set(name, [calls - FEW + COUNT, errors]);
	}
	const counted = report?.rows.map(
		({ syscall, calls, errors }) => [`${syscall}`, [Number(calls), Number(errors)]] as const,
	);
	assert.deepEqual(new Map([...(counted ?? [])].sort()), new Map([...expected].sort()));
});

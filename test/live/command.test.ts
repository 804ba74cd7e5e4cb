/** COMMAND: held, traced, waited for; its output and its status. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportsOf, total } from './reports.js';
import { runToEnd, TSTRACE, tstrace } from './support.js';

test('COMMAND: traced from its first instruction, its status handed on', () => {
	const { status, stdout } = tstrace(['runqlat', '--json', '--', 'sh', '-c', 'sleep 0.05; exit 7']);
	assert.equal(status, 7);
	assert.equal(reportsOf(stdout).length, 1);
	const killed = tstrace(['runqlat', '--', 'sh', '-c', 'kill -KILL $$']);
	assert.equal(killed.status, 137);
});

test("COMMAND: what is counted is the kernel's own count, children with --follow", () => {
	// A shell's own waits since it was executed; the children are sleeps.
	const script =
		'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done; read -r _ _ n < /proc/$$/schedstat; echo $n >&2';
	const alone = tstrace(['runqlat', '-L', '--json', '--', 'sh', '-c', script]);
	const kernelCount = Number(/^(\d+)$/m.exec(alone.stderr)?.[1]);
	const [report] = reportsOf(alone.stdout);
	assert.equal(report?.groups.length, 1);
	const { count } = total(alone.stdout);
	// Before it was executed, the process waited for being held: a few times.
	assert.ok(count <= kernelCount && count >= kernelCount - 6, `${count} of ${kernelCount}`);
	const followed = tstrace(['runqlat', '-P', '--follow', '--json', '--', 'sh', '-c', script]);
	assert.equal(reportsOf(followed.stdout)[0]?.groups.length, 1 + 10);
});

test('COMMAND goes on when the last interval is over, and its status counts', () => {
	const { status, stdout } = tstrace([
		...['runqlat', '--json', '0.1', '1', '--'],
		...['sh', '-c', 'sleep 0.5; echo still here; exit 5'],
	]);
	assert.equal(status, 5);
	assert.match(stdout, /^\{.*\n.*still here\n$/s);
});

test("COMMAND's output through a pipe is as without tstrace", () => {
	const script = `set -o pipefail; ${TSTRACE} runqlat -q -- seq 1 300000 | (sleep 0.5; wc -l)`;
	const { status, stdout, stderr } = runToEnd('bash', ['-c', script]);
	assert.equal(status, 0, stderr);
	assert.ok(Number(stdout) > 300_000, stdout);
	assert.doesNotMatch(stderr, /write error/);
});

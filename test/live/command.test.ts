/** COMMAND: held, traced, waited for; its output and its status. */
import assert from 'node:assert/strict';
import { constants, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { leftOut, reportsOf, total } from './reports.js';
import { runToEnd, Tracing, TSTRACE, tstrace, until } from './support.js';

test('COMMAND: traced from its first instruction, its status handed on', () => {
	const { status, stdout } = tstrace(['runqlat', '--json', '--', 'sh', '-c', 'sleep 0.05; exit 7']);
	assert.equal(status, 7);
	assert.equal(reportsOf(stdout).length, 1);
	const killed = tstrace(['runqlat', '--', 'sh', '-c', 'kill -KILL $$']);
	assert.equal(killed.status, 137);
});

test('COMMAND begins behind the first --: further ones are its own', () => {
	const script = 'echo "got $*" >&2';
	const { status, stderr } = tstrace(['runqlat', '--', 'sh', '-c', script, 'sh', 'a', '--', 'b']);
	assert.equal(status, 0, stderr);
	assert.match(stderr, /^got a -- b$/m);
});

test("COMMAND: what is counted is the kernel's own count, children with --follow", () => {
	// A shell's own waits since it was executed; the children are sleeps.
	const schedInfo = (name: string) => `read -r _ _ ${name} < /proc/$$/schedstat`;
	const script = `${schedInfo('m')}; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done; ${schedInfo('n')}; sleep 0.01; echo $m $n >&2`;
	const alone = tstrace(['runqlat', '-L', '--json', '--', 'sh', '-c', script]);
	const [, first, last] = /^(\d+) (\d+)$/m.exec(alone.stderr)?.map(Number) ?? [];
	const [report] = reportsOf(alone.stdout);
	assert.equal(report?.groups.length, 1);
	// With those that the kernel did not show; the last sleep is there to find out.
	const count = total(alone.stdout).count + leftOut(alone.stdout);
	// Before it was executed, the process waited for being held; as it ends it may wait a few times more.
	const least = Number(last) - Number(first);
	assert.ok(count >= least && count <= Number(last) + 7, `${count}, not ${least}..${last}`);
	const followed = tstrace(['runqlat', '-P', '--follow', '--json', '--', 'sh', '-c', script]);
	assert.equal(reportsOf(followed.stdout)[0]?.groups.length, 1 + 11);
});

test('a script without #! is refused, under every shell: bash would run it without an exec, untraced', () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-command-'));
	try {
		const script = join(folder, 'script');
		const ran = join(folder, 'ran');
		const write = (text: string) => writeFileSync(script, text, { mode: 0o755 });
		const bash = 'mount --bind "$(command -v bash)" "$(readlink -f /bin/sh)" && exec "$@"';
		const unshare = ['--mount', '--propagation', 'private', 'sh', '-c', bash, 'sh', TSTRACE];
		const trace = ['runqlat', '-q', '--json', '-P', '--', script, 'word'];
		for (const under of [() => runToEnd('unshare', [...unshare, ...trace]), () => tstrace(trace)]) {
			write(`echo > ${ran}`);
			const refused = under();
			assert.equal(refused.status, 1);
			assert.equal(refused.stdout, '');
			const line = refused.stderr.replace(/\s+/g, ' ');
			assert.ok(line.includes(`cannot execute ${script}: it is a script without a #! line`), line);
			assert.ok(line.includes(`name the interpreter: sh ${script}`), line);
			assert.ok(!existsSync(ran));
			write('#!/bin/sh\nsleep 0.01\necho $0 $1\nexit 4\n');
			const { status, stdout } = under();
			assert.equal(status, 4);
			assert.ok(stdout.startsWith(`${script} word\n`), stdout);
			const [report] = reportsOf(stdout.slice(stdout.indexOf('\n')));
			assert.deepEqual(
				report?.groups.map(({ key }) => key.comm),
				['script'],
			);
		}
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test('COMMAND goes on when the last interval is over, and its status counts', async () => {
	const tracing = Tracing.begin([
		...['runqlat', '--json', '0.1', '1', '--'],
		...['sh', '-c', 'read -r line; echo still here; exit 5'],
	]);
	await until(() => tracing.stdout.includes('\n'));
	tracing.tell('on\n');
	const { status, stdout } = await tracing.end();
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

test("COMMAND's pipes stay blocking once it runs: what they have no room for waits", async () => {
	const script = 'read -r line; exec cat /proc/self/fdinfo/1 /proc/self/fdinfo/2';
	const tracing = Tracing.begin(['runqlat', '--json', '0.1', '1', '--', 'sh', '-c', script]);
	await until(() => tracing.stdout.includes('\n'));
	tracing.tell('on\n');
	const { status, stdout, stderr } = await tracing.end();
	assert.equal(status, 0, stderr);
	const flags = Array.from(stdout.matchAll(/^flags:\s+(\d+)/gm), ([, octal]) =>
		parseInt(`${octal}`, 8),
	);
	assert.equal(flags.length, 2, stdout);
	assert.deepEqual(
		flags.map((flag) => flag & constants.O_NONBLOCK),
		[0, 0],
	);
});

/** What becomes of those who are traced: killed, another program, thousands of children, a number used again. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { codeBytesChanged, TOOLS, untilNothingLeft } from './faults.js';
import { kernelObjects } from './kernel-objects.js';
import { reportsOf, total } from './reports.js';
import { hasEnded, runToEnd, Tracing, TSTRACE, until, Workload } from './support.js';
import { switchesIn } from './times.js';

const CALLS = resolve('build/workloads/calls');
/** Its file is opened so many times, in vain. */
const OPENS = 1000;
/** Many for the tool that counts each; the others have the same filter. */
const [CHILDREN, FEWER_CHILDREN] = [10_000, 2_000];

/** How many calls of a kind syscount saw. */
function callsOf(stdout: string, name: string): number {
	const rows = reportsOf(stdout).flatMap(({ rows }) => rows);
	return rows
		.filter(({ syscall }) => syscall === name)
		.reduce((sum, { calls }) => sum + Number(calls), 0);
}

for (const [tool = '', ...options] of TOOLS) {
	test(`${tool}: a target that is killed at work; the result, and why tracing ended`, async () => {
		const before = kernelObjects();
		const storm = await Workload.start('storm');
		storm.begin();
		const args = [tool, ...options, '--json', '-p', `${storm.pid}`];
		const tracing = await Tracing.start(args);
		process.kill(storm.pid, 'SIGKILL');
		const { status, stdout, stderr } = await tracing.end();
		assert.equal(status, 0, stderr);
		assert.match(stderr, /^all chosen processes and threads have ended: tracing ends$/m);
		assert.equal(reportsOf(stdout).at(-1)?.ended, 'nobody_left');
		await storm.end();
		await untilNothingLeft(before);
	});

	test(`${tool}: a thread that was chosen by number ends; its process does not, and tracing does`, async () => {
		const before = kernelObjects();
		const workload = await Workload.start('calls', 'thread-forks', '20');
		assert.notEqual(workload.tid, workload.pid);
		const tracing = await Tracing.start([tool, ...options, '--json', '-t', `${workload.tid}`]);
		assert.equal(existsSync(`/proc/${workload.pid}/task/${workload.tid}`), true);
		await workload.work();
		const { status, stdout, stderr } = await tracing.end();
		assert.equal(status, 0, stderr);
		assert.match(stderr, /^all chosen processes and threads have ended: tracing ends$/m);
		assert.equal(reportsOf(stdout).at(-1)?.ended, 'nobody_left');
		assert.equal(hasEnded(workload.pid), false);
		await until(() => codeBytesChanged(workload.pid) === 0);
		await workload.end();
		assert.equal(workload.status, 0);
		await untilNothingLeft(before);
	});

	test(`${tool}: a target that executes another program is traced on`, async () => {
		const before = kernelObjects();
		const script = 'echo ready $$ $$; dd bs=1 count=1 of=/dev/null 2> /dev/null; exec "$@"';
		const words = ['-c', script, 'sh', CALLS, 'missing', `${OPENS}`];
		const workload = await Workload.startBy('sh', ...words);
		const tracing = await Tracing.start([tool, ...options, '--json', '-p', `${workload.pid}`]);
		workload.begin();
		assert.equal(await workload.again(), workload.pid);
		assert.deepEqual(await workload.work(), [OPENS]);
		const { status, stdout, stderr } = await tracing.end('SIGINT');
		assert.equal(status, 0, stderr);
		assert.doesNotMatch(stderr, /is left/);
		if (tool === 'syscount') assert.ok(callsOf(stdout, 'openat') >= OPENS);
		else assert.ok(reportsOf(stdout).length >= 1);
		await until(() => codeBytesChanged(workload.pid) === 0);
		await workload.end();
		assert.equal(workload.status, 0);
		await untilNothingLeft(before);
	});

	const children = tool === 'syscount' ? CHILDREN : FEWER_CHILDREN;
	test(`${tool} --follow: thousands of short children`, async () => {
		const before = kernelObjects();
		const workload = await Workload.start('calls', 'forks', `${children}`);
		const args = [tool, ...options, '--follow', '--json', '-p', `${workload.pid}`];
		const tracing = await Tracing.start(args);
		assert.deepEqual(await workload.work(), [children]);
		const { status, stdout, stderr } = await tracing.end('SIGINT');
		assert.equal(status, 0, stderr);
		assert.ok(reportsOf(stdout).length >= 1);
		// Every child is one call to begin it and one that ends it, which does not return.
		if (tool === 'syscount') assert.equal(callsOf(stdout, 'clone'), children, stderr);
		assert.equal(codeBytesChanged(workload.pid), 0);
		await workload.end();
		assert.equal(workload.status, 0);
		await untilNothingLeft(before);
	});
}

test('-p and -t: nobody is left when the thread has ended, though its process goes on', async () => {
	const workload = await Workload.start('calls', 'thread-forks', '20');
	const chosen = ['-p', `${workload.pid}`, '-t', `${workload.tid}`];
	const tracing = await Tracing.start(['runqlat', '--json', ...chosen]);
	await workload.work();
	const { status, stdout, stderr } = await tracing.end();
	assert.equal(status, 0, stderr);
	assert.equal(reportsOf(stdout).at(-1)?.ended, 'nobody_left');
	assert.equal(hasEnded(workload.pid), false);
	await workload.end();
});

/** What the stranger does, so that the tool would show it: calls, or waits, or what it leaks. */
const strangerOf = (tool: string): string => {
	const kinds: Record<string, string> = {
		runqlat: 'naps 1000 10 100',
		memleak: 'leaks all',
	};
	return resolve('build/workloads', kinds[tool] ?? 'calls missing 100000');
};

/**
 * In a PID namespace: "wanted" and "ended" are traced; "ended" is killed, and "stranger" gets its number
 * and works; then "wanted" works, and tracing ends. Status 9: it did not get the number.
 */
const reuse = (program: string, args: string) => `
cp ${CALLS} wanted && cp ${CALLS} ended && cp ${program} stranger && mkfifo wanted.in ended.in || exit 8
sleep 1000 > ended.in & sleep 1000 > wanted.in & holders="$! $(($! - 1))"
./ended missing 1 < ended.in > ended.out & ended=$!
./wanted missing ${OPENS} < wanted.in > wanted.out & wanted=$!
for each in ended wanted; do until grep -q ready $each.out; do sleep 0.05; done; done
"$@" -p $ended,$wanted > result 2> messages & tstrace=$!
until grep -q Tracing messages; do kill -0 $tstrace || exit 7; sleep 0.05; done
kill -9 $ended; wait $ended
printf x > stranger.in
for try in $(seq 60); do
	echo $((ended - 1)) > /proc/sys/kernel/ns_last_pid
	./stranger ${args} < stranger.in > stranger.out & stranger=$!
	wait $stranger
	[ $stranger = $ended ] && break
done
[ $stranger = $ended ] || exit 9
printf x > wanted.in
until grep -q done wanted.out; do sleep 0.05; done
cat /proc/$wanted/status > status
kill -TERM $tstrace; wait $tstrace; status=$?
kill $holders $wanted
exit $status`;

for (const [tool = '', ...options] of TOOLS) {
	test(`${tool}: a number that is used again is not mistaken for who had it`, async () => {
		const before = kernelObjects();
		const folder = mkdtempSync(join(tmpdir(), 'tstrace-reuse-'));
		try {
			const words = ['sh', TSTRACE, tool, ...options, '--json'];
			const [program = '', ...rest] = strangerOf(tool).split(' ');
			const script = `cd ${folder} && ${reuse(program, rest.join(' '))}`;
			const namespace = ['--pid', '--fork', '--mount-proc', '--kill-child'];
			const { status, stderr } = runToEnd('unshare', [...namespace, 'sh', '-c', script, ...words]);
			const said = readFileSync(join(folder, 'messages'), 'utf8');
			assert.equal(status, 0, stderr + said);
			const stdout = readFileSync(join(folder, 'result'), 'utf8');
			assert.ok(reportsOf(stdout).length >= 1, said);
			assert.doesNotMatch(stdout, /stranger|leak_/);
			// At the most its own, and a few as the other one ends; the stranger has a thousand.
			const own = switchesIn(readFileSync(join(folder, 'status'), 'utf8'));
			assert.ok(own < 500, 'or the stranger would not show');
			if (tool === 'runqlat') assert.ok(total(stdout).count <= own + 100, stdout);
			if (tool === 'syscount') assert.equal(callsOf(stdout, 'openat'), OPENS);
			if (['schedlat', 'timehist'].includes(tool)) assert.match(stdout, /wanted/);
			await untilNothingLeft(before);
		} finally {
			rmSync(folder, { recursive: true });
		}
	});
}

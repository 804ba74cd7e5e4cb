/** Kinds of waits, of threads that each wait for one thing only. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { after, test } from 'node:test';
import { WAIT_KINDS } from '../../src/aggregate/wait-kind-rules.js';
import { kindForPrograms } from '../../src/aggregate/wait-kinds.js';
import { type StackReport, stackReport } from './stacks.js';
import { runToEnd, Tracing, TSTRACE, Workload } from './support.js';

/** On a disk, most likely: /tmp may be in memory. */
const folder = mkdtempSync('build/kinds-');
after(() => rmSync(folder, { recursive: true, force: true }));
const MSEC = 1000;
/** Of what a thread was blocked: it also starts, and frees memory. */
const SHARE = process.env.TSTRACE_EMULATED ? 0.8 : 0.98;
const NAME_BYTES = 15;
/** What the workload has no thread for. */
const UNTESTED = new Set([
	...['disk', 'swap-in', 'memory reclaim', 'file server', 'kernel lock', 'virtual CPU'],
	'kernel thread',
]);

const ON_DISK = ['disk read', 'disk write', 'page fault'] as const;

const nameOf = (kind: string) => `k:${kind}`.slice(0, NAME_BYTES);

/** Traces the workload from before its threads start to after their work. */
async function traced(...more: readonly string[]) {
	const workload = await Workload.start('kinds', folder, `${MSEC}`);
	// Of no other test's threads; and of the process that stops.
	const only = ['-p', `${workload.pid}`, '--follow', '--comm', 'k:*'];
	const args = ['offcputime', '--exact', ...only, ...more];
	const tracing = await Tracing.start(args);
	const [hasUring, isOnDisk] = await workload.work();
	const finished = await tracing.end('SIGINT');
	await workload.end();
	return { finished, hasUring, isOnDisk };
}

/** Blocked time by thread name, then by kind. */
function blockedBy(
	{ stacks }: StackReport,
	kind: (stack: StackReport['stacks'][number]) => string,
) {
	const sums = new Map<string, Map<string, number>>();
	for (const stack of stacks) {
		const kinds = sums.get(`${stack.key.comm}`) ?? new Map<string, number>();
		sums.set(`${stack.key.comm}`, kinds);
		kinds.set(kind(stack), (kinds.get(kind(stack)) ?? 0) + (stack.blocked ?? 0));
	}
	return sums;
}

test('each thread waits for what it is named by', async () => {
	const { finished, hasUring, isOnDisk } = await traced('--json');
	const report = stackReport(finished);
	const sums = blockedBy(report, ({ wait }) => `${wait?.kind}`);
	const expected = new Set(WAIT_KINDS.filter((kind) => !UNTESTED.has(kind)));
	if (!hasUring) expected.delete('io_uring');
	if (!isOnDisk) for (const kind of ON_DISK) expected.delete(kind);
	for (const kind of expected) {
		const kinds = sums.get(nameOf(kind)) ?? new Map<string, number>();
		const all = [...kinds.values()].reduce((sum, value) => sum + value, 0);
		assert.ok(all > 0, `nobody was blocked as ${kind}`);
		assert.ok(
			(kinds.get(kindForPrograms(kind).kind) ?? 0) >= SHARE * all,
			`${kind}: ${JSON.stringify([...kinds])}`,
		);
	}
});

test('--by kind: each kind in a line, and at the root of folded stacks', async () => {
	const { finished } = await traced('--by', 'kind', '--top', '0', '--format', 'text');
	for (const kind of ['pipe', 'file lock', 'disk write', 'page fault', 'sleep']) {
		const line = new RegExp(`^ *[\\d.]+ m?s +[\\d.]+ % +[\\d,]+  ${kind}  +\\d+ %  k:${kind}`, 'm');
		assert.match(finished.stdout, line);
	}
	const folded = await traced('--by', 'kind', '--folded');
	assert.match(folded.finished.stdout, /^pipe;k:pipe;.*(anon_)?pipe_read.* \d+$/m);
	assert.match(folded.finished.stdout, /^lock;k:lock;.*futex_wait.* \d+$/m);
});

test('text names the kind, and what it was for, before the thread', async () => {
	const { finished } = await traced('--top', '0', '--format', 'text');
	assert.match(finished.stdout, / % +1 wait {2}terminal \/dev\/pts\/\d+ {2}k:terminal \(\d+\)$/m);
});

test('--by kind needs what it is seen by', () => {
	for (const [args, why] of [
		[['--split'], /give either --split or --by kind/],
		[['-U'], /give either --by kind or --user-stacks/],
	] as const) {
		const { status, stderr } = runToEnd(TSTRACE, ['offcputime', '--by', 'kind', ...args, '1']);
		assert.equal(status, 2);
		assert.match(stderr, why);
	}
});

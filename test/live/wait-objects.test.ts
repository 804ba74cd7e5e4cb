/** What threads waited for, of a workload whose threads each wait for one thing. */
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { after, test } from 'node:test';
import { type JsonStack, stackReport } from './stacks.js';
import { Tracing, Workload } from './support.js';

const folder = realpathSync(mkdtempSync('build/objects-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const MSEC = 500;

type Waited = Readonly<Record<string, unknown>>;

/** The objects of all stacks of a kind, where the thread is named by it. */
function objectsOf(stacks: readonly JsonStack[], kind: string): Waited[] {
	return stacks
		.filter(({ key, wait_kind }) => key.comm === `k:${kind}`.slice(0, 15) && wait_kind === kind)
		.flatMap(({ objects = [] }) => objects);
}

test('each wait says what it was for, and what memory and CPUs were waited for says nothing', async () => {
	const workload = await Workload.start('kinds', folder, `${MSEC}`);
	const tracing = await Tracing.start([
		'offcputime',
		'--exact',
		'--json',
		'--follow',
		'-p',
		`${workload.pid}`,
	]);
	const [, isOnDisk] = await workload.work();
	const { stacks } = stackReport(await tracing.end('SIGINT'));
	await workload.end();
	const paths = (kind: string) => objectsOf(stacks, kind).map(({ path }) => path);
	const all = (kind: string, field: string) =>
		new Set(objectsOf(stacks, kind).map((object) => object[field]));

	assert.deepEqual(all('pipe', 'type'), new Set(['pipe']));
	assert.deepEqual(all('pipe', 'end'), new Set(['read', 'write']));
	assert.deepEqual(all('unix socket', 'type'), new Set(['unix socket']));
	assert.deepEqual(new Set(paths('file lock')), new Set([`${folder}/locked`, `${folder}/record`]));
	assert.deepEqual(all('event', 'name'), new Set(['[eventfd]', '[timerfd]', 'inotify']));
	assert.deepEqual(all('terminal', 'type'), new Set(['device']));
	assert.ok(paths('terminal').every((path) => /^\/dev\/pts\/\d+$/.test(`${path}`)));
	assert.deepEqual(all('socket receive', 'protocol'), new Set(['tcp', 'udp']));
	assert.deepEqual(all('child', 'comm'), new Set(['child', 'k:stopped']));
	for (const { local, remote, protocol } of objectsOf(stacks, 'socket connect')) {
		assert.equal(protocol, 'tcp');
		assert.match(`${remote}`, /^127\.0\.0\.1:\d+$/);
		assert.match(`${local}`, /^127\.0\.0\.1:\d+$/);
		assert.notEqual(local, remote);
	}
	const accepted = objectsOf(stacks, 'socket accept');
	assert.ok(accepted.some(({ path }) => `${path}`.endsWith('/socket')));
	assert.ok(accepted.some(({ local, remote }) => /^127/.test(`${local}`) && remote === ''));
	for (const kind of ['lock', 'condition', 'futex'])
		assert.deepEqual(all(kind, 'type'), new Set(['futex']), kind);
	if (!isOnDisk) return;
	assert.deepEqual(new Set(paths('disk write')), new Set([`${folder}/written`]));
	assert.deepEqual(new Set(paths('disk read')), new Set([`${folder}/read`]));
	assert.deepEqual(objectsOf(stacks, 'page fault'), []);
});

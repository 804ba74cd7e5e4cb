/** nginx: files that are not there, and an upstream server that takes its time. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { sumOf, timeFor } from '../live/stacks.js';
import { until } from '../live/support.js';
import { beginNginx, LateServer, portOf, statusOf, upstreamServer } from './nginx-session.js';
import { during, serverFolder, totalOf } from './support.js';

const folder = serverFolder();
const UPSTREAM = join(folder, 'upstream');
let pid = '';

/** Answers when the test says so. */
const waiting: ServerResponse[] = [];
const upstream = upstreamServer((_, response) => waiting.push(response));

/** These answer late, or at once; over TCP. */
const late = new LateServer();
const prompt = upstreamServer((_, response) => response.end('prompt'));
let latePort = 0;

before(async () => {
	upstream.listen(UPSTREAM);
	await once(upstream, 'listening');
	latePort = await portOf(late.server);
	const locations = [
		`location /slow { proxy_pass http://unix:${UPSTREAM}:/; }`,
		`location /late { proxy_pass http://127.0.0.1:${latePort}/; }`,
		`location /prompt { proxy_pass http://127.0.0.1:${await portOf(prompt)}/; }`,
	];
	pid = `${await beginNginx(folder, locations)}`;
});

const status = (path: string) => statusOf(folder, path);

test('files that are not there: syscount --paths has their path, and how often', async () => {
	const REQUESTS = 50;
	const { report } = await during(['syscount', '--paths', '-p', pid], async () => {
		for (let i = 0; i < REQUESTS; i++) assert.equal(await status('/no-such-page'), '404');
	});
	const path = join(folder, 'no-such-page');
	const missing = report.rows.filter((row) => row.path === path);
	assert.equal(totalOf(missing, 'errors'), REQUESTS);
	for (const { error, pid: process } of missing)
		assert.deepEqual([error, `${process}`], ['ENOENT', pid]);
});

test('a slow upstream server: the worker is idle meanwhile, and connects once for each request', async () => {
	const REQUESTS = 5;
	const ask = async () => {
		const answers = Array.from({ length: REQUESTS }, () => status('/slow'));
		await until(() => waiting.length === REQUESTS);
		const began = performance.now();
		// For as long as all of these take, nobody has an answer.
		for (let i = 0; i < 10; i++) await status('/no-such-page');
		const held_s = (performance.now() - began) / 1000;
		for (const response of waiting.splice(0)) response.end('late');
		assert.deepEqual(await Promise.all(answers), Array(REQUESTS).fill('200'));
		return held_s;
	};
	const calls = await during(['syscount', '-p', pid], ask);
	const connects = calls.report.rows.filter(({ syscall }) => syscall === 'connect');
	assert.equal(totalOf(connects, 'calls'), REQUESTS);
	const { report, seconds } = await during(['offcputime', '-p', pid], ask);
	const off_s = sumOf(report.stacks, 'blocked') / 1e9;
	assert.ok(off_s > 0.5 * seconds && off_s <= 1.1 * seconds + 0.1, `${off_s} s of ${seconds} s`);
	const epoll = report.stacks.filter(({ frames }) =>
		frames.some((frame) => /epoll_wait/.test(frame)),
	);
	assert.ok(sumOf(epoll, 'blocked') > 0.9 * sumOf(report.stacks, 'blocked'), 'it waits for events');
});

/** Asks for answers of both. */
async function askBoth(requests: number): Promise<{ late_ns: number; all_ns: number }> {
	const began = performance.now();
	late.took_ms = 0;
	for (let i = 0; i < requests; i++) {
		assert.equal(await status('/late'), '200');
		assert.equal(await status('/prompt'), '200');
	}
	return { late_ns: late.took_ms * 1e6, all_ns: (performance.now() - began) * 1e6 };
}

test('one of two upstream servers is slow: the worker waits for its address, and that one waits, too', async () => {
	const REQUESTS = 10;
	const { report, done } = await during(['offcputime', '-p', pid], () => askBoth(REQUESTS));
	const { late_ns, all_ns } = done;
	const waits = report.stacks.filter(({ wait }) => wait?.kind === 'poll');
	assert.ok(sumOf(waits, 'blocked') >= 0.97 * sumOf(report.stacks, 'blocked'));
	const self = { pid: process.pid, comm: readFileSync('/proc/self/comm', 'utf8').trim() };
	const remote = `127.0.0.1:${latePort}`;
	const lateObjects = (stacks: typeof waits) =>
		timeFor(stacks, (object) => {
			if (object.remote !== remote) return false;
			assert.deepEqual([object.type, object.protocol], ['socket', 'tcp']);
			assert.deepEqual(object.other_end, [self]);
			return true;
		});
	const for_ns = lateObjects(waits);
	assert.ok(for_ns >= 0.97 * late_ns && for_ns <= all_ns, `${for_ns}: ${late_ns} to ${all_ns}`);
	for (const object of waits.flatMap(({ wait }) => wait?.objects ?? []))
		if (object.remote !== remote) assert.ok(Number(object.value_ns) <= all_ns - late_ns);

	const args = ['offwaketime', '--hops', '4', '-p', pid];
	const chains = await during(args, () => askBoth(REQUESTS));
	const byUs = chains.report.stacks.filter(
		({ wait: { waker, objects = [] } = {} }) =>
			waker?.pid === process.pid && waker.did === 'blocked' && objects[0]?.remote === remote,
	);
	const slept = byUs.filter(({ wait }) => wait?.waker?.wait?.kind === 'poll');
	assert.ok(sumOf(slept) >= 0.9 * chains.done.late_ns, `${sumOf(slept)} of ${chains.done.late_ns}`);
});

/** nginx: files that are not there, and an upstream server that takes its time. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { childOf, nginxServer } from '../../bench/servers.js';
import { sumOf } from '../live/stacks.js';
import { until } from '../live/support.js';
import { during, serverFolder, totalOf } from './support.js';

const folder = serverFolder();
const [SOCKET, UPSTREAM] = [join(folder, 'socket'), join(folder, 'upstream')];
let pid = '';

/** Answers when the test says so. */
const waiting: ServerResponse[] = [];
const upstream = createServer((_, response) => waiting.push(response));

before(async () => {
	upstream.listen(UPSTREAM);
	await once(upstream, 'listening');
	const slow = `location /slow { proxy_pass http://unix:${UPSTREAM}:/; }`;
	const server = `server { listen unix:${SOCKET}; root ${folder}; ${slow} }`;
	const master = nginxServer(folder, server);
	pid = `${await childOf(master, /worker/)}`;
	await until(() => existsSync(SOCKET));
});
after(() => {
	upstream.closeAllConnections();
	upstream.close();
});

/** The status of what was asked for. Not `runToEnd`: the upstream server is this process. */
async function status(path: string): Promise<string> {
	const words = ['-s', '-o', '/dev/null', '-w', '%{http_code}', '--unix-socket', SOCKET];
	const client = spawn('curl', [...words, `http://localhost${path}`]);
	let text = '';
	client.stdout.on('data', (data) => {
		text += data;
	});
	await once(client, 'close');
	return text;
}

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

/** why, of nginx: an upstream server that takes its time, and no trouble. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { childOf, nginxServer } from '../../bench/shared/servers.js';
import { until } from '../live/support.js';
import { around, assertWhy, preferred, serverFolder, whyText } from './support.js';

const folder = serverFolder();
const SOCKET = join(folder, 'socket');
const LATE_MS = 100;
/** How long it took for answers, in all. */
let late_ms = 0;
const upstream = createServer((_, response) => {
	const began = performance.now();
	setTimeout(() => {
		late_ms += performance.now() - began;
		response.end('late');
	}, LATE_MS);
});
let [pid, port] = [0, 0];

before(async () => {
	upstream.listen(0, '127.0.0.1');
	await once(upstream, 'listening');
	port = (upstream.address() as AddressInfo).port;
	const proxy = `location /late { proxy_pass http://127.0.0.1:${port}/; }`;
	const master = nginxServer(folder, `server { listen unix:${SOCKET}; root ${folder}; ${proxy} }`);
	pid = await childOf(master, /worker/);
	preferred(pid);
	await until(() => existsSync(SOCKET));
});
after(() => {
	upstream.closeAllConnections();
	upstream.close();
});

/** Not `said`: the upstream server is this process. */
async function get(path: string, status: string): Promise<void> {
	const words = ['-s', '-o', '/dev/null', '-w', '%{http_code}', '--unix-socket', SOCKET];
	const client = spawn('curl', [...words, `http://localhost${path}`]);
	let text = '';
	client.stdout.on('data', (data) => {
		text += data;
	});
	await once(client, 'close');
	assert.equal(text, status);
}

test('a slow upstream server: its address, and its process', async () => {
	const self = { comm: readFileSync('/proc/self/comm', 'utf8').trim(), pid: process.pid };
	const address = `tcp 127\\.0\\.0\\.1:${port} ↔ ${self.comm} \\(${self.pid}\\)`;
	const scene = (requests: number) => ({
		pid,
		work: async () => {
			late_ms = 0;
			for (let i = 0; i < requests; i++) await get('/late', '200');
			return late_ms * 1e6;
		},
	});
	await assertWhy(
		() => scene(20),
		({ done: late_ns, run_ns, delay_ns }) => [
			{
				place: 'waiting',
				kinds: ['poll'],
				object: new RegExp(`^${address}$`),
				share: around(late_ns / (late_ns + run_ns + delay_ns)),
				function: 'ngx_process_events_and_timers',
				says: new RegExp(`for data from ${address}, .* Meanwhile ${self.comm} `),
				culprit: self,
			},
		],
	);
	const text = await whyText(scene(5));
	assert.match(
		text,
		new RegExp(`nginx \\(${pid}\\) waits \\d+ % of its working time for data from ${address}`),
	);
	assert.match(text, new RegExp(`Try: tstrace why -p ${process.pid} `));
});

test('files that are not there: no trouble', async () => {
	const { verdict } = await assertWhy(
		() => ({
			pid,
			work: async () => {
				for (let i = 0; i < 50; i++) await get('/no-such-file', '404');
			},
		}),
		() => [],
	);
	assert.match(verdict, /^No trouble: nobody waits for it\./);
});

/** why, of nginx: an upstream server that takes its time, and no trouble. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { beginNginx, LateServer, portOf, statusOf } from './nginx-session.js';
import { around, assertWhy, preferred, serverFolder, whyText } from './support.js';

const folder = serverFolder();
const late = new LateServer();
let [pid, port] = [0, 0];

before(async () => {
	port = await portOf(late.server);
	pid = await beginNginx(folder, [`location /late { proxy_pass http://127.0.0.1:${port}/; }`]);
	preferred(pid);
});

async function get(path: string, status: string): Promise<void> {
	assert.equal(await statusOf(folder, path), status);
}

test('a slow upstream server: its address, and its process', async () => {
	const self = { comm: readFileSync('/proc/self/comm', 'utf8').trim(), pid: process.pid };
	const address = `tcp 127\\.0\\.0\\.1:${port} ↔ ${self.comm} \\(${self.pid}\\)`;
	const scene = (requests: number) => ({
		pid,
		work: async () => {
			late.took_ms = 0;
			for (let i = 0; i < requests; i++) await get('/late', '200');
			return late.took_ms * 1e6;
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

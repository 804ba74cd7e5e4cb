/** why, of redis-server: a script that computes, a sleep of its own, a disk that each command waits for, and no trouble. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { redisServer } from '../../bench/shared/servers.js';
import { reportsOf } from '../live/reports.js';
import { Tracing, until } from '../live/support.js';
import {
	around,
	assertWhy,
	bySize,
	favour,
	OFF,
	preferred,
	runs,
	said,
	serverFolder,
	totalOf,
	whyText,
} from './support.js';

const folder = serverFolder();
const SOCKET = join(folder, 'socket');
const redis = (...words: readonly string[]) => said('redis-cli', '-s', SOCKET, ...words);
let pid = 0;

before(async () => {
	const options = ['--port', '0', '--unixsocket', SOCKET, '--save', ''];
	pid = await redisServer(folder, ['-s', SOCKET], [...options, '--enable-debug-command', 'yes']);
	favour(pid);
});

test('a slow script: it runs, in Lua', async () => {
	const script = 'local sum = 0; for i = 1, 100000000 do sum = sum + i end; return sum';
	await assertWhy(
		() => ({ pid, work: () => redis('eval', script, '0') }),
		({ run_ns, delay_ns }) => [
			{
				...runs(around(run_ns / (run_ns + delay_ns))),
				function: 'lua_pcall',
				says: /the CPU profile is the answer/,
			},
		],
	);
});

test('DEBUG SLEEP: it sleeps, in the command', async () => {
	const SLEEP_S = 2;
	const scene = (seconds: number) => ({
		pid,
		work: () => redis('debug', 'sleep', `${seconds}`),
	});
	await assertWhy(
		() => scene(SLEEP_S),
		({ run_ns, delay_ns }) => [
			{
				place: 'waiting',
				kinds: ['sleep'],
				share: around((SLEEP_S * 1e9) / (SLEEP_S * 1e9 + run_ns + delay_ns)),
				function: 'debugCommand',
				says: /^redis-server \(\d+\) sleeps/,
			},
		],
	);
	let text = await whyText(scene(SLEEP_S / 2));
	// The kernel here does not report all switches: of a sleep that nobody saw begin, why says so.
	for (let tries = 1; tries < 5 && / of the time nothing was seen/.test(text); tries++)
		text = await whyText(scene(SLEEP_S / 2));
	assert.match(
		text,
		new RegExp(
			`redis-server \\(${pid}\\) sleeps for \\d+ % of its working time, in debugCommand\\.`,
		),
	);
	assert.match(text, /1\. \d+ % of working time: redis-server/);
	assert.match(text, / waiting: sleep 1 /);
});

test('appendfsync always: each command waits until the disk has written the append-only file', async () => {
	const [COMMANDS, BYTES] = [1000, 4000];
	preferred(pid);
	redis('config', 'set', 'appendfsync', 'always');
	redis('config', 'set', 'auto-aof-rewrite-percentage', '0');
	redis('config', 'set', 'appendonly', 'yes');
	// It has this name once all keys are in another file.
	const path = join(folder, 'appendonlydir', 'appendonly.aof.1.incr.aof');
	await until(() => existsSync(path));
	await assertWhy(
		() => ({
			pid,
			work: async () => {
				const calls = await Tracing.start(['syscount', '--latency', '--json', '-p', `${pid}`]);
				said(
					'redis-benchmark',
					...['-s', SOCKET, '-t', 'set', '-d', `${BYTES}`, '-c', '1', '-n', `${COMMANDS}`],
				);
				const [{ rows = [] } = {}] = reportsOf((await calls.end('SIGINT')).stdout);
				const syncs = rows.filter(({ syscall }) => syscall === 'fdatasync');
				assert.ok(totalOf(syncs, 'calls') >= COMMANDS);
				return totalOf(syncs, 'total_ns');
			},
		}),
		// A sync runs, too: nobody says how much. A disk that is fast takes no longer than what it is asked by.
		({ done: sync_ns, run_ns, delay_ns }) => {
			const cpu_ns = run_ns + delay_ns;
			return bySize(
				runs([run_ns / (sync_ns + cpu_ns) - OFF, run_ns / Math.max(sync_ns, cpu_ns) + OFF]),
				{
					place: 'waiting',
					kinds: ['disk_write'],
					object: /appendonly\.aof\.1\.incr\.aof$/,
					share: [(sync_ns - cpu_ns) / sync_ns - OFF, sync_ns / (sync_ns + cpu_ns) + OFF],
					function: 'flushAppendOnlyFile',
				},
			);
		},
	);
	redis('config', 'set', 'appendonly', 'no');
});

test('a few commands now and then: no trouble, and new clients are no work to wait for', async () => {
	const { account, verdict } = await assertWhy(
		() => ({ pid, work: () => redis('-r', '20', '-i', '0.1', 'get', 'key') }),
		() => [],
	);
	assert.match(verdict, /^No trouble: nobody waits for it\./);
	const waiting = account.filter(({ place }) => place === 'waiting');
	assert.ok(
		!waiting.some(({ object }) => object === `unix socket ${SOCKET}`),
		JSON.stringify(waiting),
	);
});

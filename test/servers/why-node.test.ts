/** why, of Node.js: an event loop that a function keeps, and a thread pool that is full. */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { written } from '../../bench/shared/servers.js';
import { Workload } from '../live/support.js';
import { schedstat } from '../live/times.js';
import {
	around,
	assertWhy,
	bySize,
	favour,
	OFF,
	preferred,
	runs,
	type Scene,
	serverFolder,
} from './support.js';

const folder = serverFolder();
const SOCKET = join(folder, 'socket');
const CPUS = availableParallelism();

const NODE = `
const { pbkdf2 } = require('node:crypto');
const { openSync, rmSync, write } = require('node:fs');
const { lookup } = require('node:dns');
const { createServer } = require('node:http');
function renderReport() {
	let sum = 0;
	for (let i = 0; i < 5e7; i++) sum += Math.sqrt(i);
	return sum;
}
const order = Buffer.alloc(16384, 'order');
const orders = openSync('${folder}/orders', 'as');
function keep(left, end) {
	if (left === 0) end();
	else write(orders, order, (error) => (error ? end(error) : keep(left - 1, end)));
}
const answers = {
	'/report': (end) => end(null, renderReport()),
	'/password': (end) => pbkdf2('password', 'salt', 200000, 64, 'sha512', end),
	'/orders': (end) => keep(50, end),
	'/partner': (end) => lookup('partner.invalid.', (error) => end(!error)),
};
const server = createServer(({ url }, response) =>
	answers[url]((error) => {
		response.statusCode = error ? 500 : 200;
		response.end();
	}),
);
rmSync('${SOCKET}', { force: true });
server.listen('${SOCKET}', () => console.log('ready ' + process.pid + ' ' + process.pid));
process.stdin.once('end', () => process.exit(0)).resume();
`;

/** Its status. */
async function status(path: string): Promise<number | undefined> {
	const [answer] = (await once(get({ socketPath: SOCKET, path }), 'response')) as [IncomingMessage];
	await once(answer.resume(), 'end');
	return answer.statusCode;
}

/** So many requests for it, so many at a time; takes as long as this. */
async function ask(path: string, requests: number, atOnce: number): Promise<number> {
	const began = performance.now();
	let left = requests;
	const client = async () => {
		while (left-- > 0) assert.equal(await status(path), 200);
	};
	await Promise.all(Array.from({ length: atOnce }, client));
	return (performance.now() - began) * 1e6;
}

/** A server whose pool has so many threads; Node.js itself has four. */
async function server(
	threads: number,
	work: () => Promise<number>,
	...by: readonly string[]
): Promise<Scene<number>> {
	const script = join(folder, written(folder, 'server.cjs', NODE));
	const names = ['--perf-basic-prof', '--interpreted-frames-native-stack'];
	const size = `UV_THREADPOOL_SIZE=${threads}`;
	const words = ['env', '-C', folder, size, process.execPath, ...names, script];
	const [first = '', ...others] = [...by, ...words];
	const node = await Workload.startBy(first, ...others);
	favour(node.pid);
	return { pid: node.pid, work, end: () => node.end() };
}

test('an event loop that a function keeps: it runs, in that function', async () => {
	await assertWhy(
		() => server(4, () => ask('/report', 20, 4)),
		({ run_ns, delay_ns }) => [
			{
				...runs(around(run_ns / (run_ns + delay_ns))),
				says: /\d+ % in .*renderReport.*: the CPU profile is the answer/,
			},
		],
	);
});

test('passwords that one thread of the pool has to compute: it runs', async () => {
	await assertWhy(
		() => server(1, () => ask('/password', 20, 8)),
		({ run_ns, delay_ns }) => [
			{
				...runs(around(run_ns / (run_ns + delay_ns))),
				says: /the CPU profile is the answer/,
			},
		],
	);
});

test('passwords, and more threads in the pool than CPUs: they have too few of them', async () => {
	await assertWhy(
		() => server(4 * CPUS, () => ask('/password', 10 * CPUS, 4 * CPUS)),
		({ run_ns, delay_ns }) => [
			{
				place: 'runnable',
				kinds: ['run_queue', 'preempted'],
				share: around(delay_ns / (run_ns + delay_ns)),
				says: /more threads want to run than there are CPUs/,
			},
		],
	);
});

/** Of the time that a client waits: the thread has something to do for it. */
const LEAST_AT_WORK = 0.7;

test('files that one thread of the pool has to write: it waits for the disk', async () => {
	const scene = async () => {
		const { pid, work: _, ...rest } = await server(1, () => Promise.resolve(0));
		preferred(pid);
		const work = async () => {
			const before = schedstat(pid);
			// For longer than a stall of the machine: one of 185 ms was 42 % of 444 ms once.
			const all_ns = await ask('/orders', 150, 8);
			const { run_ns, delay_ns } = schedstat(pid);
			return { all_ns, loop_ns: run_ns + delay_ns - before.run_ns - before.delay_ns };
		};
		return { pid, work, ...rest };
	};
	await assertWhy(scene, ({ done: { all_ns, loop_ns }, run_ns, delay_ns }) => {
		// At most: on a slow machine the loop and the client leave the thread without work now and then.
		const blocked_ns = all_ns - (run_ns + delay_ns - loop_ns);
		const working_ns = blocked_ns + run_ns + delay_ns;
		// A disk that is fast takes no longer than what it is asked by.
		return bySize(runs(around(run_ns / working_ns)), {
			place: 'waiting',
			kinds: ['disk_write'],
			object: /\/orders$/,
			share: [(LEAST_AT_WORK * blocked_ns) / working_ns, blocked_ns / working_ns + OFF],
			function: 'uv__fs_work',
		});
	});
});

/** How long the C library waits for a server of names, as its configuration says. */
const TIMEOUT_S = 1;
const SILENT = '127.0.0.78';

test('names that a server never tells: the pool waits for its address', async () => {
	const names = createSocket('udp4');
	names.bind(53, SILENT);
	await once(names, 'listening');
	try {
		const settings = `nameserver ${SILENT}\noptions timeout:${TIMEOUT_S} attempts:1\n`;
		const resolv = join(folder, written(folder, 'resolv.conf', settings));
		const mount = ['unshare', '-m', 'sh', '-c', 'mount --bind "$0" /etc/resolv.conf && exec "$@"'];
		await assertWhy(
			// Of four threads libuv lets two look up names at once (`slow_work_thread_threshold`).
			() => server(4, () => ask('/partner', 4, 4), ...mount, resolv),
			({ done: all_ns, run_ns, delay_ns }) => {
				assert.ok(all_ns >= 2 * TIMEOUT_S * 0.99e9, 'two after two');
				const asked_ns = 4 * TIMEOUT_S * 1e9;
				return [
					{
						place: 'waiting',
						kinds: ['poll'],
						object: new RegExp(`^udp ${SILENT.replaceAll('.', '\\.')}:53 `),
						share: around(asked_ns / (asked_ns + run_ns + delay_ns)),
						function: 'uv__getaddrinfo_work',
					},
				];
			},
		);
	} finally {
		names.close();
	}
});

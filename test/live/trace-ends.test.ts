/** trace: how the threads of a process end, and what its sockets are called. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { Tracing, until, Workload } from './support.js';

const THREADS = 4;

test('of the threads of a process only the last one that ends is its end', async () => {
	const crowd = await Workload.start('crowd', `${THREADS}`, '1', '1000');
	const tracing = await Tracing.start(['trace', '-e', 'none', '-p', `${crowd.pid}`]);
	// Its threads begin after that.
	const begins_ms = Date.now();
	await until(() => Date.now() - begins_ms > 300);
	await crowd.work();
	await crowd.end();
	const { stdout } = await tracing.end();
	const ends = stdout.split('\n').flatMap((line) => /\+\+\+ (.*) after /.exec(line)?.[1] ?? []);
	assert.deepEqual(ends, [...Array(THREADS).fill('thread exited with 0'), 'exited with 0']);
	const UNITS_MS: Readonly<Record<string, number>> = { us: 1e-3, ms: 1, s: 1000 };
	const lives_ms = [...stdout.matchAll(/ after ([\d.]+) ?(us|ms|s) \+\+\+/g)].map(
		([, number, unit = '']) => Number(number) * (UNITS_MS[unit] ?? 0),
	);
	const process_ms = lives_ms.at(-1) ?? 0;
	for (const life_ms of lives_ms.slice(0, -1))
		assert.ok(life_ms > 0 && life_ms < process_ms - 300, `${life_ms} of ${process_ms}`);
});

test('-y: both ends of a unix connection have its path, who has accepted it, too', async () => {
	const folder = realpathSync(mkdtempSync('build/trace-'));
	const path = join(folder, 'socket');
	const server = createServer().listen(path);
	await once(server, 'listening');
	const client = connect(path);
	const [accepted] = (await once(server, 'connection')) as [Socket];
	try {
		const calls = 'write,writev,sendto,sendmsg';
		const tracing = await Tracing.start(['trace', '-y', '-e', calls, '-p', `${process.pid}`]);
		accepted.write('from the server');
		client.write('from the client');
		for (const each of [client, accepted]) await once(each, 'data');
		const { stdout } = await tracing.end('SIGINT');
		for (const text of ['from the server', 'from the client']) {
			const line = stdout.split('\n').find((each) => each.includes(text));
			assert.equal(/\d+<unix:([^>]*)>/.exec(line ?? '')?.[1], path, line);
		}
	} finally {
		for (const each of [client, accepted]) each.destroy();
		server.close();
		rmSync(folder, { recursive: true });
	}
});

test('-y: both ends of an IPv6 connection, each from its own side', async () => {
	const server = createServer().listen(0, '::1');
	await once(server, 'listening');
	const { port } = server.address() as AddressInfo;
	const client = connect(port, '::1');
	const [accepted] = (await once(server, 'connection')) as [Socket];
	try {
		const calls = 'write,writev,sendto,sendmsg';
		const tracing = await Tracing.start(['trace', '-y', '-e', calls, '-p', `${process.pid}`]);
		accepted.write('from the server');
		client.write('from the client');
		for (const each of [client, accepted]) await once(each, 'data');
		const { stdout } = await tracing.end('SIGINT');
		const ends = [`[::1]:${port}`, `[::1]:${client.localPort}`];
		for (const [text, shown] of [
			['from the server', ends],
			['from the client', ends.toReversed()],
		] as const) {
			const line = stdout.split('\n').find((each) => each.includes(text));
			assert.equal(/\d+<tcp6?:([^>]*->[^>]*)>/.exec(line ?? '')?.[1], shown.join('->'), line);
		}
	} finally {
		for (const each of [client, accepted]) each.destroy();
		server.close();
	}
});

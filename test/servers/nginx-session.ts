/** An nginx that tests ask, and the servers behind it: these are this process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after } from 'node:test';
import { nginxWorker } from '../../bench/shared/servers.js';
import { until } from '../live/support.js';

const socketIn = (folder: string) => join(folder, 'socket');

/** Serves the folder, and whatever else is at these locations. Returns its one worker. */
export async function beginNginx(folder: string, locations: readonly string[]): Promise<number> {
	const listen = `listen unix:${socketIn(folder)}`;
	const worker = await nginxWorker(
		folder,
		`server { ${listen}; root ${folder}; ${locations.join(' ')} }`,
	);
	await until(() => existsSync(socketIn(folder)));
	return worker;
}

/** The status of what was asked for. Not `runToEnd`: what is behind it could not answer meanwhile. */
export async function statusOf(folder: string, path: string): Promise<string> {
	const words = ['-s', '-o', '/dev/null', '-w', '%{http_code}'];
	const client = spawn('curl', [
		...words,
		'--unix-socket',
		socketIn(folder),
		`http://localhost${path}`,
	]);
	let text = '';
	client.stdout.on('data', (data) => {
		text += data;
	});
	await once(client, 'close');
	return text;
}

/** A server behind it, which ends with the tests of the file. */
export function upstreamServer(answer: RequestListener): Server {
	const server = createServer(answer);
	after(() => {
		server.closeAllConnections();
		server.close();
	});
	return server;
}

/** It listens there from now on. */
export async function portOf(server: Server): Promise<number> {
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	return (server.address() as AddressInfo).port;
}

const LATE_MS = 100;

/** An upstream server that takes its time, and how long it took for answers, in all. */
export class LateServer {
	took_ms = 0;
	readonly server = upstreamServer((_, response) => {
		const began = performance.now();
		setTimeout(() => {
			this.took_ms += performance.now() - began;
			response.end('late');
		}, LATE_MS);
	});
}

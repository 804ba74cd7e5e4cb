/** One file from a server: how much of it, from where, and what is told meanwhile. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { PartialFile } from '../../../../src/symbolize/debuginfod/cache.js';
import { DownloadError, download } from '../../../../src/symbolize/debuginfod/download.js';
import { type Answer, serve } from './support.js';

/** What came; `limits`: how much may, and how long a server may keep us waiting. */
async function fetched(answer: Answer, limits: { size_bytes?: number; timeout_ms?: number } = {}) {
	const server = await serve(answer);
	const parts: Buffer[] = [];
	const told: (readonly [came: number, all: number | undefined])[] = [];
	const into = { write: (bytes: Uint8Array) => parts.push(Buffer.from(bytes)) };
	const signal = new AbortController().signal;
	const came = await download(
		new URL(server.url),
		into as unknown as PartialFile,
		{ timeout_ms: 60_000, size_bytes: 1000, signal, ...limits },
		(...each) => told.push(each),
	);
	const text = Buffer.concat(parts).toString();
	assert.equal(came, text.length);
	return { text, told, asked: server.asked };
}

/** Why it did not come. */
async function refusal(...of: Parameters<typeof fetched>) {
	try {
		await fetched(...of);
	} catch (error) {
		assert.ok(error instanceof DownloadError, `${error}`);
		return { of: error.of, says: error.message };
	}
	return assert.fail('it came');
}

const body = (bytes: number, headers: Record<string, string> = {}): Answer => {
	return (_request, response) => response.writeHead(200, headers).end('x'.repeat(bytes));
};
/** Nobody says how long it is. */
const CHUNKED = { 'Transfer-Encoding': 'chunked' };

test('as much as may come does, and one byte more is too much, whether it is said before or not', async () => {
	for (const headers of [{}, CHUNKED]) {
		assert.equal((await fetched(body(1000, headers))).text.length, 1000);
		const { of, says } = await refusal(body(1001, headers));
		assert.deepEqual([of, says], ['file', 'has more than 1,000 B to send for it']);
	}
	const said = { ...CHUNKED, 'X-DEBUGINFOD-SIZE': '5000' };
	assert.equal((await refusal(body(10, said))).of, 'file', 'nobody waits for the rest');
	// What is no number says nothing.
	const nonsense = { ...CHUNKED, 'X-DEBUGINFOD-SIZE': '1e9' };
	assert.equal((await fetched(body(10, nonsense))).text.length, 10);
});

test('told is how much came in all, of how much, if the server says so', async () => {
	const halves =
		(headers: Record<string, string>): Answer =>
		(_request, response) => {
			response.writeHead(200, headers);
			response.write('x'.repeat(300), () => setImmediate(() => response.end('y'.repeat(200))));
		};
	for (const [headers, all] of [
		[{ 'Content-Length': '500' }, 500],
		[{ ...CHUNKED, 'X-DEBUGINFOD-SIZE': '600' }, 600],
		[CHUNKED, undefined],
	] as const) {
		const { told, text } = await fetched(halves(headers));
		assert.equal(text, 'x'.repeat(300) + 'y'.repeat(200));
		assert.deepEqual(told.at(-1), [500, all]);
		for (const [came, of] of told) assert.ok(came >= 300 && of === all, `${came} of ${of}`);
	}
});

test('a server that lacks the file, one that keeps it, one that is broken', async () => {
	const of = async (status: number) =>
		(await refusal((_request, response) => response.writeHead(status).end())).of;
	assert.deepEqual([await of(404), await of(410)], ['missing', 'missing']);
	assert.equal(await of(406), 'file');
	assert.deepEqual([await of(500), await of(403), await of(204)], ['server', 'server', 'server']);
});

test('redirects of each kind are followed, five of them; what is no redirect is not', async () => {
	for (const status of [301, 302, 303, 307, 308]) {
		const { text, asked } = await fetched((request, response) => {
			const number = Number(request.url?.slice(1) || 0);
			if (number === 5) response.writeHead(200).end('found');
			else response.writeHead(status, { Location: `/${number + 1}` }).end();
		});
		assert.equal(text, 'found', `${status}`);
		assert.deepEqual(asked, ['/', '/1', '/2', '/3', '/4', '/5']);
	}
	for (const status of [300, 304]) {
		const { of, says } = await refusal((_request, response) =>
			response.writeHead(status, { Location: '/x' }).end(),
		);
		assert.deepEqual([of, says], ['server', `answers ${status}`]);
	}
});

test('a server that sends enough at first, and then nothing, is given up', async () => {
	const { of, says } = await refusal(
		(_request, response) => {
			response.writeHead(200);
			response.write(Buffer.alloc(150 * 1024));
		},
		{ size_bytes: 1e6, timeout_ms: 40 },
	);
	assert.deepEqual(
		[of, says],
		['server', 'sends less than 102,400 B in 0.04 s (DEBUGINFOD_TIMEOUT)'],
	);
});

/** How much comes of a server that sends so many bytes, and ends when this time is over. */
async function cameAfter(t: TestContext, bytes: number, passes_ms: number): Promise<number> {
	let finish = () => {};
	const server = await serve((_request, response) => {
		response.writeHead(200);
		response.write('x'.repeat(bytes));
		finish = () => response.end('y'.repeat(5));
	});
	t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
	const limits = { timeout_ms: 60_000, size_bytes: 1e6, signal: new AbortController().signal };
	const into = { write: () => {} } as unknown as PartialFile;
	return download(new URL(server.url), into, limits, (came) => {
		if (came !== bytes) return;
		t.mock.timers.tick(passes_ms);
		finish();
	});
}

test('a server that was reached in time may take longer to send than it may take to be reached', async (t) => {
	assert.equal(await cameAfter(t, 10, 59_000), 15);
});

test('whoever takes a connection, and says nothing of how to encrypt it, is not reached', async (t) => {
	t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
	const silent = createServer((socket) => {
		socket.once('data', () => {
			t.mock.timers.tick(10_000);
			t.mock.timers.tick(50_000);
			socket.destroy();
		});
	}).listen(0, '127.0.0.1');
	t.after(() => silent.close());
	await once(silent, 'listening');
	const { port } = silent.address() as AddressInfo;
	const limits = { timeout_ms: 60_000, size_bytes: 1000, signal: new AbortController().signal };
	const into = { write: () => {} } as unknown as PartialFile;
	await assert.rejects(
		download(new URL(`https://127.0.0.1:${port}/`), into, limits),
		new DownloadError('cannot be reached within 10 s', 'server'),
	);
});

test('a server that sends enough may take as long as it pleases', async (t) => {
	assert.equal(await cameAfter(t, 102_400, 60_000), 102_405);
});

test('no redirect leads from https to http', async (t) => {
	const server = await serve((request, response) => {
		const to = request.url === '/' ? `https://${request.headers.host}/next` : '/last';
		const isPlain = request.url === '/next';
		const location = isPlain ? `http://${request.headers.host}/last` : to;
		if (request.url === '/last') response.end('found');
		else response.writeHead(302, { Location: location }).end();
	});
	// Without certificates: what is encrypted otherwise is not.
	t.mock.method(https, 'request', (at: URL, options: http.RequestOptions) =>
		http.request(new URL(at.href.replace('https:', 'http:')), options),
	);
	syncBuiltinESMExports();
	t.after(() => {
		t.mock.restoreAll();
		syncBuiltinESMExports();
	});
	const limits = { timeout_ms: 60_000, size_bytes: 1000, signal: new AbortController().signal };
	const into = { write: () => {} } as unknown as PartialFile;
	const from = (path: string) =>
		download(new URL(path, server.url.replace('http:', 'https:')), into, limits);
	await assert.rejects(from('/'), new DownloadError('redirects from https to http', 'server'));
	assert.equal(await from('/elsewhere'), 5);
});

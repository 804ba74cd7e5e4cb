/** One file from a server that may be broken, or mean harm: bounded in time, in bytes and in redirects. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { humanBytes } from '../../render/units.js';
import type { PartialFile } from './cache.js';

/** Why a server did not hand over a file, in words that go on after its name. */
export class DownloadError extends Error {
	constructor(
		message: string,
		/** 'missing': it has no such file. 'file': this file is not to be had. 'server': nor are others, likely. */
		readonly of: 'missing' | 'file' | 'server',
	) {
		super(message);
	}
}

interface DownloadLimits {
	/** Within this time come a connection (CONNECT_MS at most) and each time LEAST_BYTES. */
	readonly timeout_ms: number;
	readonly size_bytes: number;
	/** Aborted: ends at once, and throws its reason. */
	readonly signal: AbortSignal;
}

/** Told of as it goes on: the bytes that came, and how many it will be in all, if the server says so. */
export type OnBytes = (came: number, all: number | undefined) => void;

const MAX_REDIRECTS = 5;
const REDIRECTS = [301, 302, 303, 307, 308];
/** elfutils: a server that sends less within DEBUGINFOD_TIMEOUT is given up. */
const LEAST_BYTES = 100 * 1024;
/** Behind a firewall that drops packets, nobody wants to wait for longer. */
const CONNECT_MS = 10_000;

/** Writes what the server has at this URL into the file. Throws DownloadError, FolderError, or the signal's reason. */
export async function download(
	from: URL,
	into: PartialFile,
	limits: DownloadLimits,
	onBytes: OnBytes = () => {},
): Promise<number> {
	const given = new Deadline(limits.timeout_ms);
	const signal = AbortSignal.any([limits.signal, given.signal]);
	try {
		let at = from;
		for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
			const response = await respond(at, limits.size_bytes, signal, given);
			try {
				const next = redirectOf(response, at);
				if (!next) return await take(response, into, limits.size_bytes, given, onBytes);
				at = next;
			} finally {
				response.destroy();
			}
		}
		throw new DownloadError(`redirects more than ${MAX_REDIRECTS} times`, 'server');
	} catch (error) {
		// What broke is the connection then, by us.
		if (signal.aborted) throw signal.reason;
		throw error;
	} finally {
		given.close();
	}
}

async function respond(
	at: URL,
	size_bytes: number,
	signal: AbortSignal,
	given: Deadline,
): Promise<IncomingMessage> {
	// Few runs need them, and they take a while to load.
	const { request }: Pick<typeof import('node:http'), 'request'> =
		at.protocol === 'https:' ? await import('node:https') : await import('node:http');
	const headers = {
		'User-Agent': 'tstrace',
		'Accept-Encoding': 'identity',
		'X-DEBUGINFOD-MAXSIZE': String(size_bytes),
	};
	return new Promise((resolve, reject) => {
		// A connection of its own each time, that nothing keeps open.
		const asked: ClientRequest = request(at, { agent: false, headers, signal });
		given.connecting();
		asked.once('socket', (socket) => {
			const ready = at.protocol === 'https:' ? 'secureConnect' : 'connect';
			socket.once(ready, () => given.connected());
		});
		asked.once('response', resolve);
		asked.on('error', (error: NodeJS.ErrnoException) => {
			const why = error.code ?? error.message;
			const isRefused = (asked.socket as Partial<TLSSocket> | null)?.authorizationError;
			reject(
				new DownloadError(isRefused ? untrusted(why) : `cannot be reached (${why})`, 'server'),
			);
		});
		asked.end();
	});
}

const untrusted = (why: string) =>
	`shows a certificate that is not trusted (${why}); NODE_EXTRA_CA_CERTS=FILE names more that are`;

/** Where it says that the file is; undefined where it has it itself. Throws DownloadError. */
function redirectOf({ statusCode = 0, headers }: IncomingMessage, at: URL): URL | undefined {
	if (statusCode === 200) return undefined;
	if (statusCode === 404 || statusCode === 410)
		throw new DownloadError('does not have it', 'missing');
	if (statusCode === 406) throw new DownloadError('has it, but it is too large', 'file');
	if (!REDIRECTS.includes(statusCode)) throw new DownloadError(`answers ${statusCode}`, 'server');
	const to = headers.location ?? '';
	const next = URL.canParse(to, at.href) ? new URL(to, at) : undefined;
	if (next?.protocol !== 'http:' && next?.protocol !== 'https:')
		throw new DownloadError('redirects to what is no http or https URL', 'server');
	if (at.protocol === 'https:' && next.protocol === 'http:')
		throw new DownloadError('redirects from https to http', 'server');
	return next;
}

async function take(
	response: IncomingMessage,
	into: PartialFile,
	size_bytes: number,
	given: Deadline,
	onBytes: OnBytes,
): Promise<number> {
	const { headers } = response;
	const encoding = headers['content-encoding'] ?? 'identity';
	if (encoding !== 'identity') throw new DownloadError('sends it compressed', 'server');
	const said = headers['content-length'] ?? headers['x-debuginfod-size'];
	const all = typeof said === 'string' && /^\d{1,15}$/.test(said) ? Number(said) : undefined;
	const tooLarge = () =>
		new DownloadError(`has more than ${humanBytes(size_bytes)} to send for it`, 'file');
	if ((all ?? 0) > size_bytes) throw tooLarge();
	let came = 0;
	try {
		for await (const chunk of response as AsyncIterable<Buffer>) {
			came += chunk.length;
			// Whatever it said before.
			if (came > size_bytes) throw tooLarge();
			into.write(chunk);
			given.came(chunk.length);
			onBytes(came, all);
		}
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === undefined) throw error;
		throw new DownloadError(`ended the transfer early (${code})`, 'server');
	}
	return came;
}

/** Gives a server up that keeps us waiting. */
class Deadline {
	readonly #abort = new AbortController();
	readonly #timeout_ms: number;
	#connecting: NodeJS.Timeout | undefined;
	#sending: NodeJS.Timeout | undefined;
	/** Since the last time that it was looked at. */
	#bytes = 0;

	constructor(timeout_ms: number) {
		this.#timeout_ms = timeout_ms;
		if (Number.isFinite(timeout_ms)) {
			this.#sending = setInterval(() => this.#look(), timeout_ms);
		}
	}

	get signal(): AbortSignal {
		return this.#abort.signal;
	}

	connecting(): void {
		const limit_ms = Math.min(this.#timeout_ms, CONNECT_MS);
		clearTimeout(this.#connecting);
		this.#connecting = setTimeout(
			() => this.#end(`cannot be reached within ${limit_ms / 1000} s`),
			limit_ms,
		);
	}

	connected(): void {
		clearTimeout(this.#connecting);
	}

	came(bytes: number): void {
		this.#bytes += bytes;
	}

	close(): void {
		clearTimeout(this.#connecting);
		clearInterval(this.#sending);
	}

	#look(): void {
		const time = `${this.#timeout_ms / 1000} s (DEBUGINFOD_TIMEOUT)`;
		if (this.#bytes < LEAST_BYTES)
			this.#end(`sends less than ${humanBytes(LEAST_BYTES)} in ${time}`);
		this.#bytes = 0;
	}

	#end(why: string): void {
		this.#abort.abort(new DownloadError(why, 'server'));
	}
}

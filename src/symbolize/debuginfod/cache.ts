/**
 * The folder in which elfutils' debuginfod client (gdb, perf) keeps the files that it fetched, and tstrace those that
 * it fetches: BUILD-ID/debuginfo. An empty file there says that no server has it. Source: man 7
 * debuginfod-client-config; elfutils, debuginfod/debuginfod-client.c.
 */
import { randomBytes } from 'node:crypto';
import {
	closeSync,
	fchmodSync,
	ftruncateSync,
	lstatSync,
	openSync,
	readdirSync,
	renameSync,
	rmdirSync,
	rmSync,
	type Stats,
	statfsSync,
	writeSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { type OpenFile, openRegular, readFile } from '../../proc/open.js';
import { FolderError, ownFolder } from './own-folder.js';

const NAME = 'debuginfo';
/** What a client that was killed has left of a file; ours and elfutils'. */
const PARTIAL = /^debuginfo\.\w{6,16}$/;
/** Nothing is written for so long. */
const STALE_MS = 24 * 3600_000;
/** As elfutils has it, where the folder's file of this name says nothing else. */
const MISS_FILE = 'cache_miss_s';
const DEFAULT_MISS_S = 600;
const BUILD_ID = /^[0-9a-f]{4,128}$/;

export class DebugFileCache {
	constructor(private readonly folder: string) {}

	/** The file of this build-id, if there is one; whether it is what it should be is for the reader to see. */
	open(buildId: string): OpenFile | undefined {
		const folder = this.#existing(buildId);
		const file = folder ? openRegular(join(folder, NAME), { follow: false }) : undefined;
		if (!file || file.stat.size > 0) return file;
		closeSync(file.fd);
		return undefined;
	}

	/** Whether somebody asked all servers a short time ago, and none had it. */
	isMiss(buildId: string): boolean {
		const folder = this.#existing(buildId);
		const stat = folder ? statOf(join(folder, NAME)) : undefined;
		if (!stat?.isFile() || stat.size > 0) return false;
		return Date.now() - stat.mtimeMs <= this.#miss_s() * 1000;
	}

	/** To be told when no server has it, and at no other time. Where that cannot be written, it is not. */
	recordMiss(buildId: string): void {
		try {
			// An older miss begins anew; a file that another client has put there meanwhile stays.
			const path = join(this.#make(buildId), NAME);
			if (statOf(path)?.size === 0) rmSync(path);
			closeSync(openSync(path, 'wx', 0o600));
		} catch {
			// It is asked for again the next time.
		}
	}

	/** Begins a file of this build-id, beside its place. Throws FolderError. */
	begin(buildId: string): PartialFile {
		const folder = this.#make(buildId);
		try {
			removeStale(folder);
			return new PartialFile(folder);
		} catch (error) {
			throw new FolderError(`${folder} cannot be written to (${codeOf(error)})`);
		}
	}

	#existing(buildId: string): string | undefined {
		if (!BUILD_ID.test(buildId)) return undefined;
		try {
			return ownFolder(join(this.folder, buildId));
		} catch (error) {
			if (error instanceof FolderError) return undefined;
			throw error;
		}
	}

	#make(buildId: string): string {
		if (!BUILD_ID.test(buildId)) throw new FolderError(`"${buildId}" is no build-id`);
		return ownFolder(join(this.folder, buildId), { create: true });
	}

	#miss_s(): number {
		const text = readFile(
			openRegular(join(this.folder, MISS_FILE)),
			(bytes) => bytes.read(0, Math.min(bytes.size_bytes, 20)).toString('latin1'),
			() => '',
		);
		const said = /^\d{1,15}/.exec(text)?.[0];
		return said === undefined ? DEFAULT_MISS_S : Number(said);
	}
}

/** A file that is on its way. Whatever happens, it is either kept as a whole, or gone. */
export class PartialFile {
	readonly fd: number;
	readonly #path: string;
	readonly #folder: string;
	#open = true;
	#at = 0;
	/** A run that is interrupted leaves nothing of it. */
	readonly #discard = () => this.discard();

	constructor(folder: string) {
		this.#folder = folder;
		this.#path = join(folder, `${NAME}.${randomBytes(5).toString('hex')}`);
		this.fd = openSync(this.#path, 'wx+', 0o600);
		process.once('exit', this.#discard);
	}

	/** How much may be written before half of what is free on this file system is used. */
	room_bytes(): number {
		const { bavail, bsize } = statfsSync(this.#folder);
		return Math.floor((bavail * bsize) / 2);
	}

	/** Begins anew. */
	empty(): void {
		ftruncateSync(this.fd);
		this.#at = 0;
	}

	/** Throws FolderError, for a full disk for example. */
	write(bytes: Uint8Array): void {
		try {
			for (let done = 0; done < bytes.length; ) {
				const wrote = writeSync(this.fd, bytes, done, undefined, this.#at);
				done += wrote;
				this.#at += wrote;
			}
		} catch (error) {
			throw new FolderError(`${this.#folder} cannot be written to (${codeOf(error)})`);
		}
	}

	/** Puts it into its place. Throws FolderError. */
	keep(): void {
		try {
			fchmodSync(this.fd, 0o400);
			renameSync(this.#path, join(this.#folder, NAME));
		} catch (error) {
			throw new FolderError(`${this.#folder} cannot be written to (${codeOf(error)})`);
		}
		this.#close();
	}

	/** Removes it, if it was not kept. */
	discard(): void {
		if (!this.#open) return;
		this.#close();
		try {
			rmSync(this.#path, { force: true });
			rmdirSync(this.#folder);
		} catch {
			// There is something else in the folder: as before.
		}
	}

	#close(): void {
		this.#open = false;
		process.off('exit', this.#discard);
		closeSync(this.fd);
	}
}

function removeStale(folder: string): void {
	for (const name of readdirSync(folder)) {
		const path = join(folder, name);
		const stat = PARTIAL.test(name) ? statOf(path) : undefined;
		if (stat && Date.now() - stat.mtimeMs > STALE_MS) rmSync(path, { force: true });
	}
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);

/**
 * Where the cache is: $DEBUGINFOD_CACHE_PATH, else in $XDG_CACHE_HOME or ~/.cache. With `sudo -E` those are another
 * user's; then it is in this user's own home (`home`), since root does not write into a folder of somebody else's.
 */
export function cacheFolder(env: NodeJS.ProcessEnv, home = homeOfUser()): string {
	if (env.DEBUGINFOD_CACHE_PATH) return env.DEBUGINFOD_CACHE_PATH;
	const ours = env.HOME && isOurs(env.HOME) ? env.HOME : home;
	// elfutils' earlier place, where it exists.
	const earlier = join(ours, '.debuginfod_client_cache');
	if (statOf(earlier)) return earlier;
	const xdg = env.XDG_CACHE_HOME;
	const caches = xdg && isOurs(xdg) ? xdg : join(ours, '.cache');
	return join(caches, 'debuginfod_client');
}

/** Whether this user owns it, or would: the folder that it is to be made in. */
function isOurs(path: string): boolean {
	let at = path;
	while (at !== dirname(at) && !statOf(at)) at = dirname(at);
	return statOf(at)?.uid === process.geteuid?.();
}

/** By the list of users. */
function homeOfUser(): string {
	try {
		return userInfo().homedir;
	} catch {
		return '/';
	}
}

/** Of a link, not of what it leads to; undefined where there is none, or none that may be seen. */
function statOf(path: string): Stats | undefined {
	try {
		return lstatSync(path);
	} catch {
		return undefined;
	}
}

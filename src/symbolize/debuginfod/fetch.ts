/** Fetches debug files that this machine lacks: from the servers in DEBUGINFOD_URLS into elfutils' cache. */
import { closeSync, fstatSync } from 'node:fs';
import { basename } from 'node:path';
import { FileBytes, SymbolError } from '../../elf/bytes.js';
import { Elf, SECTION_TYPE } from '../../elf/elf.js';
import type { Patience } from '../../reader.js';
import { humanBytes } from '../../render/units.js';
import type { DebugFileCache, PartialFile } from './cache.js';
import { DownloadError, download, type OnBytes } from './download.js';
import { FolderError } from './own-folder.js';
import { type DebuginfodSettings, debugFileUrl } from './settings.js';

/** A file that has functions without names. */
export interface WantedFile {
	/** As the process sees it. */
	readonly path: string;
	readonly buildId: string;
}

/** What became of one of them: which server it came from, or why it did not come. */
export type Outcome = Result & { readonly of: WantedFile };
type Result = { readonly bytes: number; readonly host: string } | { readonly why: string };

/** Between two looks at how far it is. */
const TELL_MS = 200;
/** Why files are not fetched that there was no time for. */
const INTERRUPTED = 'a signal ended that';

/** For the signal that ends everything: why. */
class Ended extends Error {}

/**
 * Fetches the files, one after the other, in this order. Each comes from the first server that has it. A server that
 * fails is not asked again. Resolves with what became of each, in time: a signal of the user's ends it, and limits do.
 */
export function fetchDebugFiles(
	wanted: readonly WantedFile[],
	settings: DebuginfodSettings,
	cache: DebugFileCache,
	patience: Patience,
): Promise<Outcome[]> {
	return patience.during(async (signal) => {
		const fetch = new Fetch(wanted.length, settings, cache, patience, signal);
		const outcomes: Outcome[] = [];
		try {
			for (const file of wanted) outcomes.push(await fetch.outcome(file));
		} finally {
			fetch.close();
		}
		return outcomes;
	});
}

class Fetch {
	/** Why a server is not asked any more, by its URL. */
	readonly #failed = new Map<string, DownloadError>();
	readonly #ended = new AbortController();
	readonly #timer: NodeJS.Timeout;
	readonly #onSignal = () => this.#ended.abort(new Ended(INTERRUPTED));
	#left_bytes: number;
	#number = 0;

	constructor(
		private readonly count: number,
		private readonly settings: DebuginfodSettings,
		private readonly cache: DebugFileCache,
		private readonly patience: Patience,
		private readonly signal: AbortSignal,
	) {
		const { maxTotal_ms, maxTotal_bytes } = settings;
		this.#left_bytes = maxTotal_bytes;
		const late = `it took more than ${maxTotal_ms / 1000} s for all files`;
		this.#timer = setTimeout(() => this.#ended.abort(new Ended(late)), maxTotal_ms);
		signal.addEventListener('abort', this.#onSignal);
		if (signal.aborted) this.#onSignal();
	}

	close(): void {
		clearTimeout(this.#timer);
		this.signal.removeEventListener('abort', this.#onSignal);
	}

	async outcome(of: WantedFile): Promise<Outcome> {
		this.#number++;
		try {
			return { of, ...(await this.#one(of)) };
		} catch (error) {
			if (error instanceof Ended || error instanceof FolderError) return { of, why: error.message };
			throw error;
		}
	}

	/** Throws Ended and FolderError. */
	async #one(file: WantedFile): Promise<Result> {
		this.#ended.signal.throwIfAborted();
		if (this.cache.isMiss(file.buildId))
			return { why: 'no server had it when it was asked for a few minutes ago' };
		if (this.#isThere(file.buildId))
			return {
				why: 'the cache has the file that servers have, and it does not name these functions',
			};
		const late = new Ended(
			`it took more than ${this.settings.maxTime_ms / 1000} s (DEBUGINFOD_MAXTIME)`,
		);
		const time = limited(this.#ended.signal, this.settings.maxTime_ms, late);
		const partial = this.cache.begin(file.buildId);
		try {
			return await this.#fromFirst(file, partial, time.signal);
		} finally {
			time.close();
			partial.discard();
		}
	}

	/** Whether it has been fetched before, and still lacks names: nobody has more. */
	#isThere(buildId: string): boolean {
		const file = this.cache.open(buildId);
		if (!file) return false;
		try {
			requireDebugFile(file.fd, buildId);
			return true;
		} catch (error) {
			if (error instanceof DownloadError) return false;
			throw error;
		} finally {
			closeSync(file.fd);
		}
	}

	/** From the first server that has it. Throws as `#one`. */
	async #fromFirst(file: WantedFile, partial: PartialFile, signal: AbortSignal): Promise<Result> {
		const refusals: DownloadError[] = [];
		const reasons: string[] = [];
		for (const server of this.settings.servers) {
			const { host, href } = server;
			try {
				const before = this.#failed.get(href);
				if (before) throw before;
				const bytes = await this.#from(server, file, partial, signal);
				this.#left_bytes -= bytes;
				partial.keep();
				return { bytes, host };
			} catch (error) {
				if (!(error instanceof DownloadError)) throw error;
				if (error.of === 'server') this.#failed.set(href, error);
				refusals.push(error);
				reasons.push(`${host} ${error.message}`);
			}
		}
		if (!refusals.every(({ of }) => of === 'missing')) return { why: reasons.join('; ') };
		this.cache.recordMiss(file.buildId);
		return { why: 'no server has it' };
	}

	/** Throws what `download` does, and DownloadError for a file that is not the one that was asked for. */
	async #from(
		server: URL,
		{ path, buildId }: WantedFile,
		partial: PartialFile,
		signal: AbortSignal,
	): Promise<number> {
		partial.empty();
		const size_bytes = Math.min(
			this.settings.maxFile_bytes,
			this.#left_bytes,
			partial.room_bytes(),
		);
		const what =
			'fetching symbols (Ctrl-C: go on without): ' +
			`${basename(path)} from ${server.host} (${this.#number} of ${this.count})`;
		this.patience.tell(what);
		let told_ms = performance.now();
		const onBytes: OnBytes = (came, all) => {
			if (performance.now() - told_ms < TELL_MS) return;
			told_ms = performance.now();
			this.patience.tell(what, `${humanBytes(came)}${all ? ` of ${humanBytes(all)}` : ''}`);
		};
		const limits = { timeout_ms: this.settings.timeout_ms, size_bytes, signal };
		const bytes = await download(debugFileUrl(server, buildId), partial, limits, onBytes);
		requireDebugFile(partial.fd, buildId);
		return bytes;
	}
}

/** Throws DownloadError unless it is the debug file of this build-id, and all of it. */
function requireDebugFile(fd: number, buildId: string): void {
	const size_bytes = fstatSync(fd).size;
	try {
		const elf = new Elf(new FileBytes(fd, size_bytes));
		if (elf.buildId !== buildId)
			throw new DownloadError('sends another file: its build-id is not the one asked for', 'file');
		const isWhole = elf.sections.every(
			({ type, offset, size_bytes: length }) =>
				type === SECTION_TYPE.nobits || offset + length <= size_bytes,
		);
		if (!isWhole) throw new DownloadError('sends only a part of the file', 'file');
	} catch (error) {
		if (!(error instanceof SymbolError)) throw error;
		throw new DownloadError(`sends what is no debug file (${error.message})`, 'file');
	}
}

/** The same signal, which is also aborted when the time has passed. */
function limited(signal: AbortSignal, time_ms: number, reason: Error) {
	if (!Number.isFinite(time_ms)) return { signal, close: () => {} };
	const controller = new AbortController();
	const timer = setTimeout(() => controller.abort(reason), time_ms);
	return {
		signal: AbortSignal.any([signal, controller.signal]),
		close: () => clearTimeout(timer),
	};
}

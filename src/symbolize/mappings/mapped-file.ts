/**
 * Files that are mapped somewhere, and how to open the very file that is: not another one that has its path by now, or
 * has that path here but not there; nor one that was written to since, whose names are those of other code.
 */
import { closeSync, fstatSync, type Stats, statSync } from 'node:fs';
import { answers, isLocalDevice, isOnLocalMount } from '../../proc/answers.js';
import { type MapsEntry, parseMaps } from '../../proc/maps.js';
import { type OpenFile, openIf, readFile } from '../../proc/open.js';
import { ownMountNamespace, readFacts, readMaps } from '../../proc/process-facts.js';

/** Processes that are asked for a file, one after the other. */
const MAX_MAPPERS = 8;
/** Files kept open, of processes that may end. */
const MAX_HELD = 256;

export class MappedFile {
	/** Kept open since it was learnt of, where it could not be opened later. */
	#held: OpenFile | undefined;
	/** Processes that have it mapped; the latest last. */
	#mappers: number[] = [];
	/** What has its path in our own root is this file. */
	#isOurs = false;
	/** Of its contents, as it was learnt of; undefined: nobody has shown it yet. */
	#print: string | undefined;
	/** When it was last seen that it still has these. CLOCK_MONOTONIC. */
	#checked_ns = -Infinity;
	#changed_ns = -Infinity;
	/** Of all mappings that are remembered, how many are of this file. */
	mappings = 0;

	constructor(
		readonly path: string,
		readonly inode: number,
		readonly major: number,
		readonly minor: number,
	) {}

	/** Its contents are from then on what they were when it was learnt of; CLOCK_MONOTONIC. */
	get changed_ns(): number {
		return this.#changed_ns;
	}

	/** Whether it has other contents by now, as far as can be seen; looks again only for what was mapped since the last time. */
	hasChanged(time_ns: number): boolean {
		if (this.#print === undefined || time_ns <= this.#checked_ns) return false;
		this.#checked_ns = now_ns();
		const stat = this.#held ? fstatSync(this.#held.fd) : this.#isOurs && statOf(this.path);
		return stat && stat.ino === this.inode ? printOf(stat) !== this.#print : false;
	}

	/** Process `pid` has it mapped: opens it right away when only such a process can show it. */
	learn(pid: number, held: HeldFiles): void {
		if (this.#mappers.includes(pid)) return;
		const path = `/proc/${pid}/root${this.path}`;
		// A mount that does not answer now may do so later. A file that has been reached once is not asked for here:
		// who opens it through the process asks.
		if (!this.#isReached && !answers(path)) return;
		this.#mappers.push(pid);
		if (this.#mappers.length > MAX_MAPPERS) this.#mappers.shift();
		if (this.#isReached) return;
		this.#isOurs = this.#looksOurs(pid);
		if (this.#isOurs) return;
		const byPath = this.#openAt(path);
		const file = byPath ?? this.#openMapping(pid);
		if (!file) return;
		this.#print ??= this.#learnContents(file.stat);
		// To close a file of a mount that is silent by then can wait for ever.
		// What is mapped is of the device that maps says, though btrfs and overlayfs give the file another one.
		const isOfDevice = !byPath || this.#isDeviceOf(file.stat);
		const isLocal = (byPath && isOnLocalMount(path)) || (isOfDevice && isLocalDevice(pid, this));
		if (held.count < MAX_HELD && isLocal) {
			this.#held = file;
			held.add(file.fd);
		} else closeSync(file.fd);
	}

	/** Whether it is opened without the processes that have it mapped. */
	get #isReached(): boolean {
		return this.#isOurs || this.#held !== undefined;
	}

	/** Nobody remembers a mapping of it. */
	forget(held: HeldFiles): void {
		if (this.#held) held.release(this.#held.fd);
		this.#held = undefined;
	}

	/** A descriptor of its own each time; undefined when there is no way to the file any more. */
	open(): OpenFile | undefined {
		if (this.#print === undefined) return undefined;
		if (this.#held) return this.#openSame(`/proc/self/fd/${this.#held.fd}`);
		const ours = this.#isOurs ? this.#openAt(this.path) : undefined;
		if (ours) return ours;
		for (const pid of this.#mappers.toReversed()) {
			const file = this.#openThrough(pid);
			if (file) return file;
		}
		return undefined;
	}

	/** A part of it; undefined where there is no way to the file any more, or where it has no such part. */
	part(offset: number, length_bytes: number): Buffer | undefined {
		return readFile(
			this.open(),
			(bytes) => bytes.read(offset, length_bytes),
			() => undefined,
		);
	}

	/** Roots that the file's debug symbols may be under, "" for ours. */
	roots(): string[] {
		const roots = this.#isOurs ? [] : this.#mappers.map((pid) => `/proc/${pid}/root`);
		return [...roots.reverse(), ''];
	}

	#looksOurs(pid: number): boolean {
		const stat = statOf(this.path);
		if (stat?.ino !== this.inode) return false;
		// Btrfs and overlayfs give files other devices than their mappings; then it has to be
		// somebody who sees the same files as we do.
		const isOurs = this.#isDeviceOf(stat) || readFacts(pid)?.mountNamespace === ownMountNamespace();
		if (isOurs) this.#print ??= this.#learnContents(stat);
		return isOurs;
	}

	#learnContents(stat: Stats): string {
		const changed_ms = Math.max(stat.mtimeMs, stat.birthtimeMs);
		// Of the time now, parts of a millisecond are left out.
		const ago_ms = Date.now() + 1 - changed_ms;
		this.#checked_ns = now_ns();
		// A time to come tells nothing.
		if (ago_ms >= 0) this.#changed_ns = this.#checked_ns - ago_ms * 1e6;
		return printOf(stat);
	}

	#isDeviceOf(stat: Stats): boolean {
		// include/linux/kdev_t.h: new_encode_dev.
		const major = (stat.dev >>> 8) & 0xfff;
		const minor = (stat.dev & 0xff) | ((stat.dev >>> 12) & 0xfff00);
		return major === this.major && minor === this.minor;
	}

	#openThrough(pid: number): OpenFile | undefined {
		return this.#openAt(`/proc/${pid}/root${this.path}`) ?? this.#openMapping(pid);
	}

	#openAt(path: string): OpenFile | undefined {
		return openIf(path, (stat) => stat.ino === this.inode && this.#isSame(stat));
	}

	#openSame(path: string): OpenFile | undefined {
		return openIf(path, (stat) => this.#isSame(stat));
	}

	#isSame(stat: Stats): boolean {
		return this.#print === undefined || this.#print === printOf(stat);
	}

	/** What is mapped itself, whatever became of its path. */
	#openMapping(pid: number): OpenFile | undefined {
		const entry = parseMaps(readMaps(pid) ?? '').find((each) => this.#isOf(each));
		if (!entry) return undefined;
		const range = `${entry.start.toString(16)}-${entry.end.toString(16)}`;
		const mapped = `/proc/${pid}/map_files/${range}`;
		return answers(mapped, entry) ? this.#openSame(mapped) : undefined;
	}

	#isOf(entry: MapsEntry): boolean {
		return entry.inode === this.inode && entry.major === this.major && entry.minor === this.minor;
	}
}

/** Descriptors to close, in the end at the latest. */
export class HeldFiles {
	readonly #fds = new Set<number>();

	get count(): number {
		return this.#fds.size;
	}

	add(fd: number): void {
		this.#fds.add(fd);
	}

	release(fd: number): void {
		if (this.#fds.delete(fd)) closeSync(fd);
	}

	close(): void {
		for (const fd of this.#fds) this.release(fd);
	}
}

/** Other contents have another one; so has another file of the same inode, where file systems say when it was made. */
function printOf({ size, mtimeMs, birthtimeMs }: Stats): string {
	return `${size} ${mtimeMs} ${birthtimeMs}`;
}

/** Undefined where there is none, or none that answers. */
function statOf(path: string): Stats | undefined {
	try {
		return answers(path) ? statSync(path) : undefined;
	} catch {
		return undefined;
	}
}

/** CLOCK_MONOTONIC, like the records. */
function now_ns(): number {
	return Number(process.hrtime.bigint());
}

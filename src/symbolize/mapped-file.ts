/**
 * Files that are mapped somewhere, and how to open the very file that is: not another one that
 * has its path by now, or has that path here but not there.
 */
import { closeSync, type Stats, statSync } from 'node:fs';
import { type MapsEntry, parseMaps } from './maps.js';
import { type OpenFile, openIf, openRegular } from './open.js';
import { ownMountNamespace, readFacts, readMaps } from './proc-pid.js';

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
	/** Of all mappings that are remembered, how many are of this file. */
	mappings = 0;

	constructor(
		readonly path: string,
		readonly inode: number,
		readonly major: number,
		readonly minor: number,
	) {}

	/** Process `pid` has it mapped: opens it right away when only such a process can show it. */
	learn(pid: number, held: HeldFiles): void {
		if (this.#mappers.includes(pid)) return;
		this.#mappers.push(pid);
		if (this.#mappers.length > MAX_MAPPERS) this.#mappers.shift();
		if (this.#isOurs || this.#held) return;
		this.#isOurs = this.#looksOurs(pid);
		if (this.#isOurs || held.count >= MAX_HELD) return;
		this.#held = this.#openThrough(pid);
		if (this.#held) held.add(this.#held.fd);
	}

	/** Nobody remembers a mapping of it. */
	forget(held: HeldFiles): void {
		if (this.#held) held.release(this.#held.fd);
		this.#held = undefined;
	}

	/** A descriptor of its own each time; undefined when there is no way to the file any more. */
	open(): OpenFile | undefined {
		if (this.#held) return openRegular(`/proc/self/fd/${this.#held.fd}`);
		const ours = this.#isOurs ? this.#openAt(this.path) : undefined;
		if (ours) return ours;
		for (const pid of this.#mappers.toReversed()) {
			const file = this.#openThrough(pid);
			if (file) return file;
		}
		return undefined;
	}

	/** Roots that the file's debug symbols may be under, "" for ours. */
	roots(): string[] {
		const roots = this.#isOurs ? [] : this.#mappers.map((pid) => `/proc/${pid}/root`);
		return [...roots.reverse(), ''];
	}

	#looksOurs(pid: number): boolean {
		try {
			const stat = statSync(this.path);
			if (stat.ino !== this.inode) return false;
			if (this.#isDeviceOf(stat)) return true;
		} catch {
			return false;
		}
		// Btrfs and overlayfs give files other devices than their mappings; then it has to be
		// somebody who sees the same files as we do.
		return readFacts(pid)?.mountNamespace === ownMountNamespace();
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
		return openIf(path, (stat) => stat.ino === this.inode);
	}

	/** What is mapped itself, whatever became of its path. */
	#openMapping(pid: number): OpenFile | undefined {
		const entry = parseMaps(readMaps(pid) ?? '').find((each) => this.#isOf(each));
		if (!entry) return undefined;
		const range = `${entry.start.toString(16)}-${entry.end.toString(16)}`;
		return openRegular(`/proc/${pid}/map_files/${range}`);
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

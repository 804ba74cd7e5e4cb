/** The files that processes have mapped, as far as a mapping is remembered. */

import { boundedName } from '../../bounded-names.js';
import type { MapsEntry } from '../../proc/maps.js';
import { HeldFiles, MappedFile } from './mapped-file.js';

/** What tells files apart, besides their contents. */
type Identity = Pick<MapsEntry, 'path' | 'inode' | 'major' | 'minor'>;

export class MappedFiles {
	readonly #files = new Map<string, MappedFile>();
	readonly #held = new HeldFiles();

	/** The file that process `pid` has mapped since `time_ns` (CLOCK_MONOTONIC); undefined for memory. */
	add(pid: number, time_ns: number, of: Identity): MappedFile | undefined {
		const { inode, major, minor } = of;
		if (inode === 0 || !of.path.startsWith('/') || of.path.startsWith('//')) return undefined;
		const path = boundedName(of.path.replace(/ \(deleted\)$/, ''));
		const key = keyOf({ path, inode, major, minor });
		if (this.#files.get(key)?.hasChanged(time_ns)) this.#files.delete(key);
		const file = this.#file(key, { path, inode, major, minor });
		file.learn(pid, this.#held);
		const isMapped = time_ns >= file.changed_ns;
		// It was written to before we could look at it: what was mapped is gone, and has no names.
		const mapped = isMapped ? file : this.#file(goneKeyOf(file), file);
		mapped.mappings++;
		if (file.mappings === 0) this.#forget(file);
		return mapped;
	}

	/** One mapping of it is not remembered any more. */
	release(file: MappedFile): void {
		if (--file.mappings === 0) this.#forget(file);
	}

	/** Closes what is held open; names of files that are gone are not found any more. */
	close(): void {
		this.#held.close();
	}

	#file(key: string, { path, inode, major, minor }: Identity): MappedFile {
		const known = this.#files.get(key);
		if (known) return known;
		const file = new MappedFile(path, inode, major, minor);
		this.#files.set(key, file);
		return file;
	}

	#forget(file: MappedFile): void {
		for (const key of [keyOf(file), goneKeyOf(file)]) {
			if (this.#files.get(key) === file) this.#files.delete(key);
		}
		file.forget(this.#held);
	}
}

function keyOf({ path, inode, major, minor }: Identity): string {
	return `${major}:${minor}:${inode}:${path}`;
}

/** Of what had that key, and other contents. */
function goneKeyOf(file: Identity): string {
	return `${keyOf(file)}?`;
}

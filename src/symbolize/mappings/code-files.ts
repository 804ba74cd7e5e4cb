/** The files that a process executes code of, and where they can be opened. */
import { accessSync, constants, statSync } from 'node:fs';
import { answers, type Device } from '../../proc/answers.js';
import { type MapsEntry, parseMaps } from '../../proc/maps.js';
import { readMaps } from '../../proc/process-facts.js';

/** The files a process executes code of, each once; undefined when the process is gone. */
export function mappedFiles(pid: number): MapsEntry[] | undefined {
	const text = readMaps(pid);
	if (!text) return undefined;
	const seen = new Set<string>();
	return parseMaps(text).filter(({ inode, major, minor, path }) => {
		const key = `${major}:${minor}:${inode}`;
		if (inode === 0 || !path.startsWith('/') || seen.has(key)) return false;
		seen.add(key);
		return true;
	});
}

/**
 * The mapped file itself, even if its path names another file by now; else its path in the process's
 * root; else, for users who may not go there, the same file under its path here. If none of these is
 * that file, a path that cannot be opened: a probe in another file would never be hit.
 */
export function pathTo(pid: number, entry: MapsEntry): string {
	const { start, end, path, inode, major, minor } = entry;
	const mapped = `/proc/${pid}/map_files/${start.toString(16)}-${end.toString(16)}`;
	const inRoot = `/proc/${pid}/root${path}`;
	if (isReadable(mapped, entry)) return mapped;
	// Btrfs and overlayfs give files other devices than their mappings.
	if (inodeOf(inRoot) === inode && isReadable(inRoot)) return inRoot;
	return isFile(path, inode, major, minor) ? path : mapped;
}

/** Whether a path here is that very file: include/linux/kdev_t.h, new_encode_dev. */
function isFile(path: string, inode: number, major: number, minor: number): boolean {
	if (!answers(path)) return false;
	try {
		const { ino, dev } = statSync(path);
		const number = (minor & 0xff) | (major << 8) | ((minor & ~0xff) << 12);
		return ino === inode && dev === number;
	} catch {
		return false;
	}
}

function isReadable(path: string, device?: Device): boolean {
	if (!answers(path, device)) return false;
	try {
		accessSync(path, constants.R_OK);
		return true;
	} catch {
		return false;
	}
}

/** Undefined where there is no such file, or none that answers. */
export function inodeOf(path: string): number | undefined {
	if (!answers(path)) return undefined;
	try {
		return statSync(path).ino;
	} catch {
		return undefined;
	}
}

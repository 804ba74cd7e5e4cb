/** Control groups (version 2) by path and by id: the id is the folder's inode number. */
import { readdirSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { TstraceError } from '../errors.js';
import { type Mount, mountsThere } from './mounts.js';

/** CGROUP2_SUPER_MAGIC, include/uapi/linux/magic.h */
const CGROUP2_MAGIC = 0x63677270;

/** Folders looked through for a name; a machine with more shows ids for the rest. */
const MAX_FOLDERS = 100_000;

/** Where cgroup2 is mounted; undefined where it is not. */
export function cgroupMount(): string | undefined {
	return mountsThere().find(({ type }) => type === 'cgroup2')?.folder;
}

/** Where the controller perf_event of version 1 is mounted. */
export function perfEventMount(mounts: readonly Mount[]): string | undefined {
	return mounts.find(({ type, options }) => type === 'cgroup' && options.includes('perf_event'))
		?.folder;
}

/** The folders that a cgroup's path may mean: it is given whole, or from the mount on. */
export const cgroupFolders = (path: string, mount: string | undefined): readonly string[] =>
	mount === undefined ? [path] : [path, join(mount, path)];

/** The id of a cgroup. Throws TstraceError when the path is no cgroup2 folder. */
export function cgroupId(path: string): bigint {
	const mount = cgroupMount();
	for (const candidate of cgroupFolders(path, mount)) {
		const stat = statSync(candidate, { bigint: true, throwIfNoEntry: false });
		if (!stat?.isDirectory()) continue;
		if (statfsSync(candidate).type === CGROUP2_MAGIC) return stat.ino;
	}
	throw new TstraceError(
		`${path} is not a cgroup (version 2): give a folder ${mount ? `below ${mount}` : 'of a cgroup2 mount'}`,
	);
}

/** Finds the paths of cgroups by id, relative to the mount; "/" is the root. */
export function cgroupPaths(ids: ReadonlySet<number>): Map<number, string> {
	const found = new Map<number, string>();
	const mount = cgroupMount();
	if (mount === undefined || ids.size === 0) return found;
	for (const path of subgroups(mount)) {
		const stat = statSync(join(mount, path), { throwIfNoEntry: false });
		if (stat && ids.has(stat.ino)) found.set(stat.ino, path);
		if (found.size === ids.size) break;
	}
	return found;
}

/** The paths of cgroups, relative to the mount, from "/" on; those above come first. */
export function* subgroups(mount: string): Generator<string> {
	const queue = ['/'];
	for (let i = 0; i < queue.length && i < MAX_FOLDERS; i++) {
		const path = queue[i] as string;
		yield path;
		for (const name of subfolders(join(mount, path))) queue.push(join(path, name));
	}
}

/** Cgroups come and go while we look. */
function subfolders(folder: string): string[] {
	try {
		const entries = readdirSync(folder, { withFileTypes: true });
		return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
		throw error;
	}
}

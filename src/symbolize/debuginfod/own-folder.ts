/** Folders that are this user's own: no stranger can put a file, a folder or a link there. */
import { lstatSync, mkdirSync, readlinkSync, type Stats } from 'node:fs';
import { join, resolve } from 'node:path';

/** Why a folder is not to be used, in words. */
export class FolderError extends Error {}

/** As many as the kernel follows (fs/namei.c, MAXSYMLINKS). */
const MAX_LINKS = 40;
const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

/**
 * The path of a folder, without links. Every folder and every link on the way belongs to root or to this user, and
 * nobody else may write there, except where a folder's sticky bit keeps users apart (/tmp). `create`: makes what lacks,
 * for this user only; the folder itself is then this user's. Throws FolderError.
 */
export function ownFolder(path: string, { create = false } = {}): string {
	let real = '/';
	let links = 0;
	let last = lstatSync(real);
	let parts = partsOf(resolve(path));
	for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
		const next = join(real, part);
		const stat = look(next, create);
		requireTrusted(next, stat);
		if (!stat.isSymbolicLink()) {
			real = next;
			last = stat;
			continue;
		}
		if (++links > MAX_LINKS) throw new FolderError(`${next}: too many links`);
		const target = attempt(next, () => readlinkSync(next));
		if (target.startsWith('/')) real = '/';
		parts = [...partsOf(target), ...parts];
	}
	if (othersWrite(last)) throw new FolderError(`other users may write to ${real}`);
	if (create && last.uid !== process.geteuid?.())
		throw new FolderError(`${real} belongs to user ${last.uid}`);
	return real;
}

/** A part of the way: a folder or a link. */
function requireTrusted(path: string, stat: Stats): void {
	if (stat.uid !== 0 && stat.uid !== process.geteuid?.())
		throw new FolderError(`${path} belongs to user ${stat.uid}`);
	if (stat.isSymbolicLink()) return;
	if (!stat.isDirectory()) throw new FolderError(`${path} is no folder`);
	if (othersWrite(stat) && (stat.mode & STICKY) === 0)
		throw new FolderError(`other users may write to ${path}`);
}

const partsOf = (path: string): string[] =>
	path.split('/').filter((part) => part !== '' && part !== '.');

/** Where users have groups of their own, those may write. */
const othersWrite = ({ mode, gid }: Stats): boolean =>
	(mode & OTHERS_WRITE) !== 0 || ((mode & GROUP_WRITES) !== 0 && gid !== process.getegid?.());

function look(path: string, create: boolean): Stats {
	if (create) attempt(path, () => makeIfMissing(path));
	return attempt(path, () => lstatSync(path));
}

function makeIfMissing(path: string): void {
	if (lstatSync(path, { throwIfNoEntry: false })) return;
	try {
		mkdirSync(path, { mode: 0o700 });
	} catch (error) {
		// Another client made it since.
		if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
	}
}

function attempt<T>(path: string, action: () => T): T {
	try {
		return action();
	} catch (error) {
		throw new FolderError(`${path}: ${(error as NodeJS.ErrnoException).code}`);
	}
}

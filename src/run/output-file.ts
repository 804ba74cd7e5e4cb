/** Opens what a result is written to: without blocking, and not where another user has put something in its place. */
import {
	closeSync,
	constants,
	fstatSync,
	lstatSync,
	openSync,
	readlinkSync,
	type Stats,
	statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { isatty } from 'node:tty';
import { started } from './inherited.js';

/** Results hold the arguments of programs, and names of files: as perf.data, they are their owner's only. */
const MODE = 0o600;
const { O_APPEND, O_CREAT, O_EXCL, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
/** A full pipe or a stopped terminal is waited for by us, so that signals are heeded meanwhile. */
const FLAGS = O_WRONLY | O_NONBLOCK | O_NOCTTY;
/** man 7 inode: writing by others. */
const OTHERS_WRITE = 0o002;
/** As many as the kernel follows (fs/namei.c, MAXSYMLINKS). */
const MAX_LINKS = 40;

export interface Opened {
	/** Undefined: a named pipe that nobody has opened for reading. */
	readonly fd?: number;
	/** Whether the descriptor is to be closed; not one that we were started with. */
	readonly isOurs: boolean;
	/** Whether the file was created. */
	readonly isNew: boolean;
}

/**
 * An open file description of our own of a descriptor that may block; the descriptor itself where it is a
 * file, whose place others share and which never waits, or where it cannot be opened anew.
 */
export function openWithoutBlocking(
	fd: number,
	{ terminals = false } = {},
): Opened & { readonly fd: number } {
	const theirs = { fd, isOurs: false, isNew: false };
	try {
		if (!fstatSync(fd).isFIFO() && !(terminals && isatty(fd))) return theirs;
		return { ...theirs, fd: openSync(`/proc/self/fd/${fd}`, FLAGS | O_APPEND), isOurs: true };
	} catch {
		return theirs; // another user's pipe or terminal, which we were handed
	}
}

/**
 * Opens a file for writing and leaves it as it is, or creates it. In a folder where everybody may create
 * files (/tmp), others' links are not followed and others' files are not written to, whatever
 * fs.protected_symlinks, _regular and _fifos say. Throws.
 */
export function openOutput(path: string): Opened {
	// No path is normalized: what .. means depends on links before it.
	let file = path;
	if (path.endsWith('/')) throw failed('EISDIR');
	for (let links = 0; links < MAX_LINKS; links++) {
		const own = ownDescriptor(file);
		// What was opened by somebody else for us; a file keeps its place and is not emptied.
		if (own !== undefined) return openWithoutBlocking(given(own));
		const stat = lstatSync(file, { throwIfNoEntry: false });
		if (stat) refuseOthers(file, stat);
		if (!stat?.isSymbolicLink()) return stat ? openThere(file) : create(file);
		const target = readlinkSync(file);
		file = target.startsWith('/') ? target : `${dirname(file)}/${target}`;
	}
	throw failed('ELOOP');
}

/** A descriptor that we were started with. Others are node's own. */
function given(fd: number): number {
	if (started.open?.has(fd) === false) throw failed('EBADF');
	return fd;
}

const failed = (code: string) => Object.assign(new Error(code), { code });

/** The number in /dev/stdout, /dev/fd/63, /proc/self/fd/1. */
function ownDescriptor(path: string): number | undefined {
	const standard = ['/dev/stdin', '/dev/stdout', '/dev/stderr'].indexOf(path);
	if (standard >= 0) return standard;
	const [, folder, number] = /^(.*)\/fd\/(\d+)$/.exec(path) ?? [];
	const ours = ['/dev', '/proc/self', `/proc/${process.pid}`];
	return folder !== undefined && ours.includes(folder) ? Number(number) : undefined;
}

function create(path: string): Opened {
	try {
		return { fd: openSync(path, FLAGS | O_CREAT | O_EXCL, MODE), isOurs: true, isNew: true };
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
		return openThere(path); // since we looked
	}
}

function openThere(path: string): Opened {
	let fd: number;
	try {
		fd = openSync(path, FLAGS | O_NOFOLLOW);
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code !== 'ENXIO' || !lstatSync(path).isFIFO()) throw error;
		return { isOurs: true, isNew: false };
	}
	try {
		refuseOthers(path, fstatSync(fd)); // what was opened may not be what was looked at
	} catch (error) {
		closeSync(fd);
		throw error;
	}
	return { fd, isOurs: true, isNew: false };
}

/** Throws where somebody else can have put it there to be written to by us. */
function refuseOthers(path: string, stat: Stats): void {
	if (!stat.isSymbolicLink() && !stat.isFile() && !stat.isFIFO()) return;
	const folder = statSync(dirname(path));
	if ((folder.mode & OTHERS_WRITE) === 0) return;
	const trusted = [process.geteuid?.(), folder.uid];
	if (!trusted.includes(stat.uid)) {
		const what = stat.isSymbolicLink() ? 'a link' : stat.isFIFO() ? 'a pipe' : 'a file';
		throw new Refused(
			`it is ${what} of user ${stat.uid}, in a folder that every user may write to`,
		);
	}
	// A second name of a file that lies elsewhere; everybody could give it one.
	if (stat.isFile() && stat.nlink > 1)
		throw new Refused('it is a hard link, in a folder that every user may write to');
}

class Refused extends Error {}

/** What was wrong, and what to do about it. */
export function whyRefused(error: unknown): string {
	if (error instanceof Refused) return `${error.message}; choose another file`;
	const code = (error as NodeJS.ErrnoException).code ?? String(error);
	return ADVICE[code] ?? code;
}

const ADVICE: Readonly<Record<string, string>> = {
	ENOSPC: 'the disk is full; free some space, or choose another place',
	EDQUOT: 'the quota is used up; free some space, or choose another place',
	EBADF: 'that descriptor is not open; name a file',
	EACCES: 'permission denied; choose another file',
	EPERM: 'permission denied; choose another file',
	ENOENT: 'its folder does not exist; create it first',
	ENOTDIR: 'its folder is a file; choose another place',
	EISDIR: 'it is a folder; name a file',
	EROFS: 'the file system is read-only; choose another place',
};

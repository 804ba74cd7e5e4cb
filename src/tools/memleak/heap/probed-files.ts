/** Files that processes have mapped: which there are, where they can be opened, what to say of them. */
import { closeSync, openSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { TstraceError, UsageError } from '../../../errors.js';
import { ownCapabilities } from '../../../loader/kernel.js';
import { shortage } from '../../../loader/shortage.js';
import { answers, silentMounts } from '../../../proc/answers.js';
import type { MapsEntry } from '../../../proc/maps.js';
import { lockedMemories, lockedText } from '../../../proc/memory-lock.js';
import { exeOf } from '../../../proc/process-facts.js';
import { threadIds } from '../../../proc/threads.js';
import { inodeOf, mappedFiles, pathTo } from '../../../symbolize/mappings/code-files.js';
import type { HeapFile } from './files.js';

export interface HeapProbeOptions {
	/** Look for the allocator in this file only. */
	readonly object: string | undefined;
	/** In front of functions' names: "je_". */
	readonly prefix: string;
}

/** How many names of files an error has room for. */
const NAMES_SHOWN = 6;

export interface MappedPath {
	readonly path: string;
	readonly inode: number;
}

/**
 * Which file is opened by a path. Another one of the same number and name, in another file system, has
 * its functions elsewhere: a probe in the middle of an instruction would end the process.
 */
export function identityOf(path: string): string {
	if (!answers(path)) return path;
	try {
		const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true });
		return `${dev}:${ino}:${size}:${mtimeNs}`;
	} catch {
		return path;
	}
}

/** Whether threads go on of a process whose first one has ended. */
export function goesOn(pid: number): boolean {
	return threadIds(pid).some((tid) => tid !== pid && mappedFiles(tid) !== undefined);
}

export function keyOf({ inode, path }: MappedPath): string {
	return `${inode} ${basename(path)}`;
}

/** A file as it will be mapped, whatever links lead to it; undefined where there is none. */
export function fileAt(path: string): MappedPath | undefined {
	if (!answers(path)) return undefined;
	try {
		return { path: realpathSync(path), inode: statSync(path).ino };
	} catch {
		return undefined;
	}
}

/** By its path or its name, or as the same file under another path, or another name beside it. */
export function isObject(object: string, pid: number, { path, inode }: MappedPath): boolean {
	const inRoot = (name: string) => inodeOf(`/proc/${pid}/root${name}`);
	if (object.includes('/'))
		return path === object || inodeOf(object) === inode || inRoot(object) === inode;
	// What is mapped is libtcmalloc.so.4.5.10; what programs ask for is a link to it, libtcmalloc.so.4.
	return basename(path) === object || inRoot(join(dirname(path), object)) === inode;
}

export function requireObject(
	object: string | undefined,
	pid: number,
	entries: readonly MapsEntry[],
) {
	if (object === undefined || entries.some((entry) => isObject(object, pid, entry))) return;
	throw new UsageError(
		`-O ${object}: process ${pid} has no such file mapped; it has ${namesOf(entries)}`,
	);
}

function namesOf(entries: readonly MapsEntry[]): string {
	return listed(
		entries.map(({ path }) => basename(path)),
		NAMES_SHOWN,
	);
}

/** "a, b and 3 more": the first of them, `most` at most. */
export function listed(names: readonly string[], most: number): string {
	const more = names.length > most ? ` and ${names.length - most} more` : '';
	return names.slice(0, most).join(', ') + more;
}

/** Why what it has mapped cannot be opened: nothing can, or it is not for us. */
export function notOpened(pid: number): TstraceError {
	const [silent] = silentMounts();
	if (silent)
		return new TstraceError(
			`cannot open the files that process ${pid} has mapped: ${silent.folder} (${silent.type}) does not answer; see whether its server runs`,
		);
	const locked = lockedMemories().find((each) => each.pid === pid);
	if (locked)
		return new TstraceError(
			`cannot open the files that process ${pid} has mapped: ${lockedText(locked)} keeps its memory locked; perhaps it maps a file of a mount that does not answer`,
		);
	const isRoot = process.geteuid?.() === 0;
	let why = whyNotAllowed(isRoot, ownCapabilities().has('CAP_SYS_PTRACE'));
	const open: number[] = [];
	try {
		// As many at once as openRegular needs, and one for whoever calls it.
		for (let i = 0; i < 3; i++) open.push(openSync('/dev/null', 'r'));
	} catch (error) {
		why = shortage((error as NodeJS.ErrnoException).code ?? '') ?? String(error);
	} finally {
		for (const fd of open) closeSync(fd);
	}
	return new TstraceError(`cannot open the files that process ${pid} has mapped: ${why}`);
}

/** Who may look into a process: man 2 ptrace, "Ptrace access mode checking". */
export function whyNotAllowed(isRoot: boolean, hasPtrace: boolean): string {
	if (hasPtrace) {
		return (
			'the kernel forbids it although you have CAP_SYS_PTRACE; ' +
			'a sandbox or a security module (Landlock, SELinux, AppArmor) protects the process'
		);
	}
	return isRoot
		? 'not allowed: this root has no CAP_SYS_PTRACE; in a container, --cap-add SYS_PTRACE'
		: 'not allowed; run tstrace as root, or add CAP_SYS_PTRACE';
}

export function noAllocator(
	pid: number,
	entries: readonly MapsEntry[],
	{ prefix, object }: HeapProbeOptions,
	read: (path: string) => HeapFile,
): TstraceError {
	const looked = entries.filter((entry) => object === undefined || isObject(object, pid, entry));
	const isClosed = (path: string) => read(path).problem === 'not opened';
	if (looked.some((entry) => isClosed(pathTo(pid, entry)))) return notOpened(pid);
	const exe = read(`/proc/${pid}/exe`);
	if (exe.problem === 'other ELF') {
		return new TstraceError(
			`process ${pid} is a 32-bit program, and memleak probes only 64-bit ones; use --growth`,
		);
	}
	const alone = entries.length <= 1;
	if (alone && !exe.hasSymbols && object === undefined) {
		return new TstraceError(
			`${exeOf(pid)} is statically linked and stripped, so memleak cannot find its allocator by name; ` +
				'use a build with symbols, or --growth',
		);
	}
	return new TstraceError(
		`process ${pid} has no known allocator: no ${prefix}malloc and ${prefix}free in ${namesOf(looked)}; ` +
			'give its file with -O, its prefix with --prefix (je_), or use --growth',
	);
}

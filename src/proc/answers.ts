/**
 * Whether the file system behind a path answers. Network mounts may be dead, and FUSE mounts belong to whoever serves
 * them: who stats, opens or reads a file there can wait for ever, deaf to every signal. So a process of its own asks
 * first, and we wait for it a short time only.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { textOf } from '../text-of.js';
import { type Mount, mountAt, mountsThere } from './mounts.js';

/** They wait for this machine's own memory and disks only. Whatever is not named here is asked. */
const LOCAL = new Set(
	(
		'bcachefs btrfs cgroup cgroup2 devtmpfs erofs exfat ext2 ext3 ext4 f2fs hugetlbfs iso9660 jfs nilfs2 ntfs3 ' +
		'overlay proc ramfs rootfs squashfs sysfs tmpfs udf vfat xfs zfs'
	).split(' '),
);
/** We wait that long for the first answer of a mount, once. */
const PATIENCE_MS = 500;
const POLL_MS = 2;
/** After that time a mount that answered is asked again. */
const VALID_MS = 10_000;
/** Of mounts that do not answer: no more are asked. So all of them together cost us 2 s at most. */
const MAX_SILENT = 4;
/** Mounts are read again after that time: they come and go. */
const MOUNTS_VALID_MS = 1000;
/** Of containers: what is known of the mounts of so many at a time. */
const MAX_NAMESPACES = 256;
/** Opens a regular file, and reads a byte of it; never a pipe or a device, which may wait for others. */
const QUESTION = '[ -f "$1" ] && exec head -c 1 -- "$1"';

interface Asked {
	readonly mount: Mount;
	readonly child: ChildProcess;
	/** When it had ended; undefined: not yet. Of performance.now(). */
	answered_ms: number | undefined;
}

interface Namespace {
	readonly read_ms: number;
	readonly byFolder: ReadonlyMap<string, Mount>;
}

/** By mount namespace. */
const namespaces = new Map<string, Namespace>();
/** By mount namespace and folder. */
const asked = new Map<string, Asked>();

/**
 * Whether a file can be looked at, opened and read without waiting for somebody else. `path` is one of ours, or
 * /proc/PID/root/…, /proc/PID/map_files/… or /proc/PID/exe. Waits up to 500 ms at the first file of a mount that does not answer; from
 * then on that mount's files are refused at once until it does.
 */
export function answers(path: string): boolean {
	const [pid, inside] = placeOf(path);
	if (inside === undefined) return true;
	const namespace = linkOf(`/proc/${pid}/ns/mnt`);
	if (namespace === undefined) return true; // there is no such process, and so no such file
	const mount = mountAt(inside, mountsOf(namespace, pid));
	return (
		!mount || LOCAL.has(mount.type) || isAnswering(`${namespace} ${mount.folder}`, mount, path)
	);
}

/** The mounts that have been asked and do not answer, as their processes see them. */
export const silentMounts = (): readonly Mount[] =>
	[...asked.values()].filter((each) => !isOver(each)).map(({ mount }) => mount);

/** Whose view of the mounts counts, and the path there; undefined: it is nowhere but in /proc itself. */
function placeOf(path: string): [pid: string, path: string | undefined] {
	const [, pid = '', what, rest] =
		/^\/proc\/(\d+|self)\/(root|map_files|fd|exe)(\/.*)?$/.exec(path) ?? [];
	if (what === undefined) return ['self', path];
	// Reading the other links asks no file system.
	return [pid, what === 'root' ? (rest ?? '/') : linkOf(path)];
}

function linkOf(path: string): string | undefined {
	try {
		return readlinkSync(path);
	} catch {
		return undefined;
	}
}

function mountsOf(namespace: string, pid: string): Namespace['byFolder'] {
	const now_ms = performance.now();
	const known = namespaces.get(namespace);
	if (known && now_ms - known.read_ms < MOUNTS_VALID_MS) return known.byFolder;
	if (namespaces.size >= MAX_NAMESPACES) namespaces.clear();
	const mounts = mountsThere(textOf(`/proc/${pid}/mounts`) ?? '');
	// Of several in one place, the last one is seen.
	const byFolder = new Map(mounts.map((mount) => [mount.folder, mount]));
	namespaces.set(namespace, { read_ms: now_ms, byFolder });
	return byFolder;
}

function isAnswering(name: string, mount: Mount, path: string): boolean {
	let ask = asked.get(name);
	const isFresh = ask?.answered_ms === undefined || performance.now() - ask.answered_ms < VALID_MS;
	if (ask && isFresh) return isOver(ask);
	if (silentMounts().length >= MAX_SILENT) return false;
	const child = spawn('/bin/sh', ['-c', QUESTION, 'sh', path], { stdio: 'ignore' });
	// There is no shell: nobody can ask.
	child.on('error', () => {});
	child.unref();
	ask = { mount, child, answered_ms: undefined };
	asked.set(name, ask);
	const until_ms = performance.now() + PATIENCE_MS;
	while (!isOver(ask) && performance.now() < until_ms)
		Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
	return isOver(ask);
}

/** Whether the process that asks has ended. node itself hears of that in its event loop only. */
function isOver(ask: Asked): boolean {
	if (ask.answered_ms !== undefined) return true;
	const { pid, exitCode, signalCode } = ask.child;
	if (pid === undefined) return false;
	const stat = exitCode === null && signalCode === null ? textOf(`/proc/${pid}/stat`) : undefined;
	// The name in brackets may have brackets itself. Z: a zombie.
	if (stat !== undefined && stat.charAt(stat.lastIndexOf(')') + 2) !== 'Z') return false;
	ask.answered_ms = performance.now();
	return true;
}

process.on('exit', () => {
	for (const ask of asked.values()) if (!isOver(ask)) ask.child.kill('SIGKILL');
});

/**
 * Whether the file system behind a path answers. Network mounts may be dead, and FUSE mounts belong to whoever serves
 * them: who stats, opens or reads a file there can wait for ever, deaf to every signal. So a process of its own asks
 * first, and we wait for it a short time only.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { resolve } from 'node:path';
import { textOf } from '../text-of.js';
import { type Mount, mountAt, mountsThere } from './mounts.js';

/** They wait for this machine's own memory and disks only. Whatever is not named here is asked. */
const LOCAL = new Set(
	(
		'bcachefs btrfs cgroup cgroup2 devtmpfs erofs exfat ext2 ext3 ext4 f2fs hugetlbfs iso9660 jfs nilfs2 ntfs3 ' +
		'overlay proc ramfs rootfs squashfs sysfs tmpfs udf vfat xfs zfs'
	).split(' '),
);
/** Of an overlay: where its files really are. */
const LAYERS = /^(?:lowerdir|upperdir)=(.*)/;
/** We wait that long for the first answer of a mount. */
const PATIENCE_MS = 500;
const POLL_MS = 2;
/** After that time a mount that answered is asked again. */
const VALID_MS = 10_000;
/** Of mounts that never answered: so all of them together cost us 2 s at most. */
const MAX_SILENT = 4;
/** Mounts are read again after that time: they come and go. */
const MOUNTS_VALID_MS = 1000;
/** Of containers: what is known of so many views of mounts, and of so many mounts that were asked. */
const MAX_KNOWN = 256;
/**
 * No cache answers the first part. Then a regular file is opened, and a byte of it read; never a pipe or a device, which
 * may wait for others.
 */
const QUESTION = 'stat -f -- "$1" && [ -f "$1" ] && exec head -c 1 -- "$1"';
/** Nothing else is looked up, in folders that may be silent themselves. */
const ASKER = {
	stdio: 'ignore',
	cwd: '/',
	env: { PATH: '/usr/bin:/bin' },
	detached: true,
} as const;
/** man 5 proc_pid_stat: fields behind the name, from 0. */
const [STATE_FIELD, EXIT_CODE_FIELD] = [0, 49];

interface Asked {
	readonly mount: Mount;
	/** Undefined: nobody asks any more, or nobody ever did, as others are silent. */
	child: ChildProcess | undefined;
	began_ms: number;
	/** Of performance.now(); undefined: never. */
	answered_ms: number | undefined;
	/** A file was not read as it did not answer in time. */
	hasRefused: boolean;
}

interface View {
	readonly read_ms: number;
	readonly byFolder: ReadonlyMap<string, Mount>;
}

/** By mount namespace and root. */
const views = new Map<string, View>();
/** By view and folder. */
const asked = new Map<string, Asked>();

/**
 * Whether a file can be looked at, opened and read without waiting for somebody else. `path` is one of ours, or
 * /proc/PID/root/…, /proc/PID/map_files/… or /proc/PID/exe. Waits up to 500 ms for a mount that does not answer; from
 * then on that mount's files are refused at once until it does. It goes by the text of the path, not by links on the way.
 */
export function answers(path: string): boolean {
	const found = mountOf(path);
	return !found || isLocal(found.mount) || isAnswering(found, path);
}

/** Whether a file is on this machine's own disks, or in its memory: then it is read without asking. */
export function isOnLocalMount(path: string): boolean {
	const found = mountOf(path);
	return !found || isLocal(found.mount);
}

/** The mounts that did not answer when they were asked, as their processes see them; each once. */
export function silentMounts(): readonly Mount[] {
	const refused = [...asked.values()].filter(({ hasRefused }) => hasRefused);
	return [
		...new Map(refused.map(({ mount }) => [`${mount.folder} ${mount.type}`, mount])).values(),
	];
}

interface MountOfPath {
	readonly mount: Mount;
	/** Tells it apart from mounts of the same folder elsewhere. */
	readonly name: string;
}

/** Undefined: there is no such process, or the path leads into no mount. */
function mountOf(path: string): MountOfPath | undefined {
	const [, pid = '', what, rest] = /^\/proc\/(\d+)\/(root|map_files|exe)(\/.*)?$/s.exec(path) ?? [];
	if (what === undefined) return mountIn('self', resolve(path));
	if (what === 'root') return mountIn(pid, rest ?? '/');
	// Reading these links asks no file system. What they say is seen from our root, or from that of the namespace.
	const target = linkOf(path);
	const isOurs = linkOf(`/proc/${pid}/ns/mnt`) === linkOf('/proc/self/ns/mnt');
	return target === undefined ? undefined : mountIn(isOurs ? 'self' : pid, target);
}

function mountIn(pid: string, path: string): MountOfPath | undefined {
	const [namespace, root] = [linkOf(`/proc/${pid}/ns/mnt`), linkOf(`/proc/${pid}/root`)];
	if (namespace === undefined || root === undefined) return undefined;
	const view = `${namespace} ${root}`;
	const mount = mountAt(path, mountsOf(view, pid));
	return mount && { mount, name: `${view} ${mount.folder}` };
}

function linkOf(path: string): string | undefined {
	try {
		return readlinkSync(path);
	} catch {
		return undefined;
	}
}

function mountsOf(view: string, pid: string): View['byFolder'] {
	const now_ms = performance.now();
	const known = views.get(view);
	if (known && now_ms - known.read_ms < MOUNTS_VALID_MS) return known.byFolder;
	if (views.size >= MAX_KNOWN) views.clear();
	const mounts = mountsThere(textOf(`/proc/${pid}/mounts`) ?? '');
	// Of several in one place, the last one is seen.
	const byFolder = new Map(mounts.map((mount) => [mount.folder, mount]));
	views.set(view, { read_ms: now_ms, byFolder });
	return byFolder;
}

/** Layers of an overlay have the paths that they had for whoever mounted it: mostly ours. */
function isLocal({ type, options }: Mount): boolean {
	if (!LOCAL.has(type)) return false;
	if (type !== 'overlay') return true;
	const layers = options.flatMap((option) => LAYERS.exec(option)?.[1]?.split(':') ?? []);
	return layers.every((layer) => {
		const under = mountIn('self', layer);
		return !under || LOCAL.has(under.mount.type);
	});
}

function isAnswering({ mount, name }: MountOfPath, path: string): boolean {
	const known = asked.get(name);
	if (known && hasAnswered(known)) return true;
	if (known?.child) return refuse(known);
	if (!known && asked.size >= MAX_KNOWN) forgetAnswered();
	const ask: Asked = known ?? {
		...{ mount, child: undefined, began_ms: 0, answered_ms: undefined, hasRefused: false },
	};
	asked.set(name, ask);
	if (ask.answered_ms === undefined && countSilent() >= MAX_SILENT) return refuse(ask);
	ask.began_ms = performance.now();
	ask.child = spawn('/bin/sh', ['-c', QUESTION, 'sh', path], ASKER);
	ask.child.on('error', () => {});
	ask.child.unref();
	// Without a shell, nobody can ask: then files are read, as most mounts answer.
	if (ask.child.pid === undefined) return true;
	while (ask.child && performance.now() - ask.began_ms < PATIENCE_MS) {
		if (hasAnswered(ask)) return true;
		Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
	}
	return refuse(ask);
}

function refuse(ask: Asked): false {
	ask.hasRefused = true;
	return false;
}

const countSilent = () =>
	[...asked.values()].filter(({ child, answered_ms }) => child && answered_ms === undefined).length;

function forgetAnswered(): void {
	for (const [name, ask] of asked) if (!ask.hasRefused) asked.delete(name);
}

/** Whether there is an answer that is young enough. */
function hasAnswered(ask: Asked): boolean {
	const code = ask.child && exitCodeOf(ask.child);
	if (code !== undefined) {
		ask.child = undefined;
		const took_ms = performance.now() - ask.began_ms;
		// A file that cannot be read is an answer, too, but not if it comes late: the next one would be late as well.
		if (code === 0 || (code > 0 && took_ms < PATIENCE_MS)) ask.answered_ms = performance.now();
	}
	const { child, answered_ms } = ask;
	return !child && answered_ms !== undefined && performance.now() - answered_ms < VALID_MS;
}

/** Undefined: it runs; negative: it was killed. node itself hears of its end in its event loop only. */
function exitCodeOf({ pid, exitCode, signalCode }: ChildProcess): number | undefined {
	if (exitCode !== null || signalCode !== null) return exitCode ?? -1;
	const stat = textOf(`/proc/${pid}/stat`);
	if (stat === undefined) return -1;
	// The name in brackets may have brackets itself.
	const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
	if (fields[STATE_FIELD] !== 'Z') return undefined;
	const status = Number(fields[EXIT_CODE_FIELD]);
	return (status & 0x7f) === 0 ? status >> 8 : -1;
}

process.on('exit', () => {
	for (const { child } of asked.values()) if (child?.pid !== undefined) child.kill('SIGKILL');
});

/**
 * Whether the file system behind a path answers. Network mounts may be dead, and FUSE mounts belong to whoever serves
 * them: who stats, opens or reads a file there can wait for ever, deaf to every signal. So a process of its own asks
 * first, and we wait for it a short time only.
 */
import { readlinkSync } from 'node:fs';
import { resolve } from 'node:path';
import { textOf } from '../text-of.js';
import { Asker } from './asker.js';
import { memoryAnswers } from './memory-lock.js';
import { type Mount, mountAt, mountsByDevice, mountsThere } from './mounts.js';

/** They wait for this machine's own memory and disks only. Whatever is not named here is asked. */
const LOCAL = new Set(
	(
		'bcachefs btrfs cgroup cgroup2 devtmpfs erofs exfat ext2 ext3 ext4 f2fs hugetlbfs iso9660 jfs nilfs2 ntfs3 ' +
		'overlay proc ramfs rootfs squashfs sysfs tmpfs udf vfat xfs zfs'
	).split(' '),
);
/** Of an overlay: where its files really are. Whoever mounted it may have given each layer by itself (fsconfig). */
const LAYERS = /^(?:lowerdir\+?|datadir\+|upperdir)=(.*)/;
/** After that time a mount that answered is asked again. */
const VALID_MS = 10_000;
/** Mounts are read again after that time: they come and go. */
const MOUNTS_VALID_MS = 1000;
/** Of containers: what is known of so many views of mounts. */
const MAX_VIEWS = 256;
/**
 * No cache answers the first part. Then a regular file is opened, and a byte of it read; never a pipe or a device, which
 * may wait for others.
 */
const QUESTION = 'stat -f -- "$1" && [ -f "$1" ] && exec head -c 1 -- "$1"';

/** In place of the type of its file system: of a file whose mount nobody sees, and of a process that sees none. */
const TAKEN_AWAY = 'mount that was taken away';
const UNSEEN = 'mount that is not seen';
/** The kernel's own memory: memfd, SysV, shared /dev/zero. The first mount without a disk (fs/namespace.c, mnt_init). */
const KERNEL_MEMORY = '0:1';
/** Of so many mapped files the device is known. */
const MAX_DEVICES = 8192;

/** As /proc/PID/maps has it. */
export interface Device {
	readonly major: number;
	readonly minor: number;
}

interface View {
	readonly read_ms: number;
	readonly byFolder: ReadonlyMap<string, Mount>;
	/** Undefined: nobody has asked. */
	byDevice: ReadonlyMap<string, Mount> | undefined;
}

/** By the path of a file in map_files: its device, which those who ask have read in maps. */
const devices = new Map<string, string>();
/** By mount namespace and root. */
const views = new Map<string, View>();
/** Of mounts, by view and folder. */
const asker = new Asker<Mount>((path) => ['/bin/sh', '-c', QUESTION, 'sh', path], VALID_MS);

/**
 * Whether a file can be looked at, opened and read without waiting for somebody else. `path` is one of ours, or
 * /proc/PID/root/…, /proc/PID/map_files/… or /proc/PID/exe. Waits up to 500 ms for a mount that does not answer; from
 * then on that mount's files are refused at once until it does. It goes by the text of the path, not by links on the
 * way; in map_files by `device`, which is remembered, as a file of a mount that was taken away has a path like any other.
 */
export function answers(path: string, device?: Device): boolean {
	const [, holder] = /^\/proc\/(\d+)\/map_files\//.exec(path) ?? [];
	if (holder !== undefined && !memoryAnswers(Number(holder))) return false;
	if (device) {
		if (devices.size >= MAX_DEVICES) devices.clear();
		devices.set(path, numberOf(device));
	}
	const found = mountOf(path);
	return !found || isLocal(found.mount) || asker.isAnswering(found.name, found.mount, path);
}

/** Whether a file is on this machine's own disks, or in its memory: then it is read without asking. */
export function isOnLocalMount(path: string): boolean {
	const found = mountOf(path);
	return !found || isLocal(found.mount);
}

/** Whether what has this device is that, as far as we or the process see it mounted. */
export function isLocalDevice(pid: number, device: Device): boolean {
	return isLocal(mountWith(numberOf(device), `${pid}`, '').mount);
}

const numberOf = ({ major, minor }: Device): string => `${major}:${minor}`;

/** The mounts that did not answer when they were asked, as their processes see them; each once. */
export function silentMounts(): readonly Mount[] {
	return [
		...new Map(asker.silent.map((mount) => [`${mount.folder} ${mount.type}`, mount])).values(),
	];
}

interface MountOfPath {
	readonly mount: Mount;
	/** Tells it apart from mounts of the same folder elsewhere. */
	readonly name: string;
}

/** Undefined: there is no such process, or nothing is mapped there. */
function mountOf(path: string): MountOfPath | undefined {
	const [, pid = '', what, rest] = /^\/proc\/(\d+)\/(root|map_files|exe)(\/.*)?$/s.exec(path) ?? [];
	if (what === undefined) return mountIn('self', resolve(path));
	if (what === 'root') return mountIn(pid, rest ?? '/');
	// Reading these links asks no file system. What they say is seen from our root, or from that of the namespace.
	const target = linkOf(path);
	if (target === undefined) return undefined;
	const device = devices.get(path);
	if (device !== undefined) return mountWith(device, pid, target);
	const isOurs = linkOf(`/proc/${pid}/ns/mnt`) === linkOf('/proc/self/ns/mnt');
	const found = mountIn(isOurs ? 'self' : pid, target);
	if (what === 'map_files' || !found || !isLocal(found.mount)) return found;
	// Of a program no device is known without asking for it: its mount, too, may have been taken away.
	return { name: path, mount: { folder: target, type: UNSEEN, options: [] } };
}

/** `target`: the file, as the link to it says. */
function mountWith(device: string, pid: string, target: string): MountOfPath {
	const name = `device ${device}`;
	if (device === KERNEL_MEMORY)
		return { name, mount: { folder: target, type: 'tmpfs', options: [] } };
	const mount = seenWith(device, 'self') ?? seenWith(device, pid);
	return { name, mount: mount ?? { folder: target, type: TAKEN_AWAY, options: [] } };
}

function seenWith(device: string, pid: string): Mount | undefined {
	const name = viewOf(pid);
	if (name === undefined) return undefined;
	const view = seenBy(pid, name);
	view.byDevice ??= mountsByDevice(textOf(`/proc/${pid}/mountinfo`) ?? '');
	return view.byDevice.get(device);
}

function mountIn(pid: string, path: string): MountOfPath | undefined {
	const name = viewOf(pid);
	if (name === undefined) return undefined;
	const mount = mountAt(path, seenBy(pid, name).byFolder);
	if (mount) return { mount, name: `${name} ${mount.folder}` };
	// Its root is a folder somewhere, as after chroot: then /proc has no mounts of it.
	return { name, mount: { folder: `/proc/${pid}/root`, type: UNSEEN, options: [] } };
}

/** Undefined: there is no such process. */
function viewOf(pid: string): string | undefined {
	const [namespace, root] = [linkOf(`/proc/${pid}/ns/mnt`), linkOf(`/proc/${pid}/root`)];
	return namespace === undefined || root === undefined ? undefined : `${namespace} ${root}`;
}

function linkOf(path: string): string | undefined {
	try {
		return readlinkSync(path);
	} catch {
		return undefined;
	}
}

function seenBy(pid: string, view: string): View {
	const now_ms = performance.now();
	const known = views.get(view);
	if (known && now_ms - known.read_ms < MOUNTS_VALID_MS) return known;
	if (views.size >= MAX_VIEWS) views.clear();
	const mounts = mountsThere(textOf(`/proc/${pid}/mounts`) ?? '');
	// Of several in one place, the last one is seen.
	const byFolder = new Map(mounts.map((mount) => [mount.folder, mount]));
	const seen = { read_ms: now_ms, byFolder, byDevice: undefined };
	views.set(view, seen);
	return seen;
}

/** Layers of an overlay have the paths that they had for whoever mounted it: mostly ours. */
function isLocal({ type, options }: Mount): boolean {
	if (!LOCAL.has(type)) return false;
	if (type !== 'overlay') return true;
	const layers = options.flatMap((option) => LAYERS.exec(option)?.[1]?.split(':') ?? []);
	return layers.every((layer) => {
		// Of others nobody knows from which folder: Docker's.
		const under = layer.startsWith('/') ? mountIn('self', layer) : undefined;
		return !under || LOCAL.has(under.mount.type);
	});
}

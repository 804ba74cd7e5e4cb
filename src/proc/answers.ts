/**
 * Whether the file system behind a path answers. Network mounts may be dead, and FUSE mounts belong to whoever serves
 * them: who stats, opens or reads a file there can wait for ever, deaf to every signal. So a process of its own asks
 * first, and we wait for it a short time only.
 */
import { readlinkSync } from 'node:fs';
import { resolve } from 'node:path';
import { textOf } from '../text-of.js';
import { Asker } from './asker.js';
import { type MapsEntry, parseMaps } from './maps.js';
import { memoryAnswers } from './memory-lock.js';
import { devicesIn, type Mount, mountAt, mountsThere } from './mounts.js';
import { readMaps } from './process-facts.js';

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
/** Mounts are read again after that time: they come and go; so do mappings. */
const MOUNTS_VALID_MS = 1000;
const MAPPED_VALID_MS = 100;
/** Of containers: what is known of so many views of mounts. */
const MAX_VIEWS = 256;
/**
 * No cache answers the first part. Then a regular file is opened, and a byte of it read; never a pipe or a device, which
 * may wait for others.
 */
const QUESTION = 'stat -f -- "$1" && [ -f "$1" ] && exec head -c 1 -- "$1"';

/** Of a file whose mount nobody sees: in place of the type of its file system. */
const TAKEN_AWAY = 'mount that was taken away';

interface View {
	readonly read_ms: number;
	readonly byFolder: ReadonlyMap<string, Mount>;
	/** As mounts.ts has them. */
	readonly devices: ReadonlyMap<string, string>;
}

/** What the process had mapped that was asked about last. */
let mapped: { pid: string; read_ms: number; entries: readonly MapsEntry[] } | undefined;
/** By mount namespace and root. */
const views = new Map<string, View>();
/** Of mounts, by view and folder. */
const asker = new Asker<Mount>((path) => ['/bin/sh', '-c', QUESTION, 'sh', path], VALID_MS);

/**
 * Whether a file can be looked at, opened and read without waiting for somebody else. `path` is one of ours, or
 * /proc/PID/root/…, /proc/PID/map_files/… or /proc/PID/exe. Waits up to 500 ms for a mount that does not answer; from
 * then on that mount's files are refused at once until it does. It goes by the text of the path, not by links on the way;
 * of what is mapped, by its device, too, as it may be in a mount that was taken away.
 */
export function answers(path: string): boolean {
	const [, holder] = /^\/proc\/(\d+)\/map_files\//.exec(path) ?? [];
	if (holder !== undefined && !memoryAnswers(Number(holder))) return false;
	const found = mountOf(path);
	return !found || isLocal(found.mount) || asker.isAnswering(found.name, found.mount, path);
}

/** Whether a file is on this machine's own disks, or in its memory: then it is read without asking. */
export function isOnLocalMount(path: string): boolean {
	const found = mountOf(path);
	return !found || isLocal(found.mount);
}

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

/** Undefined: there is no such process, or the path leads into no mount. */
function mountOf(path: string): MountOfPath | undefined {
	const [, pid = '', what, rest] = /^\/proc\/(\d+)\/(root|map_files|exe)(\/.*)?$/s.exec(path) ?? [];
	if (what === undefined) return mountIn('self', resolve(path));
	if (what === 'root') return mountIn(pid, rest ?? '/');
	// Reading these links asks no file system. What they say is seen from our root, or from that of the namespace.
	const target = linkOf(path);
	if (target === undefined) return undefined;
	const isOurs = linkOf(`/proc/${pid}/ns/mnt`) === linkOf('/proc/self/ns/mnt');
	const found = mountIn(isOurs ? 'self' : pid, target);
	if (found && !isLocal(found.mount)) return found;
	// In a mount that was taken away (umount -l) it has a path like any other.
	const device = what === 'exe' ? deviceOfFile(pid, target) : deviceAt(pid, rest?.slice(1) ?? '');
	const isSeen = ['self', pid].some((each) => LOCAL.has(devicesOf(each)?.get(device) ?? ''));
	if (isSeen) return found;
	const mount = { folder: target, type: TAKEN_AWAY, options: [] };
	return { mount, name: `${pid} ${device} ${target}` };
}

/** Of what is mapped from one address to another, as mountinfo has it; "": nothing is. */
function deviceAt(pid: string, range: string): string {
	const [start, end] = range.split('-').map((address) => Number.parseInt(address, 16));
	return deviceOf(mappedIn(pid).find((each) => each.start === start && each.end === end));
}

/** Of the file that has this path, as far as a part of it is mapped. */
const deviceOfFile = (pid: string, path: string): string =>
	deviceOf(mappedIn(pid).find((each) => each.path === path.replace(/ \(deleted\)$/, '')));

const deviceOf = (entry: MapsEntry | undefined): string =>
	entry ? `${entry.major}:${entry.minor}` : '';

/** Each of a process's files is asked for, one after the other. */
function mappedIn(pid: string): readonly MapsEntry[] {
	const now_ms = performance.now();
	if (mapped?.pid !== pid || now_ms - mapped.read_ms >= MAPPED_VALID_MS)
		mapped = { pid, read_ms: now_ms, entries: parseMaps(readMaps(Number(pid)) ?? '') };
	return mapped.entries;
}

function mountIn(pid: string, path: string): MountOfPath | undefined {
	const name = viewOf(pid);
	if (name === undefined) return undefined;
	const mount = mountAt(path, seenBy(pid, name).byFolder);
	return mount && { mount, name: `${name} ${mount.folder}` };
}

function devicesOf(pid: string): View['devices'] | undefined {
	const name = viewOf(pid);
	return name === undefined ? undefined : seenBy(pid, name).devices;
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
	const devices = devicesIn(textOf(`/proc/${pid}/mountinfo`) ?? '');
	const seen = { read_ms: now_ms, byFolder, devices };
	views.set(view, seen);
	return seen;
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

/** Files that a process has mapped from overlays: walks know the files below, which the kernel reads. */
import type { FunctionMaps } from '../../bpf/runtimes/functions.js';
import type { FileIdentity } from '../../bpf/unwind/tables.js';
import { type MapsEntry, parseMaps } from '../../proc/maps.js';
import { fileBelow } from '../../proc/overlay.js';
import { readMaps } from '../../proc/process-facts.js';

/** include/linux/kdev_t.h: a device as the kernel itself numbers it. */
const MINOR_BITS = 20;
/** Of a process's mappings: a stranger may have a million. */
const MAPS_BYTES = 2 ** 20;
const MAX_FILES = 1000;

type FileNumbers = Pick<FileIdentity, 'inode' | 'device'>;
type Names = Pick<FunctionMaps, 'addBelow'>;

/** The very file that is mapped there. */
export function mapFile(pid: number, { start, end }: Pick<MapsEntry, 'start' | 'end'>): string {
	return `/proc/${pid}/map_files/${start.toString(16)}-${end.toString(16)}`;
}

/** What walks know a file as that a process has mapped; `names` is told, if that is another one than the process sees. */
export function walkedFile(pid: number, entry: MapsEntry, names: Names): FileNumbers {
	const { inode, major, minor } = entry;
	const shown = { inode: BigInt(inode), device: major * 2 ** MINOR_BITS + minor };
	// Overlays have no device of their own.
	const below = major === 0 ? fileBelow(mapFile(pid, entry)) : undefined;
	if (!below) return shown;
	const file = { inode: below.ino, device: deviceNumber(Number(below.dev)) };
	names.addBelow(shown, file);
	return file;
}

/** Tells `names` of all files that a process has mapped from overlays. */
export function learnFilesBelow(pid: number, names: Names): void {
	const entries = parseMaps(readMaps(pid, MAPS_BYTES) ?? '');
	const onOverlays = entries.filter(({ inode, major }) => major === 0 && inode !== 0);
	for (const entry of onOverlays.slice(0, MAX_FILES)) walkedFile(pid, entry, names);
}

/** include/linux/kdev_t.h, new_decode_dev: stat has the low bits of the minor number apart from the others. */
export function deviceNumber(dev: number): number {
	const major = (dev >>> 8) & 0xfff;
	const minor = (dev & 0xff) | ((dev >>> 12) & 0xfff00);
	return major * 2 ** MINOR_BITS + minor;
}

/** Reads /proc/PID/maps. Source: man 5 proc_pid_maps; fs/proc/task_mmu.c. */
import { boundedName } from '../bounded-names.js';

/** More than that many mappings no kernel allows, unless it was told to. */
const MAX_MAPPINGS = 2 ** 20;

/** Memory that is a file only by name; compilers put code there, too. */
export const MEMORY_PATH = /^\/(memfd:|dev\/zero$|dev\/shm\/|SYSV|anon_hugepage)/;

/** Something executable in an address space. */
export interface MapsEntry {
	readonly start: number;
	readonly end: number;
	readonly fileOffset: number;
	readonly major: number;
	readonly minor: number;
	readonly inode: number;
	/** "/usr/lib/libc.so.6", "[vdso]", "" for anonymous memory; without " (deleted)". */
	readonly path: string;
}

/** Behind the first space. */
const EXECUTABLE = 3;
const LINE =
	/^([0-9a-f]{1,16})-([0-9a-f]{1,16}) ..(.). ([0-9a-f]{1,16}) ([0-9a-f]+):([0-9a-f]+) (\d{1,16}) *(.*)$/s;

/** The executable mappings; lines that are malformed are left out. */
export function parseMaps(text: string): MapsEntry[] {
	const entries: MapsEntry[] = [];
	for (let at = 0; at < text.length && entries.length < MAX_MAPPINGS; ) {
		const newline = text.indexOf('\n', at);
		const end = newline < 0 ? text.length : newline;
		// Most are not: of a process with 10,000 threads, 20,000 lines.
		const line = text.slice(at, end);
		const isExecutable = line[line.indexOf(' ') + EXECUTABLE] === 'x';
		const entry = isExecutable && parseLine(line);
		if (entry) entries.push(entry);
		at = end + 1;
	}
	return entries;
}

/** A part of a text keeps all of it in memory, which may be megabytes. */
const copied = (part: string): string => Buffer.from(part).toString();

function parseLine(line: string): MapsEntry | undefined {
	const match = LINE.exec(line);
	if (match?.[3] !== 'x') return undefined;
	const [start, end, offset, major, minor] = [1, 2, 4, 5, 6].map((i) =>
		Number.parseInt(match[i] as string, 16),
	) as [number, number, number, number, number];
	// Of kernel addresses there is one, [vsyscall].
	if (end <= start || end > Number.MAX_SAFE_INTEGER) return undefined;
	const path = copied(boundedName((match[8] as string).replace(/ \(deleted\)$/, '')));
	return { start, end, fileOffset: offset, major, minor, inode: Number(match[7]), path };
}

/** What /proc tells of a process. Source: man 5 proc_pid_status, proc_pid_stat, proc_pid_ns. */
import { closeSync, openSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import { boundedName } from '../bounded-names.js';
import { memoryAnswers } from './memory-lock.js';
import { statFields } from './stat-fields.js';
import { commOf } from './threads.js';

/** A maps file of 1,048,576 mappings is smaller, which some distributions allow; Linux by itself 65,530. */
const MAX_PROC_BYTES = 128 * 2 ** 20;
/** USER_HZ, in which the kernel gives times; 100 on every architecture there is. */
const TICKS_PER_SECOND = 100;
/** Of statFields(). */
const STARTED_FIELD = 19;

/** Does not change while a process runs one program. */
export interface ProcessFacts {
	/** Of the user it acts for. */
	readonly uid: number;
	/** Its number as it sees it itself, in its own PID namespace. */
	readonly nspid: number;
	/** Names its mount namespace: "mnt:[4026531841]". */
	readonly mountNamespace: string;
	readonly comm: string;
	/** Seconds since the epoch. */
	readonly started_s: number;
	/** The same exactly, in clock ticks since boot: with the number it tells processes apart. */
	readonly started_ticks: number;
}

/** Undefined when there is no such process any more. */
export function readFacts(pid: number): ProcessFacts | undefined {
	try {
		const status = readFileSync(`/proc/${pid}/status`, 'latin1');
		const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
		const field = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1] ?? '';
		const started_ticks = Number(statFields(stat)[STARTED_FIELD]);
		return {
			uid: Number(field('Uid').split('\t')[1]),
			nspid: Number(field('NSpid').split('\t').at(-1) || pid),
			mountNamespace: readlinkSync(`/proc/${pid}/ns/mnt`),
			// In `status` some of its letters are written otherwise.
			comm: boundedName(commOf(pid) ?? ''),
			started_s: bootTime_s() + started_ticks / TICKS_PER_SECOND,
			started_ticks,
		};
	} catch {
		return undefined;
	}
}

/** Where the program is; empty for kernel threads, which have none, and where it may not be seen. */
export function exeOf(pid: number): string {
	try {
		return boundedName(readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, ''));
	} catch {
		return '';
	}
}

/**
 * Lines of /proc/PID/maps, until there are as many bytes; undefined when the process is gone, or its memory does not
 * answer.
 */
export function readMaps(pid: number | 'self', most_bytes = MAX_PROC_BYTES): string | undefined {
	if (pid !== 'self' && !memoryAnswers(pid)) return undefined;
	let fd: number | undefined;
	try {
		fd = openSync(`/proc/${pid}/maps`, 'r');
		const parts: Buffer[] = [];
		// The kernel gives whole lines, a page of them at a time.
		const part = Buffer.allocUnsafe(2 ** 16);
		for (let size = 0; size < most_bytes; ) {
			const got = readSync(fd, part);
			if (got === 0) break;
			parts.push(Buffer.from(part.subarray(0, got)));
			size += got;
		}
		return Buffer.concat(parts).toString('utf8');
	} catch {
		return undefined;
	} finally {
		if (fd !== undefined) closeSync(fd);
	}
}

let ownMounts: string | undefined;

/** The mount namespace of this process. */
export function ownMountNamespace(): string {
	ownMounts ??= readlinkSync('/proc/self/ns/mnt');
	return ownMounts;
}

function bootTime_s(): number {
	return Date.now() / 1000 - Number(readFileSync('/proc/uptime', 'latin1').split(' ')[0]);
}

/**
 * Which tstrace writes into a pipe that is read here. Folded stacks say neither what they count nor in
 * which unit; /proc says who writes them: man 5 proc_pid_fd, proc_pid_cmdline, proc_pid_stat.
 */
import {
	closeSync,
	fstatSync,
	openSync,
	readdirSync,
	readlinkSync,
	readSync,
	type Stats,
	statSync,
} from 'node:fs';
import { basename } from 'node:path';
import { STANDARD_INPUT } from '../../input/read-files.js';
import { memoryAnswers } from '../../proc/memory-lock.js';
import { statFields } from '../../proc/stat-fields.js';
import { processIds } from '../../proc/threads.js';
import { textOf } from '../../text-of.js';

const STDIN = 0;
/** The processes with the nearest numbers are looked at first: a shell starts both of a pipe's together. */
const MAX_PROCESSES = 4096;
const MAX_LINKS = 1 << 16;
const MAX_WRITERS = 64;
const MAX_CMDLINE_BYTES = 1 << 16;
/** A process that has just been forked is still its shell: it is looked at again, ever more seldom. */
const FIRST_LOOK_MS = 20;
const LAST_LOOK_MS = 1000;
/** open(2): the access mode, of which 0 is reading. */
const O_ACCMODE = 3;

/** Programs that run another one, and may be what /proc shows of it where that is another user's, or remote. */
const STARTERS: ReadonlySet<string> = new Set(
	(
		'node nodejs env sudo doas pkexec runuser timeout nice ionice chrt taskset numactl stdbuf setsid ' +
		'nohup time npx npm ssh docker podman nerdctl kubectl nsenter unshare chroot systemd-run ip strace'
	).split(' '),
);

/**
 * The arguments of tstrace in a command line that runs it: [offcputime, -p, 1234]. Undefined: it runs
 * something else, or nobody can tell.
 */
export function tstraceArguments(words: readonly string[]): readonly string[] | undefined {
	const at = words.findIndex((word) => basename(word) === 'tstrace');
	if (at < 0 || (at > 0 && !STARTERS.has(basename(words[0] ?? '')))) return undefined;
	return words.slice(at + 1);
}

/** Watches which processes write into a pipe, until it is closed. */
export class PipeWriter {
	/** As links of descriptors name it: "pipe:[4026531841]". */
	readonly #pipe: string;
	/** Processes that can write into it, and tstrace's arguments of those that run it. */
	readonly #writers = new Map<number, readonly string[] | undefined>();
	#timer: NodeJS.Timeout | undefined;

	/** Undefined where `path` is no pipe. */
	static of(path: string): PipeWriter | undefined {
		const stats = statsOf(path);
		return stats?.isFIFO() ? new PipeWriter(stats.ino) : undefined;
	}

	private constructor(inode: number) {
		this.#pipe = `pipe:[${inode}]`;
		this.#find();
		this.#lookAgain(FIRST_LOOK_MS);
	}

	/** The arguments of the tstrace that writes; undefined: there is none, there are several that differ, or nobody can tell. */
	get arguments(): readonly string[] | undefined {
		const [first, ...others] = [...this.#writers.values()].filter((words) => words !== undefined);
		return others.every(([tool]) => tool === first?.[0]) ? first : undefined;
	}

	close(): void {
		clearTimeout(this.#timer);
	}

	/**
	 * The writing process may have executed tstrace meanwhile, or started it. A shell that was just redirecting had the
	 * pipe at another number, and was missed. To look at all processes takes long: that is done once more only.
	 */
	#lookAgain(after_ms: number): void {
		this.#timer = setTimeout(() => {
			if (this.#writers.size === 0 && after_ms === FIRST_LOOK_MS) this.#find();
			for (const pid of [...this.#writers.keys()]) this.#look(pid);
			this.#lookAgain(Math.min(2 * after_ms, LAST_LOOK_MS));
		}, after_ms);
		this.#timer.unref();
	}

	/** Finds a process that has the pipe open for writing, and those of its family that have. */
	#find(): void {
		const budget = { links: MAX_LINKS };
		const hidden: number[] = [];
		for (const pid of nearestProcesses()) {
			if (budget.links <= 0) break;
			const writes = this.#writes(pid, budget);
			if (writes === undefined) hidden.push(pid);
			if (!writes) continue;
			let oldest = pid;
			for (let parent = familyOf(oldest)?.parent; parent !== undefined; ) {
				if (!this.#writes(parent, budget)) break;
				oldest = parent;
				parent = familyOf(oldest)?.parent;
			}
			this.#look(oldest);
			return;
		}
		this.#guess(hidden);
	}

	/**
	 * Of other users' processes, such as sudo's, it cannot be seen what they have open. Those of our own
	 * process group, which is the pipe line's, are taken if all of them are tstrace, or started by it.
	 */
	#guess(hidden: readonly number[]): void {
		const group = familyOf(process.pid)?.group;
		const parents = new Map<number, number>();
		for (const pid of hidden) {
			const family = familyOf(pid);
			if (family && family.group === group) parents.set(pid, family.parent);
		}
		const found = new Map([...parents.keys()].map((pid) => [pid, argumentsOf(pid)]));
		const isOurs = ([pid, parent]: readonly [number, number]): boolean =>
			found.get(pid) !== undefined || found.get(parent) !== undefined;
		if (![...parents].every(isOurs)) return;
		for (const [pid, words] of found) if (words) this.#writers.set(pid, words);
	}

	/** Looks what a process runs; where that is not tstrace, at what it has started. */
	#look(pid: number): void {
		if (this.#writers.size >= MAX_WRITERS) return;
		const words = argumentsOf(pid) ?? this.#writers.get(pid);
		this.#writers.set(pid, words);
		// What tstrace starts is COMMAND, which writes there too.
		if (words !== undefined) return;
		for (const child of childrenOf(pid)) {
			if (this.#writers.has(child)) continue;
			if (this.#writes(child, { links: MAX_LINKS }) ?? true) this.#look(child);
		}
	}

	/** Whether a process has the pipe open for writing; undefined: it may not be seen. */
	#writes(pid: number, budget: { links: number }): boolean | undefined {
		const folder = `/proc/${pid}`;
		try {
			for (const name of readdirSync(`${folder}/fd`)) {
				if (budget.links-- <= 0) return false;
				if (linkOf(`${folder}/fd/${name}`) === this.#pipe && isForWriting(pid, name)) {
					return true;
				}
			}
			return false;
		} catch (error) {
			return (error as NodeJS.ErrnoException).code === 'EACCES' ? undefined : false;
		}
	}
}

/** Whether a process has a descriptor of its own open for writing. */
function isForWriting(pid: number, descriptor: string): boolean {
	const flags =
		/^flags:\s*(\d+)$/m.exec(textOf(`/proc/${pid}/fdinfo/${descriptor}`) ?? '')?.[1] ?? '0';
	return (Number.parseInt(flags, 8) & O_ACCMODE) !== 0;
}

function statsOf(path: string): Stats | undefined {
	try {
		return path === STANDARD_INPUT ? fstatSync(STDIN) : statSync(path);
	} catch {
		return undefined; // the code that opens it says why
	}
}

/** Numbers of processes, the nearest to our own first, without us. */
function nearestProcesses(): number[] {
	const distance = (pid: number) => Math.abs(pid - process.pid);
	return processIds()
		.filter((pid) => pid !== process.pid)
		.sort((a, b) => distance(a) - distance(b))
		.slice(0, MAX_PROCESSES);
}

/** Undefined when the process is gone. */
function familyOf(pid: number): { parent: number; group: number } | undefined {
	const [, parent, group] = statFields(textOf(`/proc/${pid}/stat`) ?? '');
	return group === undefined ? undefined : { parent: Number(parent), group: Number(group) };
}

function childrenOf(pid: number): number[] {
	const text = textOf(`/proc/${pid}/task/${pid}/children`)?.trim();
	return text ? text.split(' ').map(Number) : [];
}

/** What tstrace was given, if the process runs it. */
function argumentsOf(pid: number): readonly string[] | undefined {
	if (!memoryAnswers(pid)) return undefined;
	let fd: number | undefined;
	try {
		fd = openSync(`/proc/${pid}/cmdline`, 'r');
		const bytes = Buffer.alloc(MAX_CMDLINE_BYTES);
		const text = bytes.toString('utf8', 0, readSync(fd, bytes));
		return tstraceArguments(text.replace(/\0$/, '').split('\0'));
	} catch {
		return undefined;
	} finally {
		if (fd !== undefined) closeSync(fd);
	}
}

/** Undefined: it was closed meanwhile. Throws where it may not be seen. */
function linkOf(path: string): string | undefined {
	try {
		return readlinkSync(path);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
		throw error;
	}
}

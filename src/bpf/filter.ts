/** Which threads are traced: user space's side of bpf/lib/filter.h. */
import { TstraceError } from '../errors.js';
import { ownPidNamespace } from '../loader/kernel.js';
import type { ObjectLayout } from '../loader/layout.js';
import { type BpfMap, u32Key } from '../loader/map.js';
import type { BpfObject } from '../loader/object.js';
import { cgroupId } from '../proc/cgroup.js';
import { processLives, threadLives } from '../proc/lives.js';
import { textOf } from '../text-of.js';
import { readComm } from './comm.js';
import { compileGlobs, isGlob, writeGlobs } from './glob.js';

/** The user's choice; empty lists choose everything. */
export interface Filter {
	readonly pids: readonly number[];
	readonly tids: readonly number[];
	readonly comms: readonly string[];
	/** Paths, absolute or below the cgroup2 mount. */
	readonly cgroups: readonly string[];
	readonly cpus: readonly number[];
	readonly userThreads: boolean;
	readonly kernelThreads: boolean;
	/** Children of the chosen processes too. */
	readonly follow: boolean;
}

interface FilterConstants {
	readonly pidns_inum: unknown;
	readonly filter_by_tgid: unknown;
	readonly filter_by_tid: unknown;
	readonly filter_by_comm: unknown;
	readonly filter_by_glob: unknown;
	readonly glob_accepts: unknown;
	readonly glob_stays: unknown;
	readonly glob_begins: unknown;
	readonly glob_ends: unknown;
	readonly filter_by_cgroup: unknown;
	readonly filter_only_cgroup: unknown;
	readonly filter_by_cpu: unknown;
	readonly filter_user_threads: unknown;
	readonly filter_kernel_threads: unknown;
	readonly filter_cpus: unknown;
	readonly filter_only_tgid: unknown;
	readonly filter_command_tgid: unknown;
}

/** Whom a run is about. */
export interface Subjects {
	readonly filter: Filter;
	/** COMMAND's process, which is held until tracing has begun. */
	readonly command: number | undefined;
	/** COMMAND itself; empty if there is none. */
	readonly words: readonly string[];
}

/** The layout of an object that includes lib/filter.h. */
export interface FilteredLayout extends ObjectLayout {
	readonly sections: ObjectLayout['sections'] & {
		readonly '.rodata': {
			readonly size: number;
			readonly fields: ObjectLayout['sections'][string]['fields'] & {
				readonly [Name in keyof FilterConstants]: { offset: number; size: number };
			};
		};
		readonly '.bss': {
			readonly size: number;
			readonly fields: ObjectLayout['sections'][string]['fields'] & {
				readonly filter_globs_seen: { offset: number; size: number };
			};
		};
	};
}

const COMM_BYTES = 16;
const YES = new Uint8Array([1]);
/** bpf/lib/filter.h */
const FILTER_SEEN = 2;

/** The filter of one run: set before loading, filled after, watched while tracing. */
export class FilterSets {
	readonly #object: BpfObject<FilteredLayout>;
	readonly #filter: Filter;
	/** COMMAND's process, which is held until tracing has begun. */
	readonly #command: number | undefined;

	#cgroupIds: bigint[] = [];

	constructor(object: BpfObject<FilteredLayout>, filter: Filter, command: number | undefined) {
		this.#object = object;
		this.#filter = filter;
		this.#command = command;
	}

	/** Before loading: sets the constants, and returns the programs that keep the sets right. */
	configure(): string[] {
		const { pids, tids, comms, cgroups, cpus, follow } = this.#filter;
		requireSubjects(this.#filter);
		this.#cgroupIds = cgroups.map(cgroupId);
		const processes = [...pids, ...(this.#command === undefined ? [] : [this.#command])];
		const byTgid = processes.length > 0;
		const byTid = tids.length > 0;
		const globs = comms.filter(isGlob);
		this.#object.setConstants({
			pidns_inum: ownPidNamespace(),
			filter_by_tgid: byTgid,
			filter_by_tid: byTid,
			filter_by_comm: comms.length > 0,
			filter_by_glob: globs.length > 0,
			filter_by_cgroup: cgroups.length > 0,
			filter_by_cpu: cpus.length > 0,
			filter_user_threads: this.#filter.userThreads,
			filter_kernel_threads: this.#filter.kernelThreads,
			filter_only_tgid: processes.length === 1 && !follow ? (processes[0] ?? 0) : 0,
			filter_command_tgid: this.#command ?? 0,
		});
		for (const [set, used] of [
			['filter_tgids', byTgid],
			['filter_tids', byTid],
			['filter_comms', comms.length > globs.length],
			['filter_cgroups', cgroups.length > 0],
		] as const) {
			// Room that is not needed would still be allocated, and cost start-up a millisecond.
			if (!used) this.#set(set).setMaxEntries(1);
		}
		if (globs.length > 0)
			writeGlobs(compileGlobs(globs), (table) => this.#object.constantBytes(`glob_${table}`));
		const [only = 0n, ...others] = this.#cgroupIds;
		if (others.length === 0)
			this.#object.constantBytes('filter_only_cgroup').setBigUint64(0, only, true);
		const mask = this.#object.constantBytes('filter_cpus');
		for (const cpu of cpus) {
			const at = Math.floor(cpu / 8);
			mask.setUint8(at, mask.getUint8(at) | (1 << (cpu % 8)));
		}
		return [
			...(byTgid || byTid ? ['filter_exit'] : []),
			...(follow ? ['filter_fork'] : []),
			...(this.#command === undefined ? [] : ['filter_exec']),
		];
	}

	/** After loading, before attaching: fills the sets. */
	fill(): void {
		const { pids, tids, comms } = this.#filter;
		for (const pid of pids) this.#set('filter_tgids').update(u32Key(pid), YES);
		for (const tid of tids) this.#set('filter_tids').update(u32Key(tid), YES);
		for (const comm of comms.filter((each) => !isGlob(each)))
			this.#set('filter_comms').update(commKey(comm), YES);
		for (const id of this.#cgroupIds) {
			const key = new Uint8Array(8);
			new DataView(key.buffer).setBigUint64(0, id, true);
			this.#set('filter_cgroups').update(key, YES);
		}
	}

	/** After attaching: takes out threads that ended before the programs could see it. */
	dropEnded(): void {
		for (const pid of this.#filter.pids) {
			if (!processLives(pid)) this.#set('filter_tgids').delete(u32Key(pid));
		}
		for (const tid of this.#filter.tids) {
			if (!threadLives(tid)) this.#set('filter_tids').delete(u32Key(tid));
		}
	}

	/** Names and patterns that no thread came by with. */
	unseen(): string[] {
		const { comms } = this.#filter;
		const globs = comms.filter(isGlob);
		if (comms.length === 0) return [];
		const seen = this.#object.variableBytes('filter_globs_seen').getBigUint64(0, true);
		const { ends } = compileGlobs(globs);
		const names = this.#seenNames();
		return comms.filter((comm) => {
			if (isGlob(comm)) return (seen & (ends[globs.indexOf(comm)] ?? 0n)) === 0n;
			return !names.has(comm);
		});
	}

	/** The names that threads came by with. */
	#seenNames(): Set<string> {
		const seen = new Set<string>();
		this.#set('filter_comms').readAll((keys, values, count) => {
			for (let i = 0; i < count; i++)
				if (values.getUint8(i) === FILTER_SEEN) seen.add(readComm(keys, i * COMM_BYTES));
		});
		return seen;
	}

	/** Whether of the threads and processes chosen by number none is left. */
	allEnded(): boolean {
		const { pids, tids } = this.#filter;
		return (
			(pids.length > 0 && this.#set('filter_tgids').isEmpty()) ||
			(tids.length > 0 && this.#set('filter_tids').isEmpty())
		);
	}

	#set(name: string): BpfMap {
		return this.#object.map(name);
	}
}

/** Whether threads or processes are chosen by number, so that there may come a time when none is left. */
export function byNumber({ pids, tids }: Filter): boolean {
	return pids.length + tids.length > 0;
}

/** Throws TstraceError where a process or a thread that a filter names is not there. */
export function requireSubjects({ pids, tids }: Filter): void {
	for (const pid of pids) requireProcess(pid);
	for (const tid of tids) requireThread(tid);
}

/** Whether of the threads and processes that a filter names by number none is left, seen from /proc. */
export function subjectsEnded({ pids, tids }: Filter): boolean {
	return (
		(pids.length > 0 && !pids.some(processLives)) || (tids.length > 0 && !tids.some(threadLives))
	);
}

/** Whether there is such a thread, though /proc does not show it: man 2 kill, man 5 proc. */
function isHidden(id: number): boolean {
	if (textOf(`/proc/${id}/stat`) !== undefined) return false;
	try {
		process.kill(id, 0);
		return true;
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === 'EPERM';
	}
}

function requireThread(id: number): void {
	// A thread's folder can be opened, though /proc does not list it.
	if (threadLives(id)) return;
	if (isHidden(id)) {
		throw new TstraceError(
			`process ${id} is hidden from you: /proc is mounted with hidepid; ` +
				'run tstrace as root, or in the group that /proc is mounted with (gid=)',
		);
	}
	throw new TstraceError(
		`there is no process or thread ${id}: it has ended, or is in another PID namespace`,
	);
}

/** Processes that were chosen by number, by that of a thread, or as COMMAND; none: all are. */
export function namedProcesses({ filter, command }: Subjects): number[] {
	const owners = filter.tids.flatMap((tid) => processOf(tid) ?? []);
	return [...new Set([...filter.pids, ...owners, ...(command ? [command] : [])])];
}

/** The process that a thread belongs to; undefined when the thread has ended. */
export function processOf(tid: number): number | undefined {
	const status = textOf(`/proc/${tid}/status`) ?? '';
	return Number(/^Tgid:\s*(\d+)$/m.exec(status)?.[1]) || undefined;
}

function requireProcess(pid: number): void {
	const tgid = processOf(pid);
	if (tgid && tgid !== pid) {
		throw new TstraceError(
			`${pid} is a thread of process ${tgid}: give -t ${pid} for this thread, or -p ${tgid} for the process`,
		);
	}
	if (!processLives(pid)) requireThread(pid);
}

function commKey(comm: string): Uint8Array {
	const key = new Uint8Array(COMM_BYTES);
	key.set(Buffer.from(comm).subarray(0, COMM_BYTES - 1));
	return key;
}

/** What the machine did besides the threads that are traced: who had its CPUs and disks. Pure values: no I/O, no kernel. */

import type { CpuTime } from '../../proc/cpu-time.js';
import { identityOf, type ThreadAccount } from './thread-accounts.js';

/** Bytes from and to disks, as in /proc/PID/io. */
export interface DiskBytes {
	readonly read_bytes: number;
	readonly written_bytes: number;
}

/** Processes of one name. */
export interface OtherProcesses extends DiskBytes {
	/** Of the one that ran longest; 0: it is outside our PID namespace. */
	readonly pid: number;
	/** Of the one that read and wrote most; 0 as above. */
	readonly disk_pid: number;
	readonly comm: string;
	readonly processes: number;
	readonly run_ns: number;
}

export interface Machine {
	/** Online. */
	readonly cpus: number;
	/** What tstrace itself ran; it is none of the others. */
	readonly tracer_ns: number;
	/** CPU time of processes that are not traced, and ended within the window: nobody knows their names. */
	readonly ended_ns: number;
	/** The hypervisor ran something else meanwhile. */
	readonly stolen_ns: number;
	/** Of the processes that are traced. */
	readonly own: DiskBytes;
	/** Of those that are not, the ones that ran longest first. */
	readonly others: readonly OtherProcesses[];
}

export interface MachineEvidence {
	readonly cpus: number;
	/** The number of tstrace's own process. */
	readonly tracer: number;
	/** Threads, traced or not, that were there as the window began and ended. */
	readonly begin: readonly ThreadAccount[];
	readonly end: readonly ThreadAccount[];
	/** Threads that were traced and ended. */
	readonly ended: readonly ThreadAccount[];
	/** In the window. */
	readonly time: Pick<CpuTime, 'busy_ns' | 'stolen_ns'>;
	/** CPU time of the threads that are traced, those that ended among them. */
	readonly own_ns: number;
}

/** By process: its threads come and go, and its first one has what the ended ones had. */
interface Use extends DiskBytes {
	readonly pid: number;
	readonly comm: string;
	readonly traced: boolean;
	readonly run_ns: number;
}

export function machineOf(evidence: MachineEvidence): Machine {
	const { cpus, tracer, begin, end, ended, time, own_ns } = evidence;
	const before = new Map(begin.map((account) => [identityOf(account), account]));
	const uses = byProcess(end, before);
	const there = new Set(uses.keys());
	const gone = byProcess(
		ended.filter((account) => !there.has(processOf(account))),
		before,
	);
	const own = [...uses.values(), ...gone.values()].filter(({ traced }) => traced);
	const others = named([...uses.values()].filter(({ traced, pid }) => !traced && pid !== tracer));
	const tracer_ns = uses.get(`${tracer}`)?.run_ns ?? 0;
	const known_ns = others.reduce((sum, { run_ns }) => sum + run_ns, own_ns + tracer_ns);
	return {
		cpus,
		tracer_ns,
		ended_ns: Math.max(0, time.busy_ns - known_ns),
		stolen_ns: time.stolen_ns,
		own: {
			read_bytes: own.reduce((sum, { read_bytes }) => sum + read_bytes, 0),
			written_bytes: own.reduce((sum, { written_bytes }) => sum + written_bytes, 0),
		},
		others,
	};
}

/** Those outside our PID namespace have no number here: they are told apart by name. */
const processOf = ({ pid, comm }: ThreadAccount) => (pid > 0 ? `${pid}` : `0 ${comm}`);

function byProcess(
	accounts: readonly ThreadAccount[],
	before: ReadonlyMap<string, ThreadAccount>,
): Map<string, Use> {
	const uses = new Map<string, Use>();
	for (const account of accounts) {
		const { pid, tid, comm, traced } = account;
		const was = before.get(identityOf(account));
		const id = processOf(account);
		const sum = uses.get(id) ?? {
			...{ pid, comm, traced: false, run_ns: 0, read_bytes: 0, written_bytes: 0 },
		};
		const since = (field: 'run_ns' | 'read_bytes' | 'written_bytes') =>
			sum[field] + Math.max(0, account[field] - (was?.[field] ?? 0));
		uses.set(id, {
			pid,
			// A process has its first thread's name.
			comm: tid === pid ? comm : sum.comm,
			traced: sum.traced || traced,
			run_ns: since('run_ns'),
			read_bytes: since('read_bytes'),
			written_bytes: since('written_bytes'),
		});
	}
	return uses;
}

/** Added up by name, the ones that ran longest first; those that did nothing are left out. */
function named(uses: readonly Use[]): OtherProcesses[] {
	const bytes = ({ read_bytes, written_bytes }: DiskBytes) => read_bytes + written_bytes;
	const names = new Map<string, Use[]>();
	for (const use of uses.filter((each) => each.run_ns + bytes(each) > 0))
		names.set(use.comm, [...(names.get(use.comm) ?? []), use]);
	const added = [...names].map(([comm, all]): OtherProcesses => {
		const sum = (of: (use: Use) => number) => all.reduce((total, use) => total + of(use), 0);
		const most = (of: (use: Use) => number) => all.reduce((a, b) => (of(b) > of(a) ? b : a)).pid;
		return {
			pid: most(({ run_ns }) => run_ns),
			disk_pid: most(bytes),
			...{ comm, processes: all.length, run_ns: sum(({ run_ns }) => run_ns) },
			read_bytes: sum(({ read_bytes }) => read_bytes),
			written_bytes: sum(({ written_bytes }) => written_bytes),
		};
	});
	return added.sort((a, b) => b.run_ns - a.run_ns);
}

/** Who else had the CPUs, or used the disks, while threads waited for these: in words. Pure values: no I/O, no kernel. */
import { named } from '../../render/terminal.js';
import { humanBytes } from '../../render/units.js';
import type { Answer } from './answer.js';
import type { DiskBytes, OtherProcesses } from './machine.js';
import type { Reason } from './reasons.js';

/** Of one CPU: who had less takes nothing from anybody. */
const LEAST_CPU = 0.1;
/** More names do not fit a sentence. */
const MOST_USERS = 2;
/** Of disks: less is nothing. */
const LEAST_BYTES = 1 << 20;

/** A user of CPUs that is not the one that lacks them. */
type CpuUser = Pick<OtherProcesses, 'pid' | 'comm' | 'processes' | 'run_ns'>;

/** "Of 2 CPUs, it had 0.4, and stress (311) 1.5.": of threads that lack a CPU. */
export function cpuUsersText(reason: Reason, answer: Answer): string {
	const { machine, window_ns } = answer;
	const { own_ns, processes, users } = cpuUsersOf(reason, answer);
	const cpus = (ns: number) => {
		const count = ns / window_ns;
		return count < LEAST_CPU ? 'less than 0.1' : count.toFixed(1);
	};
	const shares = [`${processes === 1 ? 'it' : 'they'} had ${cpus(own_ns)}`];
	for (const user of users) shares.push(`${nameOf(user)} ${cpus(user.run_ns)}`);
	if (machine.ended_ns >= Math.max(users[0]?.run_ns ?? 0, LEAST_CPU * window_ns))
		shares.push(`others, which have ended, ${cpus(machine.ended_ns)}`);
	if (machine.stolen_ns >= LEAST_CPU * window_ns)
		shares.push(`the hypervisor ${cpus(machine.stolen_ns)}`);
	const last = shares.pop();
	const list = shares.length > 0 ? `${shares.join(', ')}, and ${last}` : last;
	return `Of ${machine.cpus === 1 ? '1 CPU' : `${machine.cpus} CPUs`}, ${list}.`;
}

/** The one process that had more CPU time than those that lack a CPU; undefined: there is none. */
export function cpuTaker(reason: Reason, answer: Answer): { readonly pid: number } | undefined {
	const {
		own_ns,
		users: [user],
	} = cpuUsersOf(reason, answer);
	return user && user.run_ns > own_ns && user.processes === 1 && user.pid > 0 ? user : undefined;
}

interface CpuUsers {
	/** Of the processes that lack a CPU. */
	readonly own_ns: number;
	readonly processes: number;
	/** Who had most of what these did not have; the largest first. */
	readonly users: readonly CpuUser[];
}

function cpuUsersOf({ threads: sufferers }: Reason, answer: Answer): CpuUsers {
	const lacking = new Set(sufferers.map(({ pid }) => pid));
	const own = answer.threads.filter(({ pid }) => lacking.has(pid));
	const traced = answer.threads.filter(({ pid }) => !lacking.has(pid));
	const users = [...answer.machine.others, ...byName(traced)];
	return {
		own_ns: own.reduce((sum, { run_ns }) => sum + run_ns, 0),
		processes: lacking.size,
		users: users
			.filter(({ run_ns }) => run_ns >= LEAST_CPU * answer.window_ns)
			.sort((a, b) => b.run_ns - a.run_ns)
			.slice(0, MOST_USERS),
	};
}

/** Traced threads by the names of their processes. */
function byName(threads: Answer['threads']): CpuUser[] {
	const leaders = new Map(
		threads.flatMap(({ pid, tid, comm }) => (pid === tid ? [[pid, comm]] : [])),
	);
	const users = new Map<string, CpuUser & { readonly pids: ReadonlySet<number> }>();
	for (const { pid, comm, run_ns } of threads) {
		const name = leaders.get(pid) ?? comm;
		const known = users.get(name) ?? { pid, comm: name, processes: 0, run_ns: 0, pids: new Set() };
		const pids = new Set([...known.pids, pid]);
		users.set(name, { ...known, pids, processes: pids.size, run_ns: known.run_ns + run_ns });
	}
	return [...users.values()];
}

/** "Meanwhile dd (311) read 1.20 GiB.": of waits for a disk; '': nobody else used it more than the target. */
export function diskUsersText({ machine }: Answer): string {
	const bytesOf = ({ read_bytes, written_bytes }: DiskBytes) => read_bytes + written_bytes;
	const [user] = [...machine.others].sort((a, b) => bytesOf(b) - bytesOf(a));
	if (!user || bytesOf(user) < LEAST_BYTES || bytesOf(user) <= bytesOf(machine.own)) return '';
	const { read_bytes, written_bytes, disk_pid: pid } = user;
	const did = [
		...(read_bytes > 0 ? [`read ${humanBytes(read_bytes)}`] : []),
		...(written_bytes > 0 ? [`wrote ${humanBytes(written_bytes)}`] : []),
	];
	return `Meanwhile ${nameOf({ ...user, pid })} ${did.join(' and ')}.`;
}

/** "cc1 (311) and 7 more". */
function nameOf({ comm, pid, processes }: CpuUser): string {
	const number = pid > 0 ? ` (${pid})` : '';
	return `${named(comm)}${number}${processes > 1 ? ` and ${processes - 1} more` : ''}`;
}

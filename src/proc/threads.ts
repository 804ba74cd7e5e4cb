/** Processes and threads that there are now, and their names. Source: man 5 proc_pid_comm, proc_pid_task. */
import { readdirSync } from 'node:fs';
import { textOf } from '../text-of.js';

/** TASK_COMM_LEN, without the 0 at its end. */
export const MAX_COMM_BYTES = 15;

export interface There {
	readonly id: number;
	/** As /proc shows it. */
	readonly comm: string;
}

/** The numbers of all processes. */
export function processIds(): number[] {
	return numbersIn('/proc');
}

/** The numbers of a process's threads; none when it has ended. */
export function threadIds(pid: number): number[] {
	return numbersIn(`/proc/${pid}/task`);
}

/** The threads there are now: those chosen, and all of each process chosen that is there. */
export function threadsOf({
	pids = [],
	tids = [],
}: {
	readonly pids?: readonly number[];
	readonly tids?: readonly number[];
}): number[] {
	return [...new Set([...tids, ...pids.flatMap(threadIds)])];
}

/** The name of a process's first thread; undefined: there is no such process. */
export function commOf(pid: number): string | undefined {
	return textOf(`/proc/${pid}/comm`)?.trimEnd();
}

export function* processesThere(): Generator<There> {
	for (const pid of processIds()) yield* named(pid, `/proc/${pid}/comm`);
}

/** Of all processes or of some. */
export function* threadsThere(pids: Iterable<number> = processIds()): Generator<There> {
	for (const pid of pids) {
		for (const tid of threadIds(pid)) yield* named(tid, `/proc/${pid}/task/${tid}/comm`);
	}
}

/** Thread names as the kernel keeps them and as filters compare them. */
export function commsOf(threads: Iterable<There>): Set<string> {
	const comms = new Set<string>();
	for (const { comm } of threads) comms.add(keptComm(comm));
	return comms;
}

/** Of kernel threads /proc shows longer names than they have; of workers, behind + or -, what they work for. */
export function keptComm(shown: string): string {
	const [worker = shown] = /^kworker\/(R-)?[^+-]+/.exec(shown) ?? [];
	const bytes = Buffer.from(worker);
	return bytes.length <= MAX_COMM_BYTES ? worker : bytes.toString('utf8', 0, MAX_COMM_BYTES);
}

function* named(id: number, path: string): Generator<There> {
	const comm = textOf(path)?.replace(/\n$/, '');
	if (comm !== undefined) yield { id, comm };
}

function numbersIn(folder: string): number[] {
	try {
		const names = readdirSync(folder).filter((name) => /^\d+$/.test(name));
		return names.map(Number).sort((a, b) => a - b);
	} catch {
		return [];
	}
}

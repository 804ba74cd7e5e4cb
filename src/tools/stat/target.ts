/** Whom stat counts, from what the common options choose; and what it has to refuse. */
import { closeSync } from 'node:fs';
import { byNumber, type Filter, requireSubjects, type Subjects } from '../../bpf/filter.js';
import { UsageError } from '../../errors.js';
import type { Counted } from '../../perf/counters.js';
import type { CountedEvent } from '../../perf/event-list.js';
import { threadsOf } from '../../proc/threads.js';
import { openCgroup } from './cgroup.js';

export interface OpenTarget {
	readonly counted: Counted;
	/** Everything on all CPUs, whoever runs. */
	readonly wholeMachine: boolean;
	/** COMMAND's process. */
	readonly command?: number;
	/** "process 812". */
	readonly words: string;
	/** Twice is once. */
	close(): void;
}

/** Throws UsageError for filters that counters do not have. */
export function refuseFilters(filter: Filter): void {
	const { pids, tids, comms, cgroups, userThreads, kernelThreads } = filter;
	if (comms.length > 0)
		throw new UsageError(
			'leave out --comm: the kernel counts by process, thread, cgroup or CPU, not by name; ' +
				'pgrep NAME finds numbers for -p',
		);
	if (userThreads || kernelThreads)
		throw new UsageError(
			`leave out ${userThreads ? '--user-threads' : '--kernel-threads'}: the kernel counts by process, ` +
				'thread, cgroup or CPU; what runs in user space or in the kernel is -e cycles:u or -e cycles:k',
		);
	const number = pids.length > 0 ? '--pid' : tids.length > 0 ? '--tid' : undefined;
	if (cgroups.length > 0 && number)
		throw new UsageError(
			`give either ${number} or a cgroup (--cgroup, --container): the kernel counts for processes or for a cgroup`,
		);
	if (pids.length > 0 && tids.length > 0)
		throw new UsageError(
			'give either --pid or --tid: of a process, what it creates is counted, too; of a thread, it is not',
		);
	if (cgroups.length > 1)
		throw new UsageError(
			'give one --cgroup or --container: stat counts one cgroup at a time; run it once for each',
		);
}

/** Throws UsageError for events of PMUs that the chosen processes or CPUs cannot have. */
export function refusePmus(
	events: readonly CountedEvent[],
	filter: Filter,
	hasCommand: boolean,
): void {
	const { cpus, cgroups } = filter;
	for (const { text, onCpus, shared } of events) {
		if (shared && (cgroups.length > 0 || !isOfCpus(filter, hasCommand)))
			throw new UsageError(
				`-e ${text}: CPUs share what this counts, so it counts for the whole machine only: count with -a`,
			);
		if (onCpus && cpus.length > 0 && !cpus.some((cpu) => onCpus.includes(cpu)))
			throw new UsageError(
				`-e ${text}: it can be counted on CPU ${onCpus.join(', ')} only: choose it with -C, or count with -a`,
			);
	}
}

/** Whether counters are opened on CPUs, and not on threads. */
export function isOfCpus(filter: Filter, hasCommand: boolean): boolean {
	return !hasCommand && !byNumber(filter);
}

/** `inherit`: count also what the chosen threads create. Throws TstraceError for what is not there. */
export function openTarget({ filter, command }: Subjects, inherit: boolean): OpenTarget {
	const { pids, tids, cpus, cgroups, follow } = filter;
	const close = () => undefined;
	if (command !== undefined) {
		const threads = () => [command];
		const counted = { threads, inherit, fromExec: true, cpus };
		return { counted, wholeMachine: false, command, words: 'COMMAND', close };
	}
	if (byNumber(filter)) {
		requireSubjects(filter);
		const threads = () => threadsOf({ pids, tids });
		// -t is these threads only.
		const counted = { threads, inherit: inherit && (pids.length > 0 || follow), cpus };
		const words = [...pids.map((pid) => `process ${pid}`), ...tids.map((tid) => `thread ${tid}`)];
		return { counted, wholeMachine: false, words: words.join(', '), close };
	}
	const [path] = cgroups;
	if (path === undefined) {
		const words = cpus.length > 0 ? `CPU ${cpus.join(', ')}` : 'the machine';
		return { counted: { cpus }, wholeMachine: cpus.length === 0, words, close };
	}
	let cgroup = openCgroup(path);
	return {
		counted: { cgroup, cpus },
		wholeMachine: false,
		words: `cgroup ${path}`,
		close() {
			if (cgroup >= 0) closeSync(cgroup);
			cgroup = -1;
		},
	};
}

/** What a run's result says of the run itself. */
import { arch, hostname, release } from 'node:os';
import type { Circumstances } from '../aggregate/report.js';
import type { Filter } from '../bpf/filter.js';

/** `command`: tstrace's own arguments, with COMMAND's; `more`: filters of the tool itself. */
export function circumstancesOf(
	filter: Filter,
	command: readonly string[],
	more: Circumstances['filters'] = {},
): Circumstances {
	const { pids, tids, comms, cgroups, cpus } = filter;
	const lists = Object.entries({ pids, tids, comms, cgroups, cpus });
	return {
		command: ['tstrace', ...command],
		host: hostname(),
		kernel: release(),
		arch: arch(),
		filters: {
			...Object.fromEntries(lists.filter(([, list]) => list.length > 0)),
			...(filter.userThreads ? { user_threads: true } : {}),
			...(filter.kernelThreads ? { kernel_threads: true } : {}),
			...(filter.follow ? { follow: true } : {}),
			...more,
		},
	};
}

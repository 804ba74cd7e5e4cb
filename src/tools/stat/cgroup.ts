/** A cgroup's folder, as perf_event_open takes it (PERF_FLAG_PID_CGROUP). */
import { constants, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { TstraceError } from '../../errors.js';
import { cgroupFolders, cgroupMount, perfEventMount } from '../../proc/cgroup.js';
import { mountsThere } from '../../proc/mounts.js';
import { textOf } from '../../text-of.js';

const { O_DIRECTORY, O_RDONLY } = constants;

/**
 * Opens the folder of a cgroup in the hierarchy whose cgroups perf events know: that of version 1 where the
 * controller perf_event is mounted in it, else version 2. Throws TstraceError.
 */
export function openCgroup(path: string): number {
	if (!/^perf_event\s/m.test(textOf('/proc/cgroups') ?? 'perf_event '))
		throw new TstraceError(
			'--cgroup: this kernel counts no events by cgroup (CONFIG_CGROUP_PERF); give -p with the numbers ' +
				'in its cgroup.procs',
		);
	const mount = perfEventMount(mountsThere()) ?? cgroupMount();
	if (mount === undefined)
		throw new TstraceError(
			'--cgroup: no cgroups are mounted; mount -t cgroup2 cgroup2 /sys/fs/cgroup, or give -p',
		);
	const folder = cgroupFolders(path, mount).find(isCgroup);
	if (folder === undefined)
		throw new TstraceError(`${path} is not a cgroup: give a folder below ${mount}`);
	try {
		return openSync(folder, O_RDONLY | O_DIRECTORY);
	} catch (error) {
		const { code = '' } = error as NodeJS.ErrnoException;
		throw new TstraceError(`cannot open the cgroup ${path}: ${code}`, String(error));
	}
}

/** Any version's has this file. */
const isCgroup = (folder: string): boolean =>
	statSync(join(folder, 'cgroup.procs'), { throwIfNoEntry: false }) !== undefined;

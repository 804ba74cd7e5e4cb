/** A cgroup's folder, as perf_event_open takes it (PERF_FLAG_PID_CGROUP). */
import { constants, openSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { cgroupMount } from '../../bpf/cgroup.js';
import { TstraceError } from '../../errors.js';
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
	const mount = perfEventMount(readFileSync('/proc/self/mounts', 'utf8')) ?? cgroupMount();
	if (mount === undefined)
		throw new TstraceError(
			'--cgroup: no cgroups are mounted; mount -t cgroup2 cgroup2 /sys/fs/cgroup, or give -p',
		);
	const folder = [path, join(mount, path)].find((each) => isCgroup(each));
	if (folder === undefined)
		throw new TstraceError(`${path} is not a cgroup: give a folder below ${mount}`);
	try {
		return openSync(folder, O_RDONLY | O_DIRECTORY);
	} catch (error) {
		const { code = '' } = error as NodeJS.ErrnoException;
		throw new TstraceError(`cannot open the cgroup ${path}: ${code}`, String(error));
	}
}

/** Where the controller perf_event of version 1 is mounted, by the lines of /proc/self/mounts. */
export function perfEventMount(mounts: string): string | undefined {
	for (const line of mounts.split('\n')) {
		const [, folder, type, options = ''] = line.split(' ');
		if (type === 'cgroup' && options.split(',').includes('perf_event')) return folder;
	}
	return undefined;
}

/** Any version's has this file. */
const isCgroup = (folder: string): boolean =>
	statSync(join(folder, 'cgroup.procs'), { throwIfNoEntry: false }) !== undefined;

/** What `tstrace doctor` says of syscount: tracefs, which it needs on some kernels. */
import { release } from 'node:os';
import { perfHookMissing, rawCanBePreempted } from '../../bpf/calls/call-hooks.js';
import { type Check, ok, warn } from '../../doctor/check.js';
import { MOUNT_TRACEFS } from '../../perf/tracepoint.js';
import { type Mount, mountsThere } from '../../proc/mounts.js';
import { textOf } from '../../text-of.js';

export const doctor = {
	machine: (): Check[] => [
		judgeTracefs(
			mountsThere(),
			textOf('/proc/filesystems') ?? '',
			rawCanBePreempted(release()) ? { missing: perfHookMissing() } : undefined,
		),
	],
};

/** `use`: what syscount lacks to use it, where it does; see call-hooks.ts. */
export function judgeTracefs(
	mounts: readonly Mount[],
	filesystems: string,
	use: { readonly missing: string | undefined } | undefined,
): Check {
	if (use?.missing !== undefined) {
		const costs = 'syscount may miss calls, and counts how many (programs_missed)';
		return warn('tracefs', use.missing, costs, MOUNT_TRACEFS);
	}
	const mount = mounts.find(({ type }) => type === 'tracefs');
	const by = use ? 'syscount uses it' : 'no tool here needs it';
	if (mount !== undefined) return ok('tracefs', `${mount.folder}; ${by}`);
	const costs =
		'nothing: tstrace attaches its programs through BTF; perf and bpftrace need tracefs';
	return filesystems.includes('\ttracefs\n')
		? warn('tracefs', 'not mounted', costs, MOUNT_TRACEFS)
		: warn('tracefs', 'the kernel has none', costs, 'a kernel with CONFIG_FTRACE=y');
}

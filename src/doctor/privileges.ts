/** What this process may do: capabilities, lockdown, limits, namespaces. */

import {
	type Capability,
	lackingForBpf,
	ownCapabilities,
	ownPidNamespace,
} from '../loader/kernel.js';
import { type Limit, openFilesLimit } from '../proc/limits.js';
import { type Mount, mountsThere } from '../proc/mounts.js';
import { textOf } from '../text-of.js';
import { attempt, type Check, missing, ok, warn } from './check.js';

/** A perf event takes one for each thread on each CPU, where BPF is not allowed. */
const ENOUGH_FILES = 1024;

/** What each of these is good for, where the other ones are there. */
const COSTS: ReadonlyArray<readonly [Capability, string]> = [
	['CAP_SYSLOG', 'kernel functions may have no names'],
	[
		'CAP_SYS_PTRACE',
		"functions of other users' processes have no names, and tstrace cannot probe these processes",
	],
];

export function privileges(): Check[] {
	const isRoot = process.geteuid?.() === 0;
	return [
		attempt('capabilities', () => judgeCapabilities(ownCapabilities(), isRoot)),
		judgeLockdown(textOf('/sys/kernel/security/lockdown')),
		judgeUnprivilegedBpf(textOf('/proc/sys/kernel/unprivileged_bpf_disabled')),
	];
}

export function surroundings(): Check[] {
	return [
		attempt('open files', () => judgeOpenFiles(openFilesLimit())),
		attempt('PID namespace', () => judgePidNamespace(ownPidNamespace())),
		attempt('cgroup v2', () => judgeCgroups(mountsThere())),
	];
}

export function judgeCapabilities(has: ReadonlySet<Capability>, isRoot: boolean): Check {
	const name = 'capabilities';
	const needed = lackingForBpf(has);
	const useful = COSTS.filter(([capability]) => !has.has(capability));
	const lacking = [...needed, ...useful.map(([capability]) => capability)];
	const fix = isRoot
		? `docker run ${lacking.map((each) => `--cap-add ${each.slice(4)}`).join(' ')} …, or the same option where you start this container`
		: 'sudo tstrace doctor';
	const found = `this process has no ${lacking.join(', ')}`;
	if (needed.length > 0) {
		const costs = 'the kernel loads no BPF programs; only tools that need none can run';
		return missing(name, found, costs, fix);
	}
	if (useful.length > 0) {
		return warn(name, found, useful.map(([, costs]) => costs).join('; '), fix);
	}
	return ok(
		name,
		has.has('CAP_SYS_ADMIN') ? 'all, including CAP_SYS_ADMIN' : 'all that tracing needs',
	);
}

/** The chosen one of several stands in brackets: security/lockdown/lockdown.c. */
export function judgeLockdown(text: string | undefined): Check {
	const name = 'lockdown';
	if (text === undefined) return ok(name, 'off, or the kernel does not show it');
	const level = /\[(\w+)\]/.exec(text)?.[1] ?? text.trim();
	if (level !== 'confidentiality') {
		return ok(
			name,
			level === 'integrity' ? 'integrity: BPF programs may still read the kernel' : level,
		);
	}
	return missing(
		name,
		level,
		'BPF programs may not read the kernel, and perf events may not sample it',
		'restart with lockdown=integrity on the kernel command line; only a restart lowers it',
	);
}

/** It is about programs that ordinary users load; tracing is not for these at any setting. */
export function judgeUnprivilegedBpf(text: string | undefined): Check {
	const value = text?.trim() ?? 'not there';
	return ok('unprivileged_bpf', `disabled: ${value}; tracing needs CAP_BPF anyway`);
}

export function judgeOpenFiles({ soft, hard }: Limit): Check {
	const found = Number.isFinite(soft) ? `up to ${soft}` : 'unlimited';
	if (soft >= ENOUGH_FILES) return ok('open files', found);
	return warn(
		'open files',
		found,
		'sampling without BPF needs one for each thread and CPU, so processes with many threads cannot be sampled',
		hard >= ENOUGH_FILES
			? `ulimit -n ${ENOUGH_FILES}`
			: `sudo prlimit --pid $$ --nofile=${ENOUGH_FILES}:${ENOUGH_FILES}`,
	);
}

export function judgePidNamespace(inode: number): Check {
	if (inode === 0) return ok('PID namespace', "the machine's own: tstrace sees all processes");
	return warn(
		'PID namespace',
		`a container's (${inode})`,
		'functions of processes outside have no names, and -p cannot choose these processes',
		'docker run --pid=host …, or the same option where you start this container',
	);
}

/** On a hybrid machine, controllers are in version 1, and so are some groups. */
export function judgeCgroups(mounts: readonly Mount[]): Check {
	const second = mounts.find(({ type }) => type === 'cgroup2');
	const hasFirst = mounts.some(
		({ type, options }) => type === 'cgroup' && !options.some((each) => each.startsWith('name=')),
	);
	if (second && hasFirst)
		return warn(
			'cgroup v2',
			`${second.folder}; hybrid: controllers are in cgroups of version 1`,
			'--cgroup and --by cgroup see no group that exists in version 1 only',
			'boot with systemd.unified_cgroup_hierarchy=1, or choose by -p and --container',
		);
	if (second) return ok('cgroup v2', second.folder);
	return warn(
		'cgroup v2',
		'not mounted',
		'--cgroup and --container do not work, and --by cgroup shows numbers instead of names',
		'mkdir -p /mnt/cgroup2 && mount -t cgroup2 none /mnt/cgroup2',
	);
}

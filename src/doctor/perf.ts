/** Perf events: opened for a moment; and the settings that bound them. */

import { MAX_DEPTH } from '../bpf/stacks/stacks.js';
import { ownCapabilities } from '../loader/kernel.js';
import { eventOf } from '../perf/names.js';
import { openPerfEvent, PerfOpenError, type Refusal } from '../perf/open.js';
import { textOf } from '../text-of.js';
import { attempt, type Check, missing, ok, warn } from './check.js';

/** Of kernels, where nobody changed it: kernel/events/core.c. */
const USUAL_MLOCK_KB = 516;

export function perfEvents(): Check[] {
	const setting = (name: string) => {
		const text = textOf(`/proc/sys/kernel/${name}`);
		return text === undefined ? undefined : Number(text);
	};
	return [
		attempt('perf events', () => judgeSoftware(tryEvent('cpu-clock', isPrivileged()))),
		attempt('hardware counters', () => judgeHardware(tryEvent('cycles', isPrivileged()))),
		attempt('perf_event_paranoid', () =>
			judgeParanoid(setting('perf_event_paranoid'), isPrivileged()),
		),
		judgeMaxStack(setting('perf_event_max_stack')),
		attempt('perf_event_mlock_kb', () =>
			judgeMlock(setting('perf_event_mlock_kb'), ownCapabilities().has('CAP_IPC_LOCK')),
		),
	];
}

function isPrivileged(): boolean {
	const has = ownCapabilities();
	return has.has('CAP_SYS_ADMIN') || has.has('CAP_PERFMON');
}

/** On this process, in user space only unless `privileged`. */
function tryEvent(name: string, privileged: boolean): Refusal | undefined {
	const flags = ['disabled', ...(privileged ? [] : (['exclude_kernel', 'exclude_hv'] as const))];
	try {
		const attributes = { ...eventOf(name), frequency_hz: 99, flags: flags as ['disabled'] };
		openPerfEvent(attributes, { pid: 0, cpu: -1 }).close();
		return undefined;
	} catch (error) {
		if (!(error instanceof PerfOpenError)) throw error;
		return { errno: error.errno, message: error.message };
	}
}

export function judgeSoftware(refusal: Refusal | undefined): Check {
	if (!refusal) return ok('perf events', 'cpu-clock can be opened');
	return missing(
		'perf events',
		refusal.errno === 'ENOSYS' ? 'the kernel has none' : refusal.message,
		'the CPU cannot be sampled; functions of processes that start during tracing have no names',
		refusal.errno === 'ENOSYS'
			? 'a kernel with CONFIG_PERF_EVENTS=y'
			: 'sudo tstrace …; in a container, a seccomp profile that allows perf_event_open',
	);
}

export function judgeHardware(refusal: Refusal | undefined): Check {
	if (!refusal) return ok('hardware counters', 'cycles can be opened');
	const absent = ['ENOENT', 'EOPNOTSUPP', 'ENXIO', 'ENODEV'].includes(refusal.errno);
	return warn(
		'hardware counters',
		absent ? `none (${refusal.errno}), as in most virtual machines` : refusal.message,
		'tstrace samples with a timer (cpu-clock), which cannot see code that runs with interrupts off',
		absent
			? 'bare metal, or a virtual machine with a PMU (qemu -cpu host,pmu=on)'
			: 'end the program that uses the counters, or sudo tstrace …',
	);
}

/** Documentation/admin-guide/sysctl/kernel.rst; 3 and more is Debian's, Ubuntu's and Android's. */
export function judgeParanoid(value: number | undefined, privileged: boolean): Check {
	const name = 'perf_event_paranoid';
	if (value === undefined) return ok(name, 'not there');
	if (privileged) return ok(name, `${value}, which CAP_PERFMON overrules`);
	if (value <= 1) return ok(name, String(value));
	const fix = `sudo sysctl kernel.perf_event_paranoid=1`;
	return value > 2
		? missing(name, String(value), 'ordinary users cannot sample CPUs', fix)
		: warn(name, String(value), 'ordinary users get no kernel frames', fix);
}

export function judgeMaxStack(value: number | undefined): Check {
	const name = 'perf_event_max_stack';
	if (value === undefined) return ok(name, 'not there');
	if (value >= MAX_DEPTH) return ok(name, `${value} frames`);
	return warn(
		name,
		`${value} frames`,
		`deeper stacks are cut; ${MAX_DEPTH} is the usual limit`,
		`sudo sysctl kernel.perf_event_max_stack=${MAX_DEPTH}`,
	);
}

export function judgeMlock(value_kb: number | undefined, unlimited: boolean): Check {
	const name = 'perf_event_mlock_kb';
	if (value_kb === undefined) return ok(name, 'not there');
	if (unlimited) return ok(name, `${value_kb}, which CAP_IPC_LOCK overrules`);
	if (value_kb >= USUAL_MLOCK_KB) return ok(name, String(value_kb));
	return warn(
		name,
		String(value_kb),
		'event buffers are small: samples may be lost',
		`sudo sysctl kernel.perf_event_mlock_kb=${USUAL_MLOCK_KB}`,
	);
}

/** What each check makes of what was found, by invented findings. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Check, State } from '../../../src/doctor/check.js';
import {
	judgeBtf,
	judgeRelease,
	judgeRingBuffer,
	judgeSchedInfo,
	judgeStatistics,
	judgeTaskStorage,
	judgeTracepoints,
} from '../../../src/doctor/kernel.js';
import { judgeKernelSymbols, judgeLibbpf } from '../../../src/doctor/libraries.js';
import {
	judgeHardware,
	judgeMaxStack,
	judgeMlock,
	judgeParanoid,
	judgeSoftware,
} from '../../../src/doctor/perf.js';
import {
	judgeCapabilities,
	judgeCgroups,
	judgeLockdown,
	judgeOpenFiles,
	judgePidNamespace,
	judgeUnprivilegedBpf,
} from '../../../src/doctor/privileges.js';
import {
	judgeFrames,
	judgeProgram,
	judgeSymbols,
	judgeTables,
	type Part,
} from '../../../src/doctor/process.js';
import { judgeRuntime } from '../../../src/doctor/runtimes.js';
import { openFilesLimit } from '../../../src/proc/limits.js';
import { mountsThere } from '../../../src/proc/mounts.js';
import { judgeAllocator, judgeUprobes } from '../../../src/tools/memleak/doctor.js';
import { judgeHook } from '../../../src/tools/offcputime/doctor.js';
import { judgeTracefs } from '../../../src/tools/syscount/doctor.js';
import { LAYOUT as PYTHON } from '../runtimes/python/memory.js';
import { LAYOUT } from '../runtimes/v8/memory.js';

/** Its state; and, unless all is well, what its remedy says, and that its cost is said. */
function check(found: Check, state: State, fix?: RegExp): void {
	assert.equal(found.state, state, JSON.stringify(found));
	assert.equal(found.fix === undefined, state === 'ok', JSON.stringify(found));
	assert.equal(found.costs === undefined, state === 'ok', JSON.stringify(found));
	if (fix) assert.match(found.fix ?? '', fix);
}

test('lockdown: only confidentiality keeps BPF from reading', () => {
	check(judgeLockdown(undefined), 'ok');
	check(judgeLockdown('[none] integrity confidentiality\n'), 'ok');
	check(judgeLockdown('none [integrity] confidentiality\n'), 'ok');
	check(judgeLockdown('none integrity [confidentiality]\n'), 'missing', /lockdown=integrity/);
});

test('capabilities: CAP_SYS_ADMIN stands for two; the fix is for those that lack', () => {
	const all = ['CAP_BPF', 'CAP_PERFMON', 'CAP_SYSLOG', 'CAP_SYS_PTRACE'] as const;
	check(judgeCapabilities(new Set(all), false), 'ok');
	check(judgeCapabilities(new Set(['CAP_SYS_ADMIN', 'CAP_SYSLOG', 'CAP_SYS_PTRACE']), true), 'ok');
	check(judgeCapabilities(new Set(), false), 'missing', /^sudo tstrace doctor$/);
	const docker = /^docker run --cap-add PERFMON …/;
	check(
		judgeCapabilities(new Set(all.filter((x) => x !== 'CAP_PERFMON')), true),
		'missing',
		docker,
	);
	const noSyslog = judgeCapabilities(new Set(all.filter((x) => x !== 'CAP_SYSLOG')), true);
	check(noSyslog, 'warn', /--cap-add SYSLOG …/);
	assert.match(noSyslog.costs ?? '', /^kernel functions may have no names$/);
});

test('unprivileged_bpf_disabled changes nothing', () => {
	for (const value of ['0\n', '1\n', '2\n', undefined]) check(judgeUnprivilegedBpf(value), 'ok');
	assert.match(judgeUnprivilegedBpf('2\n').found, /disabled: 2;/);
});

test('perf_event_paranoid: no matter to the privileged; else 1 or less is well', () => {
	for (const value of [-1, 0, 1]) check(judgeParanoid(value, false), 'ok');
	check(judgeParanoid(2, false), 'warn', /^sudo sysctl kernel.perf_event_paranoid=1$/);
	check(judgeParanoid(3, false), 'missing', /^sudo sysctl kernel.perf_event_paranoid=1$/);
	check(judgeParanoid(4, false), 'missing');
	for (const value of [2, 3, 4]) check(judgeParanoid(value, true), 'ok');
	check(judgeParanoid(undefined, false), 'ok');
});

test('kernel symbols: by what could be read; the fix by what hides them', () => {
	const hidden = { readable: true, named: false, restrict: 0, syslog: false };
	check(judgeKernelSymbols({ ...hidden, named: true }), 'ok');
	check(judgeKernelSymbols({ ...hidden, named: true, restrict: 1, syslog: true }), 'ok');
	check(judgeKernelSymbols(hidden), 'warn', /CAP_SYSLOG/);
	const two = { ...hidden, restrict: 2, syslog: true };
	check(judgeKernelSymbols(two), 'warn', /^sudo sysctl kernel.kptr_restrict=1$/);
	check(judgeKernelSymbols({ ...two, syslog: false }), 'warn', /kptr_restrict=1, and .*CAP_SYSLOG/);
	check(judgeKernelSymbols({ ...hidden, readable: false }), 'warn', /CONFIG_KALLSYMS/);
});

test('depth of stacks and memory of rings', () => {
	check(judgeMaxStack(127), 'ok');
	check(judgeMaxStack(1024), 'ok');
	check(judgeMaxStack(126), 'warn', /^sudo sysctl kernel.perf_event_max_stack=127$/);
	check(judgeMlock(516, false), 'ok');
	check(judgeMlock(4, true), 'ok');
	check(judgeMlock(4, false), 'warn', /^sudo sysctl kernel.perf_event_mlock_kb=516$/);
});

test('perf events: an absent counter, a taken one, a forbidden call', () => {
	check(judgeHardware(undefined), 'ok');
	check(judgeHardware({ errno: 'ENOENT', message: '' }), 'warn', /pmu=on/);
	check(judgeHardware({ errno: 'EBUSY', message: 'taken' }), 'warn', /end the program that uses/);
	check(judgeSoftware(undefined), 'ok');
	check(judgeSoftware({ errno: 'ENOSYS', message: '' }), 'missing', /CONFIG_PERF_EVENTS/);
	check(judgeSoftware({ errno: 'EPERM', message: 'no' }), 'missing', /seccomp/);
});

test('the kernel: version, BTF, tracepoints', () => {
	for (const newer of ['6.18.0-x', '5.15.0', '6.0.0', '6.9.3-arch1', '7.0.1', '10.2'])
		check(judgeRelease(newer, 'x64'), 'ok');
	check(judgeRelease('5.10.1', 'arm64'), 'ok');
	check(judgeRelease('5.9.9', 'x64'), 'warn', /5\.10/);
	check(judgeRelease('4.19', 'x64'), 'warn');
	check(judgeBtf(5_500_000), 'ok');
	check(judgeBtf(undefined), 'missing', /CONFIG_DEBUG_INFO_BTF=y/);
	check(judgeTracepoints([]), 'ok');
	check(judgeTracepoints(['sys_enter']), 'missing', /CONFIG_FTRACE_SYSCALLS/);
	check(judgeTracepoints(['sched_switch', 'sys_exit']), 'missing', /CONFIG_TRACEPOINTS/);
});

test('tracefs: mounted, mountable, not there', () => {
	const mount = 'tracefs /sys/kernel/tracing tracefs rw 0 0\n';
	check(judgeTracefs(mountsThere(mount), 'nodev\ttracefs\n', undefined), 'ok');
	check(judgeTracefs(mountsThere(mount), '', { missing: undefined }), 'ok');
	check(
		judgeTracefs(mountsThere(mount), '', { missing: 'may not be read' }),
		'warn',
		/^mount -t tracefs/,
	);
	check(
		judgeTracefs(mountsThere('proc /proc proc rw 0 0\n'), 'nodev\ttracefs\n', undefined),
		'warn',
		/^mount -t tracefs tracefs \/sys\/kernel\/tracing$/,
	);
	check(judgeTracefs([], 'nodev\tproc\n', undefined), 'warn', /CONFIG_FTRACE/);
	// A line that only ends like its name is another file system's.
	check(judgeTracefs([], 'nodev\tnotracefs\n', undefined), 'warn', /CONFIG_FTRACE/);
	assert.match(judgeTracefs(mountsThere(mount), '', undefined).found, /no tool here needs it$/);
	const used = judgeTracefs(mountsThere(mount), '', { missing: undefined });
	assert.match(used.found, /syscount uses it$/);
});

test('ways of tools: the first is well, the others cost', () => {
	check(judgeSchedInfo(undefined), 'ok');
	check(judgeSchedInfo('no sched_info'), 'missing', /CONFIG_SCHEDSTATS/);
	check(judgeTaskStorage(undefined), 'ok');
	check(judgeTaskStorage('no task_struct.bpf_storage'), 'warn', /6\.4/);
	check(judgeRingBuffer(undefined), 'ok');
	check(judgeRingBuffer('it is PREEMPT_RT'), 'missing', /Linux 6\.12/);
	check(judgeHook('sched_exit', false), 'ok');
	check(judgeHook('kprobe', true), 'ok');
	check(judgeHook('switch', false), 'warn', /CONFIG_KPROBE_EVENTS/);
	check(judgeUprobes(true, true), 'ok');
	check(judgeUprobes(true, false), 'warn', /6\.13/);
	check(judgeUprobes(false, true), 'missing', /CONFIG_UPROBE_EVENTS/);
	const statistics = (errno: string | undefined) => judgeStatistics([], () => errno);
	check(statistics(undefined), 'ok');
	check(statistics('EPERM'), 'warn', /sudo/);
	check(statistics('EINVAL'), 'warn', /5\.8/);
	const untried = judgeStatistics([2, 3], () => assert.fail('they would interrupt these CPUs'));
	check(untried, 'warn', /--max-overhead/);
	assert.match(untried.found, /isolated \(2,3\)/);
});

test('libbpf: the command that installs it is the distribution’s', () => {
	check(judgeLibbpf({ version: 'v1.1', path: '/usr/lib/libbpf.so.1' }, []), 'ok');
	const none = { problem: 'libbpf is missing' };
	check(judgeLibbpf(none, ['debian']), 'missing', /^apt-get install libbpf1$/);
	check(judgeLibbpf(none, ['linuxmint', 'ubuntu']), 'missing', /^apt-get install libbpf1$/);
	check(judgeLibbpf(none, ['rocky', 'rhel']), 'missing', /^dnf install libbpf$/);
	check(judgeLibbpf(none, ['alpine']), 'missing', /^apk add libbpf$/);
	check(judgeLibbpf(none, []), 'missing', /1\.0 or newer/);
});

test('limits and namespaces', () => {
	const limits = (soft: string, hard: string) =>
		judgeOpenFiles(
			openFilesLimit(
				`Max cpu time  unlimited unlimited seconds\nMax open files  ${soft}  ${hard}  files\n`,
			),
		);
	check(limits('1024', '1024'), 'ok');
	check(limits('unlimited', 'unlimited'), 'ok');
	check(limits('256', '4096'), 'warn', /^ulimit -n 1024$/);
	check(limits('256', 'unlimited'), 'warn', /^ulimit -n 1024$/);
	for (const hard of ['256', '512', '1023']) check(limits('256', hard), 'warn', /^sudo prlimit/);
	check(limits('256', '1024'), 'warn', /^ulimit -n 1024$/);
	check(judgePidNamespace(0), 'ok');
	check(judgePidNamespace(4026532000), 'warn', /--pid=host/);
	const mount = (type: string, ...options: string[]) => ({
		folder: '/sys/fs/cgroup',
		type,
		options,
	});
	const second = mount('cgroup2', 'rw');
	check(judgeCgroups([mount('tmpfs'), second]), 'ok');
	check(judgeCgroups([]), 'warn', /mount -t cgroup2/);
	check(judgeCgroups([mount('cgroup', 'rw', 'cpu'), second]), 'warn', /unified_cgroup_hierarchy/);
	// systemd has one of its own, to find its services by.
	check(judgeCgroups([mount('cgroup', 'rw', 'name=systemd'), second]), 'ok');
	check(judgeCgroups([mount('cgroup', 'rw', 'cpu')]), 'warn', /mount -t cgroup2/);
});

const PART: Part = {
	path: '/usr/bin/server',
	is32: false,
	frames: { sampled: 100, withFrame: 98 },
	covered: 0,
	symbols: 'own',
	install: undefined,
};

test('a process: frame pointers', () => {
	check(judgeFrames(PART), 'ok');
	const without = { sampled: 100, withFrame: 4 };
	check(judgeFrames({ ...PART, frames: without }), 'warn', /-fno-omit-frame-pointer/);
	const libc = { ...PART, path: '/lib/libc.so.6', frames: without };
	check(judgeFrames(libc), 'warn', /Ubuntu 24\.04/);
	check(judgeFrames({ ...PART, frames: { sampled: 100, withFrame: 60 } }), 'warn');
	check(judgeFrames({ ...PART, frames: undefined }), 'warn');
	assert.match(judgeFrames(libc).found, /^libc\.so\.6: 4 % of 100/);
});

test('a process: code with unwind tables needs no frame pointers, but says who does', () => {
	const without = { sampled: 100, withFrame: 4 };
	const told = judgeFrames({ ...PART, frames: without, covered: 0.98 });
	check(told, 'ok');
	assert.match(
		told.found,
		/^server: 4 % of 100 functions keep them; only --unwind fp, .*need them$/,
	);
	check(judgeFrames({ ...PART, frames: undefined, covered: 1 }), 'ok');
	check(judgeFrames({ ...PART, frames: without, covered: 0.5 }), 'warn', /frame-pointer/);
	assert.equal(
		judgeFrames({ ...PART, covered: 1 }).found,
		'server: 98 % of 100 functions keep them',
	);
});

test('a process: unwind tables of each file', () => {
	const { path } = PART;
	assert.deepEqual(judgeTables({ path, covered: 0.97 }), {
		name: 'unwind tables',
		state: 'ok',
		found: 'server: has unwind tables',
	});
	const none = judgeTables({ path, covered: 0 });
	check(none, 'warn', /-fasynchronous-unwind-tables/);
	assert.equal(
		none.found,
		'server: has no unwind tables: its stacks are guessed by frame pointers',
	);
	assert.deepEqual(judgeTables({ path, covered: 0.02 }), none, "the compiler's own functions");
	const some = judgeTables({ path, covered: 0.3 });
	check(some, 'warn', /-fasynchronous-unwind-tables/);
	assert.match(some.found, /only 30 % of its code/);
	check(judgeTables({ path: '/lib/ld-musl-x86_64.so.1', covered: 0.01 }), 'warn', /glibc/);
	check(judgeTables({ path, covered: undefined }), 'warn', /sudo/);
});

test('a process: symbols, a perf map, an allocator, 32 bits', () => {
	for (const symbols of ['own', 'debug file', 'packed'] as const) {
		check(judgeSymbols({ ...PART, symbols }), 'ok');
	}
	const install = 'apt-get install server-dbgsym';
	check(judgeSymbols({ ...PART, symbols: 'none', install }), 'warn', /^apt-get install server/);
	check(judgeSymbols({ ...PART, symbols: 'none' }), 'warn', /not stripped/);
	check(judgeSymbols({ ...PART, symbols: 'unreadable' }), 'warn', /sudo/);
	const runtime = (...of: Parameters<typeof judgeRuntime>) =>
		judgeRuntime(...of)[0] ?? assert.fail();
	check(runtime('node', 7, true), 'ok');
	check(runtime('node', 7, false), 'warn', /--perf-basic-prof/);
	const v8 = { runtime: 'v8', version: '11.3.244', problem: undefined } as const;
	const range = { start: 0, end: 1 };
	const layout = {
		heap: LAYOUT,
		builtins: range,
		interpreter: range,
		resumes: [],
		wasm: undefined,
		loaded: [],
	};
	check(runtime('node', 7, false, { ...v8, layout }), 'ok');
	const other = { ...v8, layout: undefined, problem: 'version' } as const;
	check(runtime('node', 7, false, other), 'warn', /--perf-basic-prof/);
	const python = { runtime: 'python', version: '3.11.2', problem: undefined } as const;
	check(runtime('python before 3.12', 7, false, { ...python, layout: PYTHON }), 'ok');
	check(runtime('jvm', 7, false), 'warn', /jcmd 7 Compiler\.perfmap/);
	check(judgeAllocator(['libc.so.6'], undefined), 'ok');
	check(judgeAllocator([], 'none'), 'missing', /-O FILE/);
	check(judgeAllocator([], '32-bit', 'a 64-bit build'), 'missing', /64-bit/);
	check(judgeProgram(7, 'server', false), 'ok');
	check(judgeProgram(7, 'server', true), 'warn', /64-bit/);
});

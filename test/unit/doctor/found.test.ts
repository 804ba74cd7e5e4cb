/** What checks say they found, and what is lost: each finding by its own name, number and unit. */
import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import { test } from 'node:test';
import { attempt, type Check } from '../../../src/doctor/check.js';
import {
	judgeBtf,
	judgeRelease,
	judgeRingBuffer,
	judgeSchedInfo,
	judgeStatistics,
	judgeTaskStorage,
	judgeTracepoints,
} from '../../../src/doctor/kernel.js';
import { judgeKernelSymbols, judgeLibbpf, library } from '../../../src/doctor/libraries.js';
import {
	judgeHardware,
	judgeMaxStack,
	judgeMlock,
	judgeParanoid,
	judgeSoftware,
	perfEvents,
} from '../../../src/doctor/perf.js';
import {
	judgeCapabilities,
	judgeCgroups,
	judgeLockdown,
	judgeOpenFiles,
} from '../../../src/doctor/privileges.js';
import {
	judgeFrames,
	judgeSilent,
	judgeSymbols,
	judgeTables,
} from '../../../src/doctor/process.js';
import { judgeRuntime } from '../../../src/doctor/runtimes.js';
import { tracepoints } from '../../../src/generated/tracepoints.js';
import { libbpf } from '../../../src/loader/ffi.js';
import type { RuntimeFile } from '../../../src/runtimes/recognise.js';
import { replace, withFiles } from '../loader/replaced.js';
import { LAYOUT as PYTHON } from '../runtimes/python/memory.js';
import { LAYOUT } from '../runtimes/v8/memory.js';

const found = (check: Check): string => check.found;
const costs = (check: Check): string => check.costs ?? '';
const fix = (check: Check): string => check.fix ?? '';

test('the kernel: its version before the machine, BTF in megabytes, every tracepoint that lacks', () => {
	assert.match(found(judgeRelease('6.1.0-9', 'arm64')), /^Linux 6\.1\.0-9 arm64$/);
	assert.match(found(judgeBtf(5_540_000)), / 5\.5 MB$/);
	assert.match(found(judgeTracepoints(['sched_switch', 'sys_exit'])), /sched_switch.*sys_exit/);
	// Three are not on every kernel, and tools do without them.
	const all = Number(/\d+/.exec(found(judgeTracepoints([])))?.[0]);
	assert.equal(all, tracepoints.length - 3);
});

test('what was found is the reason that was given, and not what it costs', () => {
	const why = 'no such thing here';
	for (const check of [
		judgeSchedInfo(why),
		judgeTaskStorage(why),
		judgeRingBuffer(why),
		judgeStatistics([], () => why),
		judgeSoftware({ errno: 'EPERM', message: why }),
		judgeHardware({ errno: 'EBUSY', message: why }),
		judgeLibbpf({ problem: why }, []),
	])
		assert.equal(check.found, why, check.name);
	assert.doesNotMatch(found(judgeSoftware({ errno: 'ENOSYS', message: why })), /such thing/);
});

test('a counter that is not there is not said to be taken', () => {
	for (const errno of ['ENOENT', 'EOPNOTSUPP', 'ENXIO', 'ENODEV']) {
		const check = judgeHardware({ errno, message: 'text' });
		assert.ok(found(check).includes(errno), errno);
		assert.doesNotMatch(fix(check), /end the program/, errno);
	}
});

test('perf_event_paranoid: 2 hides the kernel, more forbids all; settings that are not there do no harm', () => {
	assert.match(costs(judgeParanoid(2, false)), /no kernel frames/);
	assert.match(costs(judgeParanoid(3, false)), /cannot sample/);
	assert.deepEqual(
		[judgeMaxStack(undefined).state, judgeMlock(undefined, false).state],
		['ok', 'ok'],
	);
	assert.match(found(judgeMlock(4, true)), /^4\b/);
});

test('privileges: all that lacks is named, and its cost only', () => {
	const none = judgeCapabilities(new Set(['CAP_BPF', 'CAP_SYSLOG']), true);
	assert.match(found(none), /no CAP_PERFMON, CAP_SYS_PTRACE$/);
	assert.match(fix(none), /--cap-add PERFMON --cap-add SYS_PTRACE /);
	const some = judgeCapabilities(new Set(['CAP_BPF', 'CAP_PERFMON', 'CAP_SYSLOG']), true);
	assert.match(costs(some), /probe/);
	assert.doesNotMatch(costs(some), /kernel functions/);
	const enough = ['CAP_BPF', 'CAP_PERFMON', 'CAP_SYSLOG', 'CAP_SYS_PTRACE'] as const;
	assert.doesNotMatch(found(judgeCapabilities(new Set(enough), true)), /CAP_SYS_ADMIN/);
	const admin = judgeCapabilities(new Set([...enough, 'CAP_SYS_ADMIN']), true);
	assert.match(found(admin), /CAP_SYS_ADMIN/);
});

test('lockdown: only integrity says that BPF may still read', () => {
	assert.equal(found(judgeLockdown('[none] integrity confidentiality\n')), 'none');
	assert.match(
		found(judgeLockdown('none [integrity] confidentiality\n')),
		/^integrity: .*may still/,
	);
	assert.equal(found(judgeLockdown('other\n')), 'other');
});

test('open files: the limit that holds, not the one it can be raised to', () => {
	assert.equal(found(judgeOpenFiles({ soft: 256, hard: 4096 })), 'up to 256');
	const unlimited = { soft: 1024, hard: Number.POSITIVE_INFINITY };
	assert.equal(found(judgeOpenFiles(unlimited)), 'up to 1024');
	const all = { soft: Number.POSITIVE_INFINITY, hard: Number.POSITIVE_INFINITY };
	assert.equal(found(judgeOpenFiles(all)), 'unlimited');
});

test('cgroups: the folder of version 2, whatever is mounted before it', () => {
	const mount = (type: string, folder: string) => ({ folder, type, options: ['rw'] });
	const second = mount('cgroup2', '/sys/fs/cgroup/unified');
	assert.equal(found(judgeCgroups([mount('tmpfs', '/run'), second])), second.folder);
	const hybrid = judgeCgroups([mount('cgroup', '/sys/fs/cgroup/cpu'), second]);
	assert.match(found(hybrid), /^\/sys\/fs\/cgroup\/unified; hybrid/);
});

test('kernel symbols: the setting, and the capability only where it lacks', () => {
	const hidden = { readable: true, named: false, restrict: 1, syslog: false };
	assert.match(found(judgeKernelSymbols(hidden)), /kptr_restrict 1, no CAP_SYSLOG/);
	// CAP_SYSLOG is enough there: the setting may stay.
	assert.doesNotMatch(fix(judgeKernelSymbols(hidden)), /sysctl/);
	const two = judgeKernelSymbols({ ...hidden, restrict: 2, syslog: true });
	assert.doesNotMatch(found(two), /CAP_SYSLOG/);
});

test('libbpf: its version as a number, and where it is only if that is known', () => {
	assert.equal(found(judgeLibbpf({ version: 'v1.4', path: undefined }, [])), '1.4');
	assert.equal(found(judgeLibbpf({ version: 'v1.4', path: '/x.so' }, [])), '1.4, /x.so');
});

const PART = {
	path: '/usr/bin/server',
	is32: false,
	frames: { sampled: 100, withFrame: 4 },
	covered: undefined,
	symbols: 'own',
	install: undefined,
} as const;

test('frames of a file that cannot be read are no better than those of one without tables', () => {
	assert.equal(judgeFrames(PART).state, 'warn');
	const unknown = judgeFrames({ ...PART, frames: undefined });
	assert.match(costs(unknown), /may lack callers/);
	assert.doesNotMatch(costs(judgeFrames(PART)), /may/);
	const one = { ...PART, frames: { sampled: 1, withFrame: 0 } };
	assert.match(found(judgeFrames(one)), / of 1 function keep/);
	assert.match(found(judgeFrames(PART)), / 4 % of 100 functions keep/);
});

test('unwind tables: 30 % are some, and half of them are not enough', () => {
	assert.match(found(judgeTables({ path: '/x', covered: 0.3 })), / 30 %/);
	assert.equal(judgeTables({ path: '/x', covered: 0.5 }).state, 'warn');
});

test('symbols: where they are, or why they are not', () => {
	const of = (symbols: 'own' | 'debug file' | 'packed' | 'none' | 'unreadable') =>
		found(judgeSymbols({ ...PART, symbols }));
	assert.equal(
		new Set(['own', 'debug file', 'packed', 'none', 'unreadable'].map((each) => of(each as 'own')))
			.size,
		5,
	);
	assert.match(of('debug file'), /^server: .*debug file/);
	assert.match(of('packed'), /compressed/);
	assert.match(of('none'), /stripped/);
	assert.match(of('unreadable'), /may not read/);
});

test('a file system that does not answer: its folder, its type, and what not to do', () => {
	const check = judgeSilent({ folder: '/mnt/data', type: 'nfs4', options: [] });
	assert.match(found(check), /^\/mnt\/data \(nfs4\)/);
	assert.match(fix(check), /ls \/mnt\/data would wait/);
});

test('a runtime: the language it runs, its own name and version, and the number of the process', () => {
	const range = { start: 0, end: 1 };
	const heap = {
		heap: LAYOUT,
		builtins: range,
		interpreter: range,
		resumes: [],
		wasm: undefined,
		loaded: [],
	};
	const v8 = { runtime: 'v8', version: '11.3.244', problem: undefined, layout: heap } as const;
	const only = (checks: readonly Check[]) => checks[0] ?? assert.fail();
	const javascript = only(judgeRuntime('node', 7, false, v8));
	assert.deepEqual(
		[javascript.name, /^V8 11\.3\.244:/.test(found(javascript))],
		['JavaScript', true],
	);
	const cpython = { runtime: 'python', version: '3.11.2', problem: undefined } as const;
	const python = only(judgeRuntime('python before 3.12', 7, false, { ...cpython, layout: PYTHON }));
	assert.deepEqual([python.name, /^CPython 3\.11\.2:/.test(found(python))], ['Python', true]);
	assert.match(found(only(judgeRuntime('jvm', 7, true))), /^jvm: perf-7\.map$/);
	// The program may have any name.
	assert.match(found(only(judgeRuntime(undefined, 7, false, v8))), /^V8 11\.3\.244: its/);
	assert.match(found(only(judgeRuntime(undefined, 7, true, v8))), /^V8: perf-7\.map$/);
	assert.deepEqual(judgeRuntime(undefined, 7, false), []);
	assert.deepEqual(judgeRuntime(undefined, 7, true), []);
});

test('a runtime whose functions have no names: why, and what to do', () => {
	const unnamed = (file: RuntimeFile) => {
		const [check] = judgeRuntime('node', 7, false, file);
		assert.equal(check?.state, 'warn');
		return [check.name, check.found, check.fix];
	};
	const v8 = { runtime: 'v8', version: '10.2.154', layout: undefined } as const;
	const [name, found, fix] = unnamed({ ...v8, problem: 'version' });
	assert.equal(name, 'JavaScript');
	assert.match(found ?? '', /^V8 10\.2\.154: .* Node\.js 20, .*, and this has V8 10\.2\.154$/);
	assert.match(fix ?? '', /--perf-basic-prof/);
	assert.match(unnamed({ ...v8, problem: 'symbols' })[1] ?? '', / are stripped$/);
	const python = { runtime: 'python', version: '3.14.0', layout: undefined } as const;
	const free = unnamed({ ...python, problem: 'free-threaded' });
	assert.equal(free[0], 'Python');
	assert.match(free[1] ?? '', /^CPython 3\.14\.0: .* without the GIL$/);
	assert.match(free[2] ?? '', /-X perf/);
});

test('a check that cannot be made: the first part of the reason, whole', () => {
	const why = (message: string) =>
		attempt('hook', () => {
			throw new Error(message);
		}).found;
	assert.match(why('no /proc/self/status: mount it'), /: no \/proc\/self\/status$/);
	assert.match(why('first line\nsecond line'), /: first line$/);
	assert.match(why('it is a:b, or not'), /: it is a:b$/);
});

test('statistics are tried, and off again; where they cannot be had, why', (t) => {
	const fds: number[] = [];
	replace(t, libbpf(), {
		bpf_enable_stats: () => {
			fds.push(openSync('/dev/null', 'r'));
			return fds.at(-1) ?? -1;
		},
	});
	assert.equal(judgeStatistics([]).state, 'ok');
	assert.equal(fds.length, 1);
	for (const fd of fds) assert.throws(() => closeSync(fd), /EBADF/);
	const refused = (errno: 'EPERM' | 'EINVAL') => {
		replace(t, libbpf(), { bpf_enable_stats: () => -constants.errno[errno] });
		return found(judgeStatistics([]));
	};
	assert.equal(refused('EPERM'), 'not allowed: no CAP_SYS_ADMIN');
	assert.equal(refused('EINVAL'), 'EINVAL');
});

test('capabilities: each that is missing is named, with what it costs', () => {
	const check = judgeCapabilities(new Set(['CAP_BPF', 'CAP_PERFMON'] as const), false);
	assert.match(found(check), /no CAP_SYSLOG, CAP_SYS_PTRACE$/);
	assert.match(costs(check), /kernel functions may have no names; .*other users' processes/);
});

test('CAP_PERFMON alone is enough for perf events', () => {
	const files = {
		'/proc/self/status': `CapEff:\t${(1n << 38n).toString(16)}\n`,
		'/proc/sys/kernel/perf_event_paranoid': '2\n',
	};
	const checks = withFiles(files, perfEvents);
	const check = checks.find(({ name }) => name === 'perf_event_paranoid');
	assert.equal(check?.found, '2, which CAP_PERFMON overrules');
});

test('libbpf: its version, and from where it was loaded', () => {
	assert.match(found(library()), /^1\.\d+(\.\d+)?, \/.*\/libbpf\.so/);
});

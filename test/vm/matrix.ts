/** Which kernels the live tests run on, and what each of these is known to lack. */
import type { FeatureName } from './features.js';

export interface Machine {
	/** As in `make test-kernels KERNEL=6.1`. */
	readonly name: string;
	readonly arch: 'x64' | 'arm64';
	/** Of Debian; the newest version in any of them is taken. */
	readonly suites: readonly string[];
	/** Of qemu's: `-cpu`. */
	readonly cpu: string;
	/** Of Debian's kernel packages. */
	readonly flavour: 'cloud' | 'rt';
	/** How many CPUs are emulated, all by one of ours. */
	readonly cpus: number;
	/** One truth of each tool only: its emulation is too slow for more, or it lacks what most tests are about. */
	readonly slow?: true;
	/** Its threads are scheduled by a program of BPF's (sched_ext). */
	readonly schedExt?: true;
}

/** Which tests of a tool: one or all of its truths, or its whole file and more. */
export type Extent = 'one' | 'quick' | 'all';
/** Before the name of a file of tests, among the words that say what is to be run. */
export const FILE = 'file:';
/** Instead of tests: what walks of user stacks cost. */
export const WALKS = 'walks';
/** Among the same words: a scheduler of the class sched_ext has the threads. */
export const SCHED_EXT = 'sched_ext';
/** Files of tests that are not run there: its scheduler knows no CPU quotas. */
export const NOT_OF_SCHED_EXT: readonly string[] = ['throttled'];

const X64 = { arch: 'x64', cpu: 'max', flavour: 'cloud', cpus: 2 } as const;
const BULLSEYE = ['bullseye', 'bullseye-security'];
const BOOKWORM = ['bookworm', 'bookworm-security'];
const BACKPORTS = ['bookworm-backports', 'bookworm'];

export const MACHINES: readonly Machine[] = [
	{ ...X64, name: '5.10', suites: BULLSEYE },
	{ ...X64, name: '6.1', suites: BOOKWORM },
	{ ...X64, name: '6.12', suites: BACKPORTS },
	{ ...X64, name: 'newest', suites: ['sid'] },
	{ ...X64, name: '6.1-arm64', arch: 'arm64', suites: BOOKWORM, slow: true },
	{ ...X64, name: '5.10-rt', flavour: 'rt', suites: ['bullseye'], slow: true },
	{ ...X64, name: '6.1-rt', flavour: 'rt', suites: BOOKWORM },
	{ ...X64, name: '6.12-rt', flavour: 'rt', suites: BACKPORTS },
	{ ...X64, name: 'sched_ext', suites: ['sid'], schedExt: true },
	{ ...X64, name: '64-cpus', cpus: 64, suites: BACKPORTS, slow: true },
];

/** Of a file, patterns of the names of tests that are run where there is no time for all; none: none of them. */
interface Few {
	readonly quick?: string;
	readonly one?: string;
}

export interface ToolTests {
	readonly tool: string;
	/** How to have it say which way it takes. */
	readonly args: readonly string[];
	/** What it refuses to run without. */
	readonly needs?: FeatureName;
	/** What it says of its way where the kernel has a feature, and only there. */
	readonly says?: Partial<Readonly<Record<FeatureName, string>>>;
	/** The file of live tests that is about it. */
	readonly file: string;
	/** More files, whose tests are all run: what would disturb the machine that we are on. */
	readonly also?: Readonly<Record<string, Few>>;
	/** Files that are about several tools: of each, tests whose names begin with this one's. */
	readonly shared?: Readonly<Record<string, Few>>;
	/** Names of those of its tests that are run where there is no time for all; the first is one test. */
	readonly truths: readonly string[];
	/** Names of those that cannot be run under emulation, and why. */
	readonly not?: Readonly<Record<string, string>>;
}

/** What all tools that know waits for a CPU say alike: a quota with nothing beside it, and sleep. */
const WAITS = { throttled: { quick: 'with a quota, alone' }, dozes: { quick: 'sle(ep|pt)' } };
/**
 * Of tools that walk user stacks: code of the C library's and of ours, without frame pointers. Only samples are in the
 * vdso, which has no table on arm64.
 */
const TORTURE = { torture: { quick: 'torture: ', one: 'torture: each' } };
/** Of tools that follow threads off the CPU. */
const IN_STORAGE = { 'task storage': 'keeps threads in task storage' };

export const TOOLS: readonly ToolTests[] = [
	{
		tool: 'runqlat',
		args: ['0.2', '1'],
		file: 'truth',
		also: {
			'vm-cpus': { quick: '^(runqlat|profile): (a CPU goes|begins while)' },
			// What keeps time is the same in all tools: forward for one, back for the other.
			'vm-clock': {
				quick: '^(runqlat: the clock is set by 3600|profile: the clock is set by -3600) s',
			},
		},
		shared: WAITS,
		truths: ['^sched_info: \\d+ wake-ups', '^hash: \\d+ wake-ups'],
		not: {
			'20,000 threads that come and go: each has its group, or is counted as lost': 'takes minutes',
		},
	},
	{
		tool: 'schedlat',
		args: ['0.2', '1'],
		file: 'schedlat',
		shared: WAITS,
		truths: ['^competing hogs', '^migrations'],
	},
	{
		tool: 'timehist',
		needs: 'a ring buffer',
		args: ['-w', '-M', '0.2'],
		says: IN_STORAGE,
		file: 'timehist',
		shared: WAITS,
		also: { wakers: { quick: '^woken by ' } },
		truths: ['^printed and lost', '^who wakes whom', '^migrations'],
	},
	{
		tool: 'trace',
		needs: 'a ring buffer',
		args: ['-y', '-o', '/dev/null', '0.2'],
		file: 'trace',
		also: { 'trace-options': { quick: '^-e: calls' } },
		// The first one makes calls that arm64 has by other names.
		truths: ['^each thread has', 'calls with each kind of argument', '^hostile strings'],
	},
	{
		tool: 'syscount',
		args: ['--latency', '0.2', '1'],
		file: 'syscount',
		truths: [
			'reads and writes',
			'preempt each other',
			'^997 opens',
			'^by process',
			'^with times',
			'^in a PID namespace',
		],
	},
	{
		tool: 'offcputime',
		args: ['0.2'],
		says: IN_STORAGE,
		file: 'offcputime',
		also: {
			sleeping: { quick: '^who sleeps all the time has all functions on its way: sleepers$' },
			'torture-loads': {},
			'wait-kinds': { quick: '^each thread waits' },
			'wait-objects': { quick: '^(waits that go on|a process that lives)' },
		},
		shared: { ...WAITS, ...TORTURE },
		truths: ['^kprobe: --exact: time in known', '^(switch|sched_exit): --exact: time in known'],
	},
	{
		tool: 'offwaketime',
		args: ['0.2'],
		says: IN_STORAGE,
		file: 'blocked-time',
		// Under emulation one of them takes five minutes.
		also: { chains: {} },
		truths: ['woken by pipe', 'woken by nanosleep'],
	},
	{
		tool: 'why',
		needs: 'a ring buffer',
		args: ['0.2'],
		says: IN_STORAGE,
		file: 'why',
		// Its troubles want CPUs that do what they are told in time.
		also: { lab: {} },
		truths: ['^threads that begin'],
	},
	{
		tool: 'stat',
		args: ['--', 'sleep', '0.2'],
		file: 'stat',
		also: { 'stat-options': { quick: '^(CPU time of COMMAND|events that this machine)' } },
		truths: ['^system calls, by tracepoints', '^page faults', '^threads: those', '^a cgroup'],
		not: { 'perf counts the same of the same command': 'each kernel has a perf of its own' },
	},
	{
		tool: 'memleak',
		args: ['0.2', '1', '--', 'sleep', '1'],
		file: 'memleak',
		truths: ['^glibc: ', '^operators new of libstdc\\+\\+: ', '^folded', '^--growth'],
	},
	{
		tool: 'profile',
		args: ['0.2'],
		file: 'profile',
		shared: TORTURE,
		truths: ['^two functions', '^-e page-faults'],
	},
];

/**
 * The latency lab: processes in one known trouble each (test/workloads/lab*), and what `tstrace why` has to say of
 * them. Shares are computed from what a workload prints at its end, which the kernel counted for its threads
 * (schedstat) or it measured with its own clock: no share depends on how fast the machine is.
 */
import { resolve } from 'node:path';
import { CpuCgroup } from './cpu-cgroup.js';
import type { Cause, Range, Truth } from './lab-check.js';
import { MemoryCgroup } from './memory-cgroup.js';
import { until, Workload } from './support.js';

/** What "done" says, each summed over all threads but the first, in ns; see test/workloads/lab.h. */
interface Done {
	readonly wall_ns: number;
	readonly run_ns: number;
	readonly delay_ns: number;
	readonly guilty_ns: number;
	readonly other_ns: number;
	/** By the control group's cpu.stat. */
	readonly throttled_ns: number;
}

export interface Trouble {
	readonly name: string;
	/** In build/workloads. */
	readonly program: string;
	/** Per cent of one CPU that its control group may use. */
	readonly quotaPercent?: (seed: number) => number;
	/** What its control group may have of memory. */
	readonly limitBytes?: (seed: number) => number;
	readonly truth: (done: Done, seed: number, folder: string) => Truth;
}

/** By how much of the working time a share may be off: a window is not the whole, and tracing costs. */
const OFF = 0.05;
/** Others may take so much of what the trouble takes, in a process that does not want for CPUs by itself. */
const MOST_TAKEN = 0.5;
const RUN_QUEUE = ['run_queue', 'preempted'];

const around = (share: number): Range => [share - OFF, share + OFF];
/** Other work on the machine, tstrace's own start among it, may not have been in the window. */
const orMore = (share: number, { wall_ns, delay_ns }: Done): Range => [
	share - OFF,
	share + delay_ns / wall_ns + OFF,
];
/** Neither ran nor could have run. */
const blocked = ({ wall_ns, run_ns, delay_ns }: Done) => (wall_ns - run_ns - delay_ns) / wall_ns;
const guilty = ({ wall_ns, guilty_ns }: Done) => guilty_ns / wall_ns;
const other = ({ wall_ns, other_ns }: Done) => other_ns / wall_ns;
const isOdd = (seed: number) => seed % 2 === 1;
/** Only the end of a path is sure to be there. */
const file = (name: string) => new RegExp(`/${name}$`);

/** One thread that is blocked in one function. */
function waits(kind: string, name: string, object?: RegExp): Trouble['truth'] {
	return (done) => [
		{
			place: 'waiting',
			kinds: [kind],
			share: orMore(blocked(done), done),
			function: name,
			...(object ? { object } : {}),
		},
	];
}

/** The same, because of another thread. */
function waitsFor(
	kind: string,
	name: string,
	object: RegExp | undefined,
	share: (done: Done) => number,
	culprit: (seed: number) => { comm: string; function?: string },
): Trouble['truth'] {
	return (done, seed) => [
		{
			place: 'waiting',
			kinds: [kind],
			share: orMore(share(done), done),
			function: name,
			culprit: culprit(seed),
			...(object ? { object } : {}),
		},
	];
}

export const TROUBLES: readonly Trouble[] = [
	{
		name: 'spin',
		program: 'lab-cpu',
		truth: (done) => [
			{
				place: 'running',
				kinds: ['on_cpu', 'in_its_own_code', 'in_the_kernel'],
				share: orMore(done.run_ns / done.wall_ns, done),
				function: 'add_up',
			},
		],
	},
	{
		name: 'crowd',
		program: 'lab-cpu',
		truth: ({ delay_ns, wall_ns }) => [
			{
				place: 'runnable',
				kinds: RUN_QUEUE,
				share: around(delay_ns / wall_ns),
				function: 'add_up',
			},
		],
	},
	{
		name: 'quota',
		program: 'lab-cpu',
		quotaPercent: (seed) => 15 + (seed % 4) * 5,
		truth: ({ throttled_ns, delay_ns, wall_ns }) => [
			{
				place: 'runnable',
				kinds: ['cpu_quota'],
				// Where others take the CPU meanwhile, it uses its quota up later.
				share: [throttled_ns / wall_ns - OFF, delay_ns / wall_ns + OFF],
				function: 'add_up',
			},
		],
	},
	{ name: 'nap', program: 'lab-cpu', truth: waits('sleep', 'wait_for_luck') },
	{
		name: 'convoy',
		program: 'lab-locks',
		truth: waitsFor('lock', 'take_till', /till_lock/, guilty, () => ({
			comm: 'slow',
			function: 'count_slowly',
		})),
	},
	{
		name: 'holder',
		program: 'lab-locks',
		truth: waitsFor('lock', 'look_up', /index_lock/, guilty, () => ({
			comm: 'holder',
			function: 'rebuild_index',
		})),
	},
	{
		name: 'pool',
		program: 'lab-locks',
		// Who waits for them has no time of its own: what they do is all of it.
		truth: () => [
			{
				place: 'waiting',
				kinds: ['sleep'],
				// Others on the machine may take the CPU.
				share: [0.85, 1],
				function: 'do_job',
				says: /threads wait, in await_result, for 2 threads worker, which are never idle/,
			},
		],
	},
	{
		name: 'mmap',
		program: 'lab-locks',
		truth: waitsFor('kernel_lock', 'map_a_little', undefined, blocked, () => ({
			comm: 'auditor',
			function: 'audit',
		})),
	},
	{
		name: 'fsync',
		program: 'lab-disk',
		truth: waits('disk_write', 'commit_record', file('journal')),
	},
	{ name: 'direct', program: 'lab-disk', truth: waits('disk_read', 'read_ledger', file('ledger')) },
	{ name: 'faults', program: 'lab-disk', truth: waits('page_fault', 'visit_page', file('atlas')) },
	{
		name: 'reclaim',
		program: 'lab-disk',
		limitBytes: (seed) => (12 + 2 * (seed % 5)) << 20,
		truth: waits('memory_reclaim', 'fill_cache'),
	},
	{
		name: 'peer',
		program: 'lab-peers',
		truth: waitsFor('socket_receive', 'ask_price', /tcp 127\.0\.0\.1:\d+.*pricer/, blocked, () => ({
			comm: 'pricer',
			function: 'work_out_price',
		})),
	},
	{
		name: 'reader',
		program: 'lab-peers',
		truth: waitsFor('pipe', 'push_log', /pipe write.*digester/, blocked, () => ({
			comm: 'digester',
			function: 'digest_slowly',
		})),
	},
	{
		name: 'dns',
		program: 'lab-peers',
		truth: waits('poll', 'resolve_name', /udp 127\.0\.0\.1:\d+.*silent/),
	},
	{
		name: 'child',
		program: 'lab-chains',
		truth: waitsFor('child', 'await_converter', /child converter/, blocked, (seed) => ({
			comm: 'converter',
			// What has computed has given its memory back, with its stack, as its end wakes the parent.
			...(isOdd(seed) ? {} : { function: 'convert_slowly' }),
		})),
	},
	{
		name: 'away',
		program: 'lab-chains',
		truth: waitsFor('unix_socket', 'ask_broker', /unix socket.*broker/, blocked, (seed) => ({
			comm: 'store',
			function: isOdd(seed) ? 'write_through' : 'dawdle',
		})),
	},
	{
		name: 'mixture',
		program: 'lab-chains',
		truth: (done, seed) => {
			const slept = {
				place: 'waiting',
				kinds: ['sleep'],
				share: around(guilty(done)),
				function: 'cool_down',
			} as const;
			const read = {
				place: 'waiting',
				kinds: ['pipe'],
				object: /pipe read.*reporter/,
				share: around(other(done)),
				function: 'read_report',
				culprit: { comm: 'reporter', function: 'compile_report' },
			} as const;
			return isOdd(seed) ? [read, slept] : [slept, read];
		},
	},
	{ name: 'idle', program: 'lab-idle', truth: () => [] },
];

/** What a trouble's own program calls it: a quota is put on one that computes. */
const wayOf = ({ name, quotaPercent }: Trouble) => (quotaPercent ? 'spin' : name);

/** A process that is in it, from now on until its end. */
export class InTrouble {
	private constructor(
		readonly workload: Workload,
		private readonly groups: {
			readonly cpu?: CpuCgroup | undefined;
			readonly memory?: MemoryCgroup | undefined;
		},
		private readonly truthOf: (done: Done) => Truth,
	) {}

	static async start(trouble: Trouble, seed: number, folder: string): Promise<InTrouble> {
		const { quotaPercent, limitBytes } = trouble;
		const memory = limitBytes && MemoryCgroup.make('lab');
		const cpu = quotaPercent && CpuCgroup.make('lab');
		try {
			if (limitBytes) memory?.limitTo(limitBytes(seed));
			const program = resolve('build/workloads', trouble.program);
			const [first = program, ...words] = [...(memory?.enter ?? []), program];
			const args = [...words, wayOf(trouble), `${seed}`, folder];
			const workload = await Workload.startBy(first, ...args);
			cpu?.add(workload.pid);
			if (quotaPercent) cpu?.limitTo(quotaPercent(seed));
			workload.begin();
			if (cpu) await until(() => cpu.throttled().times >= 2);
			const truthOf = (done: Done) => trouble.truth(done, seed, folder);
			return new InTrouble(workload, { cpu, memory }, truthOf);
		} catch (error) {
			memory?.remove();
			cpu?.remove();
			throw error;
		}
	}

	get pid(): number {
		return this.workload.pid;
	}

	/**
	 * Ends it. What it says of itself, and what was true; `disturbed`: other work on the machine was a trouble of its
	 * own, maybe the larger one, and nothing can be said of this run.
	 */
	async end(): Promise<{ done: Done; truth: Truth; disturbed: boolean }> {
		const { cpu, memory } = this.groups;
		// What it takes to come to an end is not part of it.
		const throttled_ns = cpu?.throttled().ns ?? 0;
		const [wall_ns = 0, run_ns = 0, delay_ns = 0, guilty_ns = 0, other_ns = 0] =
			await this.workload.end();
		cpu?.remove();
		memory?.remove();
		const done = { wall_ns, run_ns, delay_ns, guilty_ns, other_ns, throttled_ns };
		const truth = this.truthOf(done);
		const [first] = truth;
		const disturbed =
			first !== undefined &&
			first.place !== 'runnable' &&
			delay_ns > MOST_TAKEN * first.share[0] * wall_ns;
		// A program that waits has to wait for its CPU to go on, too: its clock does not tell them apart.
		const queued = wall_ns > 0 ? delay_ns / wall_ns : 0;
		const withoutQueue = truth.map((cause): Cause => {
			const [least, most] = cause.share;
			return cause.place === 'waiting' ? { ...cause, share: [least - queued, most] } : cause;
		});
		return { done, truth: withoutQueue, disturbed };
	}
}

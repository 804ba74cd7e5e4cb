/**
 * What it costs offcputime to walk a user stack on the running kernel, by unwind tables and by frame pointers, at
 * each hook that this kernel has: docs/tools/offcputime.md.
 */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { chooseOffcpu, type Hook } from '../../src/bpf/scheduling/off-cpu.js';
import { kernelHasField } from '../../src/loader/kernel.js';
import { Child } from '../shared/children.js';
import { openScratch, scratch } from '../shared/scratch.js';
import { median } from '../shared/statistics.js';
import { counting, runsOf, TRACING, TSTRACE, traced } from '../shared/tracer.js';

const ROUNDS = 3;
const WAITS = 5000;
/** What is walked while tables come is cut; more than this, and the figure is of something else. */
const MOST_CUT = 0.02;
const HOOKS: readonly Hook[] = ['sched_exit', 'kprobe', 'switch'];

/** What is in a stack, and so in the cost of a wait. */
const MODES = {
	none: ['-K'],
	tables: ['--unwind', 'tables'],
	pointers: ['--unwind', 'fp'],
} as const;
type Mode = keyof typeof MODES;

/** At one hook. */
export interface WalkCost {
	readonly hook: Hook;
	/** In which the kernel keeps a process's mappings. */
	readonly tree: 'maple tree' | 'red-black tree';
	/** Of the stack. */
	readonly frames: number;
	/** BPF time for a walk of it, and to find out that the stack is known. */
	readonly tables_ns: number;
	readonly pointers_ns: number;
}

/** Of this kernel; throws if a walk does not reach the first function. */
export async function walkCosts(): Promise<WalkCost[]> {
	openScratch();
	const costs: WalkCost[] = [];
	for (const hook of HOOKS.filter(isThere)) costs.push(await costAt(hook));
	return costs;
}

/** Whether the kernel has it. */
function isThere(hook: Hook): boolean {
	process.env.TSTRACE_FORCE = hook;
	try {
		chooseOffcpu();
		return true;
	} catch {
		return false;
	} finally {
		delete process.env.TSTRACE_FORCE;
	}
}

async function costAt(hook: Hook): Promise<WalkCost> {
	const found = { none: [] as number[], tables: [] as number[], pointers: [] as number[] };
	let frames = 0;
	for (let round = 0; round < ROUNDS; round++) {
		for (const mode of Object.keys(MODES) as Mode[]) {
			const wait = await waitOf(hook, mode);
			found[mode].push(wait.ns);
			if (mode === 'tables') frames = wait.frames;
		}
	}
	const [none, tables, pointers] = [found.none, found.tables, found.pointers].map(median) as [
		number,
		number,
		number,
	];
	return {
		...{ hook, frames, tables_ns: tables - none, pointers_ns: pointers - none },
		tree: kernelHasField('mm_struct', 'mm_mt') ? 'maple tree' : 'red-black tree',
	};
}

/** BPF time for a wait, and the user frames of its stack. */
async function waitOf(hook: Hook, mode: Mode): Promise<{ ns: number; frames: number }> {
	// The tables are there when the second one begins.
	const [first, second] = [await Paths.start(), await Paths.start()];
	const file = scratch('walks.json');
	const command = [
		...['env', `TSTRACE_FORCE=${hook}`, TSTRACE, 'offcputime', '--exact', '--no-edges', '-L'],
		...[...MODES[mode], '-p', `${first.pid}`, '-p', `${second.pid}`, '-o', file],
	];
	try {
		const { did: ns } = await traced({ command, ready: TRACING }, async ({ programs }) => {
			await first.work();
			return counting(async () => {
				const before = runsOf(programs).time_ns;
				const waits = await second.work();
				return (runsOf(programs).time_ns - before) / waits;
			});
		});
		return { ns, frames: mode === 'none' ? 0 : framesIn(file, second.pid, mode) };
	} finally {
		await first.end();
		await second.end();
	}
}

/** Of the stack that a process waited in; throws unless nearly all of its waits were there. */
function framesIn(file: string, pid: number, mode: Mode): number {
	const { stacks } = JSON.parse(readFileSync(file, 'utf8')) as {
		stacks: { kinds: string; count: number; cut?: string; key: { pid: number } }[];
	};
	const own = stacks.filter(({ key }) => key.pid === pid);
	const all = own.reduce((sum, { count }) => sum + count, 0);
	const [most] = own.toSorted((a, b) => b.count - a.count);
	const isWhole = mode === 'pointers' || !most?.cut;
	if (!most || !isWhole || most.count < (1 - MOST_CUT) * all)
		throw new Error(`stacks by ${mode} are not what is to be measured: ${JSON.stringify(own)}`);
	return most.kinds.replaceAll('k', '').length;
}

/** test/workloads/paths.c: waits again and again at the end of one path. */
class Paths {
	readonly #child: Child;
	readonly #lines: AsyncIterator<string>;

	private constructor() {
		this.#child = new Child(
			['build/workloads/paths', '0', '1', `${WAITS}`],
			['pipe', 'pipe', 'inherit'],
		);
		const { stdout } = this.#child.process;
		if (!stdout) throw new Error('the workload has no output');
		this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
	}

	static async start(): Promise<Paths> {
		const paths = new Paths();
		await paths.#lines.next();
		return paths;
	}

	get pid(): number {
		return this.#child.pid;
	}

	/** Returns how often it waited. */
	async work(): Promise<number> {
		this.#child.process.stdin?.write('\n');
		const { value } = await this.#lines.next();
		return Number(/^done (\d+)$/.exec(value)?.[1]);
	}

	end(): Promise<void> {
		return this.#child.end();
	}
}

/** As a table, for the terminal. */
export function written(costs: readonly WalkCost[]): string {
	const lines = costs.map(({ hook, tree, frames, tables_ns, pointers_ns }) => {
		const walk = (ns: number) => `${Math.round(ns)} ns (${Math.round(ns / frames)} a frame)`;
		const ratio = (tables_ns / pointers_ns).toFixed(1);
		return `${hook}, ${tree}, ${frames} frames: by tables ${walk(tables_ns)}, ${ratio} x by frame pointers ${walk(pointers_ns)}`;
	});
	return `${lines.join('\n')}\n`;
}

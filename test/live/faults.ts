/** What the tests of faults share: the tools, who holds what in the kernel, and whether a target is whole. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
	closeSync,
	constants,
	existsSync,
	mkdtempSync,
	openSync,
	readdirSync,
	readFileSync,
	readlinkSync,
	readSync,
	rmSync,
	writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseMaps } from '../../src/proc/maps.js';
import { idsIn, isOurs, processes, untilReleased } from './kernel-objects.js';
import { type Finished, importing, Tracing, until, Workload } from './support.js';

/** Each tool, so that it prints something of whatever runs; to be followed by -p and a duration. */
export const TOOLS: readonly (readonly string[])[] = [
	['runqlat'],
	['offcputime', '--exact'],
	['profile', '-F', '999'],
	['syscount'],
	['schedlat'],
	['timehist'],
	['memleak'],
];

/** The same, where they trace a storm, which frees at once what it allocates. */
export const TOOLS_OF_STORM = TOOLS.map((words) =>
	words[0] === 'memleak' ? [...words, '--churn'] : words,
);

/** After an interval: one result. The others trace once, for a duration. */
export const once = (tool: string): readonly string[] =>
	['runqlat', 'syscount', 'schedlat', 'memleak'].includes(tool) ? ['1'] : [];

/** What a process holds in the kernel, by its open descriptors. */
interface Held {
	/** "program 7", "map 9", "link 3" */
	readonly objects: ReadonlySet<string>;
	readonly perfEvents: number;
	/** Run-time statistics of all BPF programs are on. */
	readonly statistics: boolean;
}

export function heldBy(pid: number): Held {
	const objects = new Set<string>();
	let perfEvents = 0;
	let statistics = false;
	for (const fd of readdirSync(`/proc/${pid}/fd`)) {
		try {
			const target = readlinkSync(`/proc/${pid}/fd/${fd}`);
			if (target === 'anon_inode:[perf_event]') perfEvents++;
			if (target === 'anon_inode:bpf-stats') statistics = true;
			if (!target.startsWith('anon_inode:bpf')) continue;
			const info = readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8');
			for (const id of idsIn(info)) objects.add(id);
		} catch {
			// Closed between the two.
		}
	}
	return { objects, perfEvents, statistics };
}

export const counts = ({ objects }: Held, kind: 'program' | 'map' | 'link'): number =>
	[...objects].filter((id) => id.startsWith(kind)).length;

/** No process of ours holds anything of BPF or of perf events any more. */
function untilNobodyHolds(): Promise<void> {
	return until(() =>
		processes().every((pid) => {
			if (pid === process.pid) return true;
			try {
				if (!isOurs(pid)) return true;
				const { objects, perfEvents, statistics } = heldBy(pid);
				return objects.size === 0 && perfEvents === 0 && !statistics;
			} catch {
				return true; // It has ended.
			}
		}),
	);
}

/** Stops it where it stands, so that what is true now stays so. */
export async function freeze(tracing: Tracing): Promise<void> {
	tracing.signal('SIGSTOP');
	await until(() => / [TZ] /.test(readFileSync(`/proc/${tracing.pid}/stat`, 'utf8')));
}

/** Starts it, and returns when it has said something and stands still right behind that. */
export async function stoppedAfter(said: string, args: readonly string[]): Promise<Tracing> {
	const tracing = Tracing.begin(args, { ...importing('stops-itself'), STOPS_AFTER: said });
	await until(() => / T /.test(readFileSync(`/proc/${tracing.pid}/stat`, 'utf8')));
	return tracing;
}

/** How many bytes of the code that a process executes are not what its files have: probes. */
export function codeBytesChanged(pid: number): number {
	const memory = openSync(`/proc/${pid}/mem`, 'r');
	let changed = 0;
	try {
		for (const { start, end, fileOffset, path, inode } of codeOf(pid)) {
			if (inode === 0) continue;
			const here = Buffer.alloc(end - start);
			const length = readSync(memory, here, 0, here.length, start);
			const there = readFileSync(path).subarray(fileOffset, fileOffset + length);
			if (here.subarray(0, there.length).equals(there)) continue;
			for (let i = 0; i < there.length; i++) if (here[i] !== there[i]) changed++;
		}
	} finally {
		closeSync(memory);
	}
	return changed;
}

const codeOf = (pid: number) => parseMaps(readFileSync(`/proc/${pid}/maps`, 'utf8'));

/** A process that is to survive: idle until told, then COUNT system calls, of which it knows. */
export class Target {
	static readonly CALLS = 1000;

	private constructor(readonly workload: Workload) {}

	/** `by`: a program, with arguments, that becomes it. */
	static async start(by: readonly string[] = []): Promise<Target> {
		const words = [...by, resolve('build/workloads/calls'), 'missing', `${Target.CALLS}`];
		const [file = '', ...args] = words;
		const target = new Target(await Workload.startBy(file, ...args));
		assert.equal(codeBytesChanged(target.pid), 0);
		return target;
	}

	get pid(): number {
		return this.workload.pid;
	}

	/** It is as it was, does all its work, and ends well. */
	async isWhole(): Promise<void> {
		await until(() => codeBytesChanged(this.pid) === 0);
		const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
		assert.match(status, /^State:\t[SR]/m);
		assert.match(status, /^TracerPid:\t0$/m);
		assert.deepEqual(await this.workload.work(), [Target.CALLS]);
		await this.workload.end();
		assert.equal(this.workload.status, 0);
	}
}

/** The kernel has nothing of tstrace's, and nobody holds what could keep it. */
export async function untilNothingLeft(before: ReadonlySet<string>): Promise<void> {
	await untilNobodyHolds();
	await untilReleased(before);
}

/** A moment of a run, by what can be seen of it from outside. */
export interface Phase {
	readonly name: string;
	reached(tracing: Tracing, held: Held): boolean;
}

/** In the order in which a run comes to them. */
export const START_UP: readonly Phase[] = [
	{ name: 'libbpf is in', reached: ({ pid }) => mapsOf(pid).includes('libbpf.so') },
	{ name: 'it holds maps', reached: (_, held) => counts(held, 'map') > 0 },
	{ name: 'it holds programs', reached: (_, held) => counts(held, 'program') > 0 },
	{ name: 'all is loaded', reached: ({ stderr }) => /: loaded /.test(stderr) },
	{ name: 'it is attached', reached: (_, held) => counts(held, 'link') + held.perfEvents > 0 },
	{ name: 'it says "Tracing"', reached: ({ stderr }) => stderr.includes('Tracing ') },
];

const mapsOf = (pid: number): string => readFileSync(`/proc/${pid}/maps`, 'utf8');

/** Waits for a phase and stops the run in it; returns what it holds there. */
export async function stopIn(tracing: Tracing, phase: Phase): Promise<Held> {
	for (;;) {
		await until(() => phase.reached(tracing, heldBy(tracing.pid)));
		await freeze(tracing);
		const held = heldBy(tracing.pid);
		if (phase.reached(tracing, held)) return held;
		// What it held was to try what the kernel can do, and it has gone on.
		tracing.signal('SIGCONT');
	}
}

/** It has let go of its programs and reads, names or prints what they counted. */
export const DETACHED: Phase = {
	name: 'it has ended to trace',
	reached: (_, held) => counts(held, 'link') === 0,
};

/** A pipe that is full, and that nobody reads until told; a result cannot get into it. */
export class FullPipe {
	readonly #folder = mkdtempSync(join(tmpdir(), 'tstrace-pipe-'));
	readonly #fd: number;
	#filled = 0;

	constructor() {
		const path = join(this.#folder, 'pipe');
		execFileSync('mkfifo', [path]);
		this.#fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
		const block = Buffer.alloc(4096);
		try {
			for (;;) this.#filled += writeSync(this.#fd, block);
		} catch (error) {
			assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN');
		}
	}

	/** For Tracing.begin: what makes it the standard output. */
	get by(): readonly string[] {
		return ['sh', '-c', 'exec 1>"$0" "$@"', join(this.#folder, 'pipe')];
	}

	/** Reads what is in it now; without what filled it. */
	read(): string {
		const block = Buffer.alloc(1 << 16);
		let text = '';
		try {
			for (;;) {
				const length = readSync(this.#fd, block);
				const skipped = Math.min(this.#filled, length);
				this.#filled -= skipped;
				text += block.toString('utf8', skipped, length);
			}
		} catch (error) {
			assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN');
		}
		return text;
	}

	/** Takes whatever comes until the tracer has ended, and closes; returns all of it. */
	async takeAll(tracing: Tracing): Promise<Finished> {
		let stdout = '';
		// Its pipes have to be read meanwhile, too.
		const ending = tracing.end();
		await until(() => {
			stdout += this.read();
			return !existsSync(`/proc/${tracing.pid}/exe`);
		});
		stdout += this.read();
		this.close();
		return { ...(await ending), stdout };
	}

	close(): void {
		closeSync(this.#fd);
		rmSync(this.#folder, { recursive: true });
	}
}

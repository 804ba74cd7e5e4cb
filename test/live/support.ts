/** Runs tstrace and the workloads as a user would. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { afterEach } from 'node:test';
import { FEATURES, type FeatureName, NEEDS } from '../vm/features.js';
import { until } from './until.js';

export { MARK } from './mark.js';
export { until };

export const TSTRACE = resolve('bin/tstrace');

/** For tests of what not every kernel has: their options, which skip them and say what is missing. */
export function needs(feature: FeatureName | undefined): { skip?: string } {
	if (!feature || FEATURES[feature].present()) return {};
	return { skip: `${NEEDS}${feature}` };
}

/** What a test has started and not ended, because it failed half-way; it would keep us waiting. */
const running = new Set<ChildProcess>();
afterEach(() => {
	for (const child of running) child.kill('SIGKILL');
});

function started(child: ChildProcess): ChildProcess {
	running.add(child);
	child.once('exit', () => running.delete(child));
	return child;
}

/** No run takes a tenth of it: one that does not end fails its test, and not the whole suite. */
const LIMIT_MS = process.env.TSTRACE_EMULATED === undefined ? 120_000 : 1_200_000;

const isOver = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

/** Waits until it has ended and all it printed is read. Throws, with what it `said`, if that takes too long. */
async function closed(child: ChildProcess, said: () => string): Promise<void> {
	const signal = AbortSignal.timeout(LIMIT_MS);
	try {
		if (!isOver(child)) await once(child, 'exit', { signal });
		for (const stream of [child.stdout, child.stderr]) {
			if (stream && !stream.closed) await once(stream, 'close', { signal });
		}
	} catch (error) {
		if (!signal.aborted) throw error;
		child.kill('SIGKILL');
		throw new Error(`${child.spawnargs.join(' ')}: has not ended; it said: ${said()}`);
	}
}

export interface Finished {
	readonly status: number | null;
	readonly stdout: string;
	readonly stderr: string;
}

type Environment = Readonly<Record<string, string>>;

/** What has tstrace load a module of test/live/injected before its own. */
export const importing = (name: string): Environment => ({
	NODE_OPTIONS: `--import ${new URL(`injected/${name}.js`, import.meta.url)}`,
});

/** A program that runs to its end. Throws, with what it said, if it does not end. */
export function runToEnd(file: string, args: readonly string[], env: Environment = {}): Finished {
	const { error, status, stdout, stderr } = spawnSync(file, args, {
		encoding: 'utf8',
		env: { ...process.env, ...env },
		maxBuffer: 1 << 28,
		timeout: LIMIT_MS,
		killSignal: 'SIGKILL',
	});
	if (error)
		throw new Error(`${[file, ...args].join(' ')}: ${error.message}; it said: ${stdout}${stderr}`);
	return { status, stdout, stderr };
}

export function tstrace(args: readonly string[], env: Environment = {}): Finished {
	return runToEnd(TSTRACE, args, env);
}

/** A tstrace that runs meanwhile. */
export class Tracing {
	readonly pid: number;
	readonly #child: ChildProcess;
	#stdout = '';
	#stderr = '';

	private constructor(child: ChildProcess) {
		this.#child = child;
		this.pid = child.pid as number;
		child.stdout?.on('data', (data) => {
			this.#stdout += data;
		});
		child.stderr?.on('data', (data) => {
			this.#stderr += data;
		});
	}

	/** Returns at once. `by`: a program, with arguments, that becomes tstrace. */
	static begin(
		args: readonly string[],
		env: Environment = {},
		by: readonly string[] = [],
	): Tracing {
		const [file = TSTRACE, ...words] = [...by, TSTRACE, ...args];
		return new Tracing(started(spawn(file, words, { env: { ...process.env, ...env } })));
	}

	/** Returns when everything is attached, which is what the banner says. */
	static async start(
		args: readonly string[],
		env: Environment = {},
		by: readonly string[] = [],
	): Promise<Tracing> {
		const tracing = Tracing.begin(args, env, by);
		const child = tracing.#child;
		await until(
			() => tracing.#stderr.includes('Tracing ') || isOver(child),
			() => tracing.#stderr,
		);
		if (!tracing.#stderr.includes('Tracing ')) throw new Error(`tstrace ended: ${tracing.#stderr}`);
		return tracing;
	}

	get stdout(): string {
		return this.#stdout;
	}

	/** Waits until it says something on stderr. */
	async says(what: RegExp): Promise<void> {
		await until(
			() => what.test(this.#stderr) || isOver(this.#child),
			() => this.#stderr,
		);
		if (!what.test(this.#stderr)) throw new Error(`tstrace ended: ${this.#stderr}`);
	}

	get stderr(): string {
		return this.#stderr;
	}

	signal(signal: NodeJS.Signals): void {
		this.#child.kill(signal);
	}

	/** Writes to its standard input, which is COMMAND's too. */
	tell(text: string): void {
		this.#child.stdin?.write(text);
	}

	async end(signal?: NodeJS.Signals): Promise<Finished> {
		if (signal) this.signal(signal);
		await closed(this.#child, () => this.#stdout + this.#stderr);
		return { status: this.#child.exitCode, stdout: this.#stdout, stderr: this.#stderr };
	}
}

/** One of test/workloads: says "ready PID TID", begins when told, says "done …", ends when told. */
export class Workload {
	readonly #child: ChildProcess;
	readonly #lines: Interface;
	readonly #pending: string[] = [];
	pid = 0;
	tid = 0;

	private constructor(file: string, args: readonly string[]) {
		this.#child = started(spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] }));
		this.#lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream });
		this.#lines.on('line', (line) => this.#pending.push(line));
	}

	static start(name: string, ...args: readonly string[]): Promise<Workload> {
		return Workload.startBy(resolve('build/workloads', name), ...args);
	}

	/** By way of another program, or as a copy that lies elsewhere. */
	static async startBy(file: string, ...args: readonly string[]): Promise<Workload> {
		const workload = new Workload(file, args);
		const [pid, tid] = await workload.#line('ready');
		workload.pid = pid ?? 0;
		workload.tid = tid ?? 0;
		return workload;
	}

	/** Who was started: the workload, or what was to start it. */
	get starter(): number {
		return this.#child.pid as number;
	}

	/** Waits until it is ready once more: it has executed itself, or forked. Returns the PID. */
	async again(): Promise<number> {
		const [pid = 0] = await this.#line('ready');
		return pid;
	}

	/** What it ended with, when it has. */
	get status(): number | null {
		return this.#child.exitCode;
	}

	/** Begins the work. */
	begin(): void {
		this.#child.stdin?.write('x');
	}

	/** What to do next, for those that are told more than to begin. */
	tell(line: string): void {
		this.#child.stdin?.write(`${line}\n`);
	}

	/** Begins the work; returns the numbers it reports when it is done. */
	async work(): Promise<number[]> {
		this.begin();
		return this.done();
	}

	/** Waits until it is done with what was begun; returns the numbers it reports. */
	done(): Promise<number[]> {
		return this.#line('done');
	}

	/** Stops it, and waits until it stands still. */
	async stop(): Promise<void> {
		this.#child.kill('SIGSTOP');
		await until(() => / T /.test(readFileSync(`/proc/${this.pid}/stat`, 'utf8')));
	}

	continue(): void {
		this.#child.kill('SIGCONT');
	}

	/** Ends it. For a hog, returns the numbers it reports. */
	async end(): Promise<number[]> {
		// One that a failed test left stopped would never end.
		this.continue();
		this.#child.stdin?.end();
		await closed(this.#child, () => this.#pending.join());
		const last = this.#pending.find((line) => line.startsWith('done'));
		return last ? last.split(' ').slice(1).map(Number) : [];
	}

	async #line(word: string): Promise<number[]> {
		await until(() => this.#pending.length > 0 || isOver(this.#child));
		const line = this.#pending.shift() ?? '';
		if (!line.startsWith(word)) throw new Error(`${word} was expected, not "${line}"`);
		return line.split(' ').slice(1).map(Number);
	}
}

/** Whether a process runs no more; an orphan may stay a zombie, where nobody looks after it. */
export function hasEnded(pid: number): boolean {
	try {
		return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
	} catch {
		return true;
	}
}

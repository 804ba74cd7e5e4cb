/** What tests of the stack tools share: their JSON, and what to ask of it. */
import assert from 'node:assert/strict';
import { type Finished, Tracing, type Workload } from './support.js';

export interface JsonStack {
	readonly frames: readonly string[];
	readonly kinds: string;
	readonly sources?: readonly JsonSource[];
	readonly value: number;
	readonly count: number;
	readonly error?: number;
	readonly blocked: number;
	readonly run_queue: number;
	readonly preempted: number;
	readonly throttled: number;
	/** Of what is blocked. */
	readonly wait?: JsonWait;
	readonly cut?: string;
	readonly caller_missing?: boolean;
	readonly key: Readonly<Record<string, string | number>>;
}

/** A function of a runtime's language. */
interface JsonSource {
	/** Its number in `frames`. */
	readonly frame: number;
	readonly name: string;
	readonly file: string;
	readonly line?: number;
	readonly executing_line?: number;
}

interface JsonWait {
	readonly kind?: string;
	/** Of kind "other": the kernel's function. */
	readonly at?: string;
	readonly object?: string;
	readonly objects?: ReadonlyArray<Readonly<Record<string, unknown>>>;
	/** Who ended it. */
	readonly waker?: JsonWaker;
}

export interface JsonWaker {
	readonly comm: string;
	readonly pid?: number;
	readonly tid?: number;
	readonly context?: string;
	readonly irq?: string;
	readonly frames?: readonly string[];
	readonly kinds?: string;
	readonly cut?: string;
	/** What it did meanwhile, with --hops; if it was blocked, `wait` is that. */
	readonly did?: string;
	readonly wait?: JsonWait;
}

export interface StackReport {
	readonly tool: string;
	readonly start: string;
	readonly duration_s: number;
	readonly unit: string;
	/** profile's. */
	readonly frequency_hz?: number;
	readonly slowed_by?: number;
	readonly stacks: readonly JsonStack[];
	readonly notices: readonly string[];
	readonly lost: Readonly<Record<string, number>>;
}

/** The one report of a run with --json. */
export function stackReport({ status, stdout, stderr }: Finished): StackReport {
	assert.equal(status, 0, stderr);
	const lines = stdout.trimEnd().split('\n');
	assert.equal(lines.length, 1, stdout.slice(0, 1000));
	return JSON.parse(lines[0] ?? '');
}

/** What `sources` says of functions of a runtime's language, which `texts` match, is what their names say. */
export function assertSources(stacks: readonly JsonStack[], texts: RegExp): void {
	for (const { frames, sources = [] } of stacks) {
		const said = new Map(
			sources.map(({ frame, name, file, line: first, executing_line: line = first }) => [
				frame,
				`${name} (${file}${line === undefined ? '' : `:${line}`})`,
			]),
		);
		for (const [i, frame] of frames.entries())
			if (texts.test(frame) || said.has(i)) assert.equal(said.get(i), frame);
	}
}

/** Those with a frame of that name, or of one that it matches. */
export function withFrame(stacks: readonly JsonStack[], name: string | RegExp): JsonStack[] {
	const matches = (frame: string) => (typeof name === 'string' ? frame === name : name.test(frame));
	return stacks.filter(({ frames }) => frames.some(matches));
}

type Number = 'value' | 'count' | 'blocked' | 'run_queue' | 'preempted' | 'throttled';

export function sumOf(stacks: readonly JsonStack[], field: Number = 'value'): number {
	return stacks.reduce((sum, stack) => sum + stack[field], 0);
}

/** The standard error of a sum. */
export function errorOf(stacks: readonly JsonStack[]): number {
	return Math.sqrt(stacks.reduce((sum, { error = 0 }) => sum + error * error, 0));
}

/** How long the objects of these stacks were waited for that are it. */
export function timeFor(
	stacks: readonly JsonStack[],
	isIt: (object: Readonly<Record<string, unknown>>) => boolean,
): number {
	return stacks
		.flatMap(({ wait }) => wait?.objects ?? [])
		.filter(isIt)
		.reduce((sum, { value_ns }) => sum + Number(value_ns), 0);
}

/** Folded lines as [frames, value], the comm as the first frame. */
export function foldedLines(stdout: string): [string[], number][] {
	return stdout
		.trimEnd()
		.split('\n')
		.map((line) => {
			const [, frames = '', value] = /^(.*) (\d+)$/.exec(line) ?? assert.fail(line);
			return [frames.split(';'), Number(value)];
		});
}

/** Under emulation a program of ours takes as long as the system call it watches: test/vm/guest.ts. */
export const SLACK = process.env.TSTRACE_EMULATED ? 8 : 1;

export function near(actual: number, expected: number, within: number, what: string): void {
	const margin = within * SLACK;
	const off = Math.abs(actual - expected);
	assert.ok(off <= margin, `${what}: ${actual}, not ${expected}; ${off} off, ${margin} allowed`);
}

/** Traces a workload's work from its begin to its end. */
export async function traceWork(
	workload: Workload,
	args: readonly string[],
	env: Readonly<Record<string, string>> = {},
): Promise<{ finished: Finished; done: number[] }> {
	const tracing = await Tracing.start(args, env);
	const done = await workload.work();
	const finished = await tracing.end('SIGINT');
	await workload.end();
	return { finished, done };
}

/** How often a run is made again. */
const TRIES = 3;

/**
 * What a run finds that does not have to begin before tstrace has read which function calls which in a file: on a busy
 * machine that takes longer than tstrace waits, and it says so. After some tries, what the last one finds.
 */
export async function withTables<T extends Pick<StackReport, 'stacks'>>(
	run: () => Promise<T>,
): Promise<T> {
	let found = await run();
	for (let left = TRIES; left > 0 && found.stacks.some(({ cut }) => cut === 'no table'); left--)
		found = await run();
	return found;
}

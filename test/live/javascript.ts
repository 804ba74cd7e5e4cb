/** What tests of JavaScript's names share: the workload, and what its names have to be. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unseenIn } from './reports.js';
import {
	assertSources,
	type JsonStack,
	type StackReport,
	stackReport,
	sumOf,
	traceWork,
	withFrame,
	withTables,
} from './stacks.js';
import { runToEnd, TSTRACE, Workload } from './support.js';

const SCRIPTS = fileURLToPath(new URL('../workloads/javascript', import.meta.url));
/** The workload. */
export const SCRIPT = join(SCRIPTS, 'functions.mjs');

/** Of those that are in the workload: "name (file:line)". */
export const FUNCTION = /^(?:[\w.]+\.)?(\w+) \((\/.*\.[cm]js):(\d+)\)$/;
/** What a function of JavaScript's is shown as that has no name. */
const NAMELESS = /^(\[anon\]|\[jit\]|Builtins_InterpreterEntryTrampoline)$/;

/** What sets the fields of a class is named as the class, and is where the first field is. */
const FIRST_FIELDS: Readonly<Record<string, string>> = { Chain: '#times' };

function lineOf(file: string, number: number): string {
	return readFileSync(file, 'utf8').split('\n')[number - 1] ?? '';
}

/**
 * Each function that is named is where its name says: in the file's source, its line has it. What JSON says of them
 * beside is the same. Returns their names.
 */
export function assertInSource(stacks: readonly JsonStack[]): Set<string> {
	assertSources(stacks, FUNCTION);
	const met = new Set(stacks.flatMap(({ frames }) => frames).filter((name) => FUNCTION.test(name)));
	for (const name of met) {
		const [, its = '', file = '', number] = FUNCTION.exec(name) ?? [];
		if (!file.startsWith(SCRIPTS) || its === 'anonymous') continue;
		const line = lineOf(file, Number(number));
		const field = FIRST_FIELDS[its];
		if (field && line.includes(field)) continue;
		assert.match(line, new RegExp(`\\b${its}\\b`), name);
	}
	return new Set([...met].map((name) => FUNCTION.exec(name)?.[1] ?? ''));
}

/** Of modules of Node.js's own: "name (node:module:line)". */
const MODULE_FUNCTION = /^(.+) \(node:([\w/.-]+)(?::(\d+))?\)$/;

/** Functions of modules of Node.js's own are where that version says: their lines have their names. */
export function assertInModules(node: string, stacks: readonly JsonStack[]): void {
	const print = 'process.stdout.write(JSON.stringify(process.binding("natives")))';
	const told = execFileSync(node, ['--no-warnings', '-e', print], {
		encoding: 'utf8',
		maxBuffer: 64 << 20,
	});
	const sources: Readonly<Record<string, string>> = JSON.parse(told);
	const met = new Set(
		stacks.flatMap(({ frames }) => frames).filter((name) => MODULE_FUNCTION.test(name)),
	);
	assert.ok(met.size >= 3, [...met].join('\n'));
	for (const frame of met) {
		const [, name = '', module = '', number] = MODULE_FUNCTION.exec(frame) ?? [];
		assert.ok(number !== undefined, frame);
		const line = (sources[module] ?? assert.fail(frame)).split('\n')[Number(number) - 1] ?? '';
		const word = /\w+$/.exec(name)?.[0] ?? '';
		// A class is named where its constructor is.
		if (/\bconstructor\b/.test(line)) continue;
		if (name !== '(anonymous)')
			assert.match(line, new RegExp(`\\b${word}\\b`), `${frame}: ${line}`);
	}
}

/** The share of what is counted whose frames of JavaScript have names, of all that has such frames. */
export function namedShare(stacks: readonly JsonStack[]): number {
	let named = 0;
	let nameless = 0;
	for (const { frames, kinds, value } of stacks)
		for (const [i, frame] of frames.entries()) {
			if (NAMELESS.test(frame)) nameless += value;
			else if (/[js]/.test(kinds[i] ?? '')) named += value;
		}
	assert.ok(named > 0);
	return named / (named + nameless);
}

/** Whether these follow one another in a stack, with whatever in between. */
export function isChain({ frames }: JsonStack, names: readonly string[]): boolean {
	let at = 0;
	for (const frame of frames) if (frame.startsWith(`${names[at]} (`)) at++;
	return at === names.length;
}

/** What a tool finds in two seconds of the workload, run by this Node.js with these flags. */
export async function traced(
	node: string,
	tool: string,
	flags: readonly string[],
	...args: string[]
): Promise<StackReport> {
	return withTables(async () => {
		const workload = await Workload.startBy(node, ...flags, SCRIPT);
		const run = ['--json', '-p', `${workload.pid}`, ...args, '2'];
		const report = stackReport(runToEnd(TSTRACE, [tool, ...run]));
		await workload.end();
		// With --perf-basic-prof.
		rmSync(`/tmp/perf-${workload.pid}.map`, { force: true });
		return report;
	});
}

/** All waits of a script that says at its end how often it has waited. */
function tracedWaits(node: string, script: readonly string[], options: readonly string[] = []) {
	return withTables(async () => {
		const workload = await Workload.startBy(node, ...script);
		const args = ['offcputime', '-p', `${workload.pid}`, '--exact', '--json', '--state', 'S'];
		const { finished, done } = await traceWork(workload, [...args, ...options]);
		return { ...stackReport(finished), done };
	});
}

/** Functions that were put into the code of their callers are in each stack, in order, and as often as they waited. */
export async function assertInlined(node: string, flags: readonly string[]): Promise<void> {
	const traceInlined = async (...options: string[]) => {
		const { stacks, lost, done } = await tracedWaits(
			node,
			[...flags, join(SCRIPTS, 'inlined.cjs')],
			options,
		);
		return { waits: withFrame(stacks, /AtomicsWait/), lost, done };
	};
	const { waits, lost, done } = await traceInlined();
	const named = waits.map((stack) => {
		const names = stack.frames.filter((_, i) => stack.kinds[i] === 's').map(nameOf);
		return { ...stack, way: names.slice(names.indexOf('outermost')).join(' ') };
	});
	const counts = ['byOne', 'byOther'].map((by) => {
		const way = `outermost middle ${by} addInlined waitHere`;
		return sumOf(
			named.filter((stack) => stack.way === way),
			'count',
		);
	});
	const others = named.filter(
		({ way }) => !/^outermost middle by\w+ addInlined waitHere$/.test(way),
	);
	assert.deepEqual(
		others.map(({ way }) => way),
		[],
	);
	for (const [i, count] of counts.entries())
		assert.ok(
			count >= (done[i] ?? 0) - unseenIn(lost) - 0.01 * (done[i] ?? 0),
			`${counts} of ${done}`,
		);
	// V8 waits once more at times; each way as often.
	assert.ok(Math.abs((2 * (counts[0] ?? 0)) / (counts[1] ?? 1) - 1) < 0.1, `${counts} of ${done}`);
	// They have no frames of their own.
	const native = (await traceInlined('--runtime-frames', 'native')).waits;
	const compiled = (name: string) => name === '[anon]' || name === '[jit]';
	const few = native.filter(({ frames }) => frames.filter(compiled).length < 5);
	assert.ok(sumOf(few, 'count') > 0.5 * sumOf(native, 'count'));
}

/** A function that was optimised as it called another one, and no longer is, is in the stack as before. */
export async function assertDeoptimised(node: string): Promise<void> {
	const { stacks, done } = await tracedWaits(node, [join(SCRIPTS, 'deoptimised.cjs')]);
	const waits = withFrame(stacks, /AtomicsWait/);
	assert.ok(sumOf(waits) >= 0.99e6 * (done[0] ?? 0));
	for (const { frames } of waits) {
		const names = frames.map(nameOf);
		const chain = ['outermost', 'callInBetween', 'changeAndWait'];
		assert.deepEqual(
			names.slice(names.indexOf('outermost'), names.indexOf('changeAndWait') + 1),
			chain,
		);
	}
}

const nameOf = (frame: string): string => FUNCTION.exec(frame)?.[1] ?? frame;

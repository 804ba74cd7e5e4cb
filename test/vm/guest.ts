/**
 * Runs inside a machine of the matrix: says what it is, how tools go about it here, and runs their tests; or says what
 * walks of user stacks cost.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { arch, release } from 'node:os';
import { createInterface } from 'node:readline';
import { walkCosts } from '../../bench/walks/costs.js';
import { isRealtime, kernelSigns } from '../../src/loader/realtime.js';
import { kernelBytesOf } from '../live/kernel-bytes.js';
import { FEATURES, featureNames } from './features.js';
import { decode, encode, type Line, type TestResult } from './lines.js';
import {
	type Extent,
	FILE,
	NOT_OF_SCHED_EXT,
	SCHED_EXT,
	TOOLS,
	type ToolTests,
	WALKS,
} from './matrix.js';
import { schedule, schedules } from './sched-ext.js';

const TOOL_TIMEOUT_MS = 120_000;
const FILE_TIMEOUT_MS = 900_000;
const LOOK_PERIOD_MS = 100;

const words = (/\btstrace=(\S+)/.exec(readFileSync('/proc/cmdline', 'utf8'))?.[1] ?? 'quick').split(
	',',
);
/** With the names of tools after it, of only these; and of only these files of tests. */
const isSchedExt = words.includes(SCHED_EXT);
const [said = '', ...only] = words.filter((word) => !word.startsWith(FILE) && word !== SCHED_EXT);
const onlyFiles = words.flatMap((word) => (word.startsWith(FILE) ? word.slice(FILE.length) : []));
const extent = said as Extent;

function say(line: Line): void {
	process.stdout.write(encode(line));
}

async function sayHook({ tool, args }: ToolTests): Promise<void> {
	const child = spawn('bin/tstrace', [tool, '-v', ...args], {
		stdio: ['ignore', 'ignore', 'pipe'],
		timeout: TOOL_TIMEOUT_MS,
	});
	child.on('error', () => {});
	let kernel_bytes = 0;
	const timer = setInterval(() => {
		kernel_bytes = Math.max(kernel_bytes, kernelBytesOf(child.pid as number));
	}, LOOK_PERIOD_MS);
	const stderr = (await child.stderr.setEncoding('utf8').toArray()).join('');
	clearInterval(timer);
	const because = new RegExp(`^${tool}: (.*)$`, 'm').exec(stderr)?.[1] ?? '';
	const began = /^Tracing /m.test(stderr);
	say({
		type: 'hook',
		tool,
		because,
		began,
		stderr: began ? '' : stderr.slice(-3000),
		kernel_bytes,
	});
}

async function runTests(tests: ToolTests): Promise<void> {
	const { tool, file, also = {}, shared = {}, truths, not = {} } = tests;
	const left = Object.keys(not).map((name) => `${escaped(name)}$`);
	if (extent === 'all') await runFile(tool, file, [`^(?!${left.join('|') || '$'})`]);
	else await runFile(tool, file, extent === 'one' ? truths.slice(0, 1) : truths);
	for (const [each, few] of Object.entries(also)) {
		const pattern = extent === 'all' ? '.' : few[extent];
		if (pattern !== undefined) await runFile(tool, each, [pattern]);
	}
	for (const [each, few] of Object.entries(shared)) {
		const pattern = extent === 'all' ? '' : few[extent];
		if (pattern !== undefined) await runFile(tool, each, [`^${tool}: .*(${pattern})`]);
	}
}

/** Runs the tests of a file that one of the patterns names, and those that failed once more. */
async function runFile(tool: string, file: string, patterns: readonly string[]): Promise<void> {
	if (onlyFiles.length > 0 && !onlyFiles.includes(file)) return;
	if (isSchedExt && NOT_OF_SCHED_EXT.includes(file)) return;
	const failed = await runOnce(tool, file, patterns, false);
	if (failed.length === 0) return;
	const names = failed.map((name) => `^${escaped(name)}$`);
	await runOnce(tool, file, names, true);
}

/**
 * Returns the names of tests that failed. A pattern that names no test is a failure without a test to
 * name, and so is a file that does not end well by itself. The file is run without `--test`, which
 * would start a node to start this one: seconds where instructions are emulated.
 */
async function runOnce(
	tool: string,
	file: string,
	patterns: readonly string[],
	again: boolean,
): Promise<string[]> {
	const began_ms = performance.now();
	const child = spawn(
		process.execPath,
		[
			'--enable-source-maps',
			...['--test-reporter=./build/test/test/vm/reporter.js', '--test-reporter-destination=stdout'],
			...patterns.map((pattern) => `--test-name-pattern=${pattern}`),
			`build/test/test/live/${file}.test.js`,
		],
		{
			stdio: ['inherit', 'pipe', 'inherit'],
			timeout: FILE_TIMEOUT_MS,
			env: { ...process.env, TSTRACE_TOOL: tool, TSTRACE_EMULATED: '1', TSTRACE_VM: '1' },
		},
	);
	const tests: TestResult[] = [];
	createInterface({ input: child.stdout }).on('line', (text) => {
		const line = decode(text);
		if (line?.type !== 'test') return;
		tests.push(line);
		say({ ...line, ...(again ? { again } : {}) });
	});
	const [status, signal] = await once(child, 'close');
	const failed = tests.flatMap(({ name, result }) => (result === 'failed' ? name : []));
	const fail = (name: string, why: string) => {
		const ms = Math.round(performance.now() - began_ms);
		say({ type: 'test', tool, name, result: 'failed', why, ms });
	};
	if (status === null) fail(file, `did not end by itself: ${signal}`);
	else if (status !== 0 && failed.length === 0) fail(file, `ended with status ${status}`);
	for (const pattern of patterns)
		if (status !== null && !tests.some(({ name }) => new RegExp(pattern).test(name)))
			fail(`${file}, ${pattern}`, 'there is no such test');
	return failed;
}

/** As its log says it: a lock that is wrong here, a thread that sleeps where it must not, a CPU that hangs. */
function warnings(): string[] {
	const WARNING =
		/WARNING: |BUG: |INFO: (rcu|task|trying|possible|inconsistent)|Call [Tt]race|rcu:.*stall|soft lockup|Oops/;
	const { stdout, status } = spawnSync('dmesg', { encoding: 'utf8' });
	if (status !== 0) return ['its log cannot be read'];
	const lines = stdout.split('\n').filter((line) => WARNING.test(line));
	return isSchedExt && !schedules() ? [...lines, 'sched_ext: the scheduler was ended'] : lines;
}

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

if (isSchedExt) schedule();
/** Emulation is slow: what the kernel says of its own start is not ours. */
const atBoot = new Set(warnings());
const tools = TOOLS.filter(({ tool }) => only.length === 0 || only.includes(tool));
say({
	type: 'facts',
	release: release(),
	arch: arch(),
	realtime: isRealtime(kernelSigns()),
	features: Object.fromEntries(featureNames.map((name) => [name, FEATURES[name].present()])),
});
if (said === WALKS) {
	for (const cost of await walkCosts()) say({ type: 'walk', ...cost });
} else {
	for (const toolTests of tools) {
		await sayHook(toolTests);
		const { needs } = toolTests;
		if (!needs || FEATURES[needs].present()) await runTests(toolTests);
	}
}
say({ type: 'warnings', lines: warnings().filter((line) => !atBoot.has(line)) });
say({ type: 'end' });

/**
 * A stripped program of a recent Go: esbuild, which the build brings with it, at its work. Its stacks are whole, with
 * names, also across the stacks that Go's runtime changes between. Programs built for the purpose: test/golang.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type JsonStack, stackReport } from './stacks.js';
import { tstrace, Workload } from './support.js';

/** Has esbuild shorten a long program, again and again; says its number. */
const WORK = `
const processes = require('node:child_process');
const { spawn } = processes;
let service;
processes.spawn = (...args) => (service = spawn(...args));
const { transform } = require('esbuild');
const part = (i) => 'export function f' + i + '(first, second) { return first ? [second, ' + i + '] : {}; }';
const text = Array.from({ length: 20000 }, (_, i) => part(i)).join('\\n');
const again = () => transform(text, { minify: true }).then(again);
transform(text).then(() => {
	console.log('ready', service.pid, service.pid);
	again();
});
process.stdin.resume();
process.stdin.on('end', () => process.exit());
`;

/** Of goroutines, of threads, and of the scheduler's stack. */
const FIRST = /^runtime\.(goexit|mstart|mcall|morestack|clone|rt0_go)$/;
/** A thread may be between two stacks. */
const MAX_CUT = 0.02;
const SECONDS = '3';

const userFrames = ({ frames, kinds }: JsonStack) => frames.filter((_, i) => kinds[i] !== 'k');
const sum = (stacks: readonly JsonStack[]) => stacks.reduce((all, { value }) => all + value, 0);
const shown = (stacks: readonly JsonStack[]) =>
	stacks.map((stack) => `[${stack.cut}] ${userFrames(stack).join(' ')}`).join('\n');

/** On a busy machine tables come late, and a thread that waits as tracing ends goes on while its stack is read. */
const isLate = (stack: JsonStack) =>
	stack.cut === 'no table' || (stack.cut === 'no way on' && userFrames(stack).length === 1);

/** Those that are whole, of a trace in which hardly any are not. */
async function traced(...tool: readonly string[]): Promise<string[][]> {
	const workload = await Workload.startBy(process.execPath, '-e', WORK);
	try {
		const run = tstrace([...tool, '--json', '-p', `${workload.pid}`, SECONDS]);
		const stacks = stackReport(run).stacks.filter((stack) => userFrames(stack).length > 0);
		const cut = stacks.filter((stack) => stack.cut && !isLate(stack));
		assert.ok(sum(cut) <= MAX_CUT * sum(stacks), shown(cut));
		const whole = stacks.filter((stack) => !stack.cut);
		for (const stack of whole) {
			assert.match(userFrames(stack)[0] ?? '', FIRST, shown([stack]));
			assert.ok(!userFrames(stack).some((name) => name.startsWith('esbuild+0x')), shown([stack]));
		}
		return whole.map(userFrames);
	} finally {
		await workload.end();
	}
}

const has = (names: readonly string[], pattern: RegExp) => names.some((name) => pattern.test(name));

test("samples: esbuild's functions, and who needed the work of Go's runtime", async () => {
	const stacks = await traced('profile');
	const parses = stacks.filter((names) => has(names, /^github\.com\/evanw\/esbuild\//));
	assert.ok(parses.length > 0 && parses.every(([first]) => first === 'runtime.goexit'));
	// Garbage is collected on the stack of the scheduler, for a function that is on another one.
	const collects = stacks.filter((names) => names.includes('runtime.systemstack'));
	assert.ok(collects.length > 0);
	if (process.arch === 'x64')
		assert.ok(collects.some((names) => names.indexOf('runtime.systemstack') > 1));
});

test('waits: each begins where its stack begins', async () => {
	const stacks = await traced('offcputime');
	assert.ok(stacks.some((names) => names[0] === 'runtime.mcall'));
	assert.ok(stacks.some((names) => names[0] === 'runtime.mstart'));
});

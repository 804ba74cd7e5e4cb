/** Threads of a Go program, as it is and stripped: each of their stacks has all functions on its way, and its names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type JsonStack, stackReport } from '../live/stacks.js';
import { tstrace, Workload } from '../live/support.js';
import { BUILDS, built } from './builds.js';

/** First functions of Go's stacks: of goroutines, of threads, of the scheduler's; and of threads and programs. */
const FIRST =
	/^(runtime\.(goexit|mstart|mcall|systemstack|morestack|clone|rt0_go)|_rt0_amd64_linux|_start|__clone3)$/;

const OFF_CPU = ['offcputime', '--exact', '--no-edges'];
const ON_CPU = ['profile', '-F', '499'];
const SECONDS = '2';

/** The functions t… and c_… of test/golang/ways.go, root first, of each of its threads. */
const WAYS = [
	`tDeep ${Array(91).fill('tRecurses').join(' ')} tLeaf`,
	'tMethods tInterface (*square).tMethod square.tMethod tLeaf',
	'tGenerics tGeneric tLeaf',
	'tPanics tRecovers tLeaf',
	'tAllocates tLeaf',
];
/** Of those that spend their time in the kernel. */
const WAYS_OF_PIPES = ['tReads', 'tWrites tLeaf'];
const WAYS_IN_C = ['tCallsC c_calls c_leaf', 'tCalledBack c_calls_back tLeaf'];
/** Closures, and what a compiler makes to call C, are others. */
const OURS = /^(main\.(\(\*square\)\.|square\.)?t[A-Z]\w*|c_\w+)$/;
const OF_C = /(^| )c_\w+/g;

const userFrames = ({ frames, kinds }: JsonStack) =>
	frames
		.filter((_, i) => kinds[i] !== 'k')
		.map((name) => name.replace(/\.abi(0|internal)$/, '').replace(/\[.*\]/, ''));

/** Our functions, root first. */
const wholeWayOf = (stack: JsonStack) =>
	userFrames(stack)
		.filter((name) => OURS.test(name))
		.map((name) => name.replace('main.', ''))
		.join(' ');

const without = (way: string, isStripped: boolean) =>
	isStripped ? way.replace(OF_C, '').trim() : way;

const shown = (stack: JsonStack) => `[${stack.cut ?? 'whole'}] ${userFrames(stack).join(' ')}`;

/** Of what was counted; the rest went on while it was read, or had just come to where no table says how. */
const MAX_CUT = 0.01;

function assertTrue(
	stacks: readonly JsonStack[],
	ways: readonly string[],
	seen: readonly string[],
) {
	for (const stack of stacks) {
		if (stack.cut || userFrames(stack).length === 0) continue;
		assert.match(userFrames(stack)[0] ?? '', FIRST, shown(stack));
		const way = wayOf(stack);
		assert.ok(
			[...ways, 'tReads'].some((each) => `${each} `.startsWith(way && `${way} `)),
			shown(stack),
		);
		for (const name of userFrames(stack))
			assert.doesNotMatch(name, /^(golang|ways).*\+0x/, shown(stack));
	}
	const whole = stacks.filter(({ cut }) => !cut);
	for (const way of ways)
		assert.ok(
			whole.some((stack) => wayOf(stack) === way),
			`no "${way}" in\n${stacks.map(shown).join('\n')}`,
		);
	const sum = (some: readonly JsonStack[]) => some.reduce((all, { value }) => all + value, 0);
	const cut = stacks.filter((stack) => stack.cut);
	assert.ok(sum(cut) <= MAX_CUT * sum(stacks), cut.map(shown).join('\n'));
}

for (const build of BUILDS) {
	const { name, hasC = false, isStripped } = build;
	const inC = hasC ? WAYS_IN_C.map((way) => without(way, isStripped)) : [];
	const all = [...WAYS, ...WAYS_OF_PIPES, ...inC];
	// It hardly runs.
	const spinning = all.filter((way) => way !== 'tReads');
	for (const [mode, tool] of [
		['naps', OFF_CPU],
		['spins', ON_CPU],
	] as const) {
		test(`${name}: ${tool[0]} while it ${mode}`, async () => {
			const workload = await Workload.startBy(built(build), mode);
			try {
				const run = tstrace([...tool, '--json', '-p', `${workload.starter}`, SECONDS]);
				assertTrue(stackReport(run).stacks, isStripped, mode === 'naps' ? all : spinning);
			} finally {
				await workload.end();
			}
		});
	}
}

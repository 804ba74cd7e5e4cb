/** Threads of a Go program, as it is and stripped: each of their stacks has all functions on its way, and its names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type JsonStack, stackReport } from '../live/stacks.js';
import { tstrace, Workload } from '../live/support.js';
import { BUILDS, built } from './builds.js';

/** First functions of Go's stacks: of goroutines, of threads, of the scheduler's; and of threads and programs. */
const FIRST =
	/^(runtime\.(goexit|mstart|mcall|systemstack|morestack|clone|rt0_go)|_rt0_amd64_linux|_start|_*clone3?)$/;

const OFF_CPU = ['offcputime', '--exact', '--no-edges'];
const ON_CPU = ['profile'];
const SECONDS = '4';

/** The functions t… and c_… of test/golang/ways.go, root first, of each of its threads. */
const WAYS = [
	`tDeep ${Array(91).fill('tRecurses').join(' ')} tLeaf`,
	'tMethods tInterface (*square).tMethod square.tMethod tLeaf',
	'tGenerics tGeneric tLeaf',
	'tPanics tRecovers tLeaf',
	'tAllocates tLeaf',
	'tWrites tLeaf',
];
/** Spends its time in the kernel. */
const READS = 'tReads';
const WAYS_IN_C = ['tCallsC c_calls c_leaf', 'tCalledBack c_calls_back tLeaf'];
/** Closures, and what a compiler makes to call C, are others. */
const OURS = /^(main\.(\(\*square\)\.|square\.)?t[A-Z]\w*|c_\w+)$/;

const userFrames = ({ frames, kinds }: JsonStack) =>
	frames
		.filter((_, i) => kinds[i] !== 'k')
		.map((name) => name.replace(/\.abi(0|internal)$/, '').replace(/\[.*\]/, ''));

/** Stripped programs may lack the names of what is C. */
const named = (way: string, isStripped: boolean) =>
	isStripped ? way.replace(/(^| )c_\w+/g, '').trim() : way;

/** Our functions, root first. */
const wayOf = (stack: JsonStack, isStripped: boolean) => {
	const ours = userFrames(stack).filter((name) => OURS.test(name));
	return named(ours.map((name) => name.replace('main.', '')).join(' '), isStripped);
};

const shown = (stack: JsonStack) => `[${stack.cut ?? 'whole'}] ${userFrames(stack).join(' ')}`;

/** Of what was counted: a thread may be between two stacks. */
const MAX_CUT = 0.01;
/** On a busy machine tables come late, and a thread that waits as tracing ends goes on while its stack is read. */
const isLate = (stack: JsonStack) =>
	stack.cut === 'no table' || (stack.cut === 'no way on' && userFrames(stack).length === 1);

const sum = (some: readonly JsonStack[]) => some.reduce((all, { value }) => all + value, 0);

/** All that is whole is on one of these ways, and each of them is seen. */
function assertTrue(stacks: readonly JsonStack[], isStripped: boolean, ways: readonly string[]) {
	const whole = stacks.filter((stack) => !stack.cut && userFrames(stack).length > 0);
	const seen = new Set(whole.map((stack) => wayOf(stack, isStripped)));
	for (const stack of whole) {
		assert.match(userFrames(stack)[0] ?? '', FIRST, shown(stack));
		const way = wayOf(stack, isStripped);
		const isOnWay = [...ways, READS].some((each) => `${each} `.startsWith(way && `${way} `));
		assert.ok(isOnWay, shown(stack));
	}
	const all = stacks.map(shown).join('\n');
	for (const way of ways) assert.ok(seen.has(way), `no "${way}" in\n${all}`);
	const cut = stacks.filter((stack) => stack.cut && !isLate(stack));
	assert.ok(sum(cut) <= MAX_CUT * sum(stacks), cut.map(shown).join('\n'));
}

for (const build of BUILDS) {
	const { name, hasC = false, isStripped } = build;
	const inC = hasC ? WAYS_IN_C.map((way) => named(way, isStripped)) : [];
	const traced = async (tool: readonly string[], mode: string, ways: readonly string[]) => {
		const workload = await Workload.startBy(built(build), mode);
		try {
			const run = tstrace([...tool, '--json', '-p', `${workload.starter}`, SECONDS]);
			assertTrue(stackReport(run).stacks, isStripped, ways);
		} finally {
			await workload.end();
		}
	};
	test(`${name}: each wait has all functions on its way`, async () => {
		await traced(OFF_CPU, 'naps', [...WAYS, READS, ...inC]);
	});
	test(`${name}: each sample has all functions on its way`, async () => {
		await traced(ON_CPU, 'spins', [...WAYS, ...inC]);
	});
}

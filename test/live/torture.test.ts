/**
 * Stacks that are hard to walk, of waits and of samples: each thread's functions are known, and what is said of them is
 * right, whatever the compiler has made of them. One trace of all threads for each build.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { needsNarrowCalls } from './narrow-calls.js';
import { type JsonStack, SLACK, stackReport } from './stacks.js';
import { needs, Tracing, until, Workload } from './support.js';
import { schedstat, switches } from './times.js';
import { assertTrue, parted, shown, type Truth, userFrames, wayOf } from './torture-ways.js';

/** Programs ask for unwind tables by a ring buffer. */
const BY_TABLES = needs('a ring buffer');
const WAITS = ['offcputime', '--exact', '--no-edges'];
const SAMPLES = ['profile', '-F', '999'];
const DEPTH = 127;
/** Until each thread has waited that often, or they have run that long in all, after unwind tables were there. */
const ENOUGH_WAITS = 100;
const ENOUGH_NS = (SLACK > 1 ? 4 : 1) * 2.5e9;

/** Of a process; the first one of several waits for us. */
function threadsOf(pid: number): number[] {
	const tids = readdirSync(`/proc/${pid}/task`).map(Number);
	return tids.length > 1 ? tids.filter((tid) => tid !== pid) : tids;
}

async function untilWaited(pid: number): Promise<void> {
	const tids = threadsOf(pid);
	const before = tids.map(switches);
	await until(() => tids.every((tid, i) => switches(tid) > (before[i] ?? 0) + ENOUGH_WAITS));
}

async function untilRun(pid: number): Promise<void> {
	const ran_ns = () => threadsOf(pid).reduce((sum, tid) => sum + schedstat(tid).run_ns, 0);
	const before_ns = ran_ns();
	await until(() => ran_ns() > before_ns + ENOUGH_NS);
}

/** Many threads that spin, or are walked all the time, leave tstrace the time that it needs. */
const OF_MANY = 19;
/** One thread does so with less, and gets its time on a busy machine. */
const OF_ONE = 5;

/** Traces a workload whose threads do the same all the time. */
async function traced(name: string, mode: string, tool: readonly string[], niceness = OF_MANY) {
	const file = resolve('build/workloads', name);
	const workload = await Workload.startBy('nice', '-n', `${niceness}`, file, mode);
	try {
		const { starter } = workload;
		const tracing = await Tracing.start([...tool, '-v', '--json', '-p', `${starter}`]);
		await tracing.says(/has read the unwind tables of/);
		await (mode === 'spins' ? untilRun(starter) : untilWaited(starter));
		return stackReport(await tracing.end('SIGINT')).stacks;
	} finally {
		await workload.end();
	}
}

/** Of test/workloads/torture.c, without what is lost or rewritten. */
const TRUTH: Truth = {
	whole: [
		't_1 t_aligned t_alloca t_leaf t_once',
		't_2 t_recurses*101 t_leaf t_once',
		't_18 t_recurses*118 t_leaf t_once',
		't_5 t_never t_leaf t_once',
		't_6 t_set_jumps t_long_jumps t_once',
		't_6 t_set_jumps t_once',
		't_7 t_raises * t_handler t_aligned t_alloca t_leaf t_once',
		't_8 t_calls_faulting t_faults * t_handler t_aligned t_alloca t_leaf t_once',
		't_15 t_rewrites',
	],
	cut: [
		't_4 t_recurses*501 t_leaf t_once',
		't_coroutine t_alloca t_leaf t_once',
		't_10 t_calls_bare t_bare t_leaf t_once',
		// A frame pointer of 0 in code made at run time is no end.
		't_by_made t_leaf t_once',
	],
	guessed: [
		// As deep as a stack may be; in newer C libraries too deep.
		't_3 t_recurses*120 t_leaf t_once',
		't_16 t_calls_plt t_once',
		't_16 t_calls_plt',
		't_9 * t_coroutine t_alloca t_leaf t_once',
		't_10 t_bare t_leaf t_once',
		// Compilers for arm64 keep no frame pointers at all where they need not.
		...(process.arch === 'arm64' ? ['t_bare t_leaf t_once'] : []),
	],
};
/** Those whose stack pointer is anything, and the one whose stack is rewritten; its own function leads on to others. */
const LOST = ['t_lost', 't_lost_again'];
const REWRITTEN = ['t_victim'];

/** Whoever cannot be walked is cut, and shows nothing but what is so. */
function assertLost(lost: readonly JsonStack[], rewritten: readonly JsonStack[]): void {
	for (const stack of lost) {
		assert.ok(stack.cut, 'a stack pointer that is elsewhere leads to no end');
		assert.ok(
			userFrames(stack).every((name) => LOST.includes(name)),
			stack.frames.join(' '),
		);
	}
	for (const stack of rewritten) {
		const way = wayOf(stack);
		assert.match(way, /(^| )t_victim( t_leaf( t_once)?)?$/);
		if (!stack.cut) assert.match(way, /^t_14 t_padded t_victim/);
	}
}

function assertTortured(stacks: readonly JsonStack[], truth: Truth): void {
	const [lost, others] = parted(stacks, LOST);
	const [rewritten, rest] = parted(others, REWRITTEN);
	assert.ok(lost.length > 0 && rewritten.length > 0, shown(stacks));
	assertLost(lost, rewritten);
	assertTrue(rest, truth);
	for (const stack of stacks) {
		const count = userFrames(stack).length;
		assert.ok(count <= DEPTH);
		if (stack.cut === 'too deep') assert.equal(count, DEPTH);
	}
	assert.ok(rest.some(({ cut }) => cut === 'too deep'));
}

/** Samples in the table of jumps; chance decides whether there is one among these stacks: else more are taken. */
async function pltSamples(name: string, stacks: readonly JsonStack[]): Promise<JsonStack[]> {
	const inPlt = (of: readonly JsonStack[]) =>
		of.filter(({ frames }) => frames.at(-1) === 'pthread_attr_setguardsize@plt');
	let found = inPlt(stacks);
	for (let left = 10; found.length === 0 && left > 0; left--)
		found = inPlt(await traced(name, 'spins', SAMPLES));
	return found;
}

for (const name of ['torture', 'torture-plain', 'torture-static', 'torture-static-pie']) {
	test(`offcputime: ${name}: each wait has all functions on its way`, BY_TABLES, async () => {
		const stacks = await traced(name, 'naps', WAITS);
		assertTortured(stacks, TRUTH);
		// One frame more would be too deep.
		assert.ok(stacks.some((stack) => !stack.cut && userFrames(stack).length === DEPTH));
	});
	test(
		`profile: ${name}: each sample has all functions on its way, also those in the vdso`,
		BY_TABLES,
		async () => {
			const stacks = await traced(name, 'spins', SAMPLES);
			// It spends its time asleep.
			const whole = TRUTH.whole.filter((way) => way !== 't_15 t_rewrites');
			assertTortured(stacks, {
				...TRUTH,
				whole,
				guessed: [...(TRUTH.guessed ?? []), 't_15 t_rewrites'],
			});
			const hasRules = process.arch === 'x64' && !name.includes('static');
			if (hasRules) {
				const inPlt = await pltSamples(name, stacks);
				assert.ok(
					inPlt.some(({ cut }) => !cut),
					`in the table of jumps:\n${shown(inPlt)}`,
				);
			}
			const isArm = process.arch === 'arm64';
			// The C library's function has the name that x86-64's vdso has, too.
			const vdso = isArm ? /^__kernel_clock_gettime$/ : /^(__vdso_)?clock_gettime$/;
			const inVdso = stacks.filter(({ frames }) => vdso.test(frames.at(-1) ?? ''));
			assert.ok(inVdso.some(({ cut }) => !cut));
			// The C library's function lies between.
			for (const stack of isArm ? inVdso : [])
				assert.notEqual(userFrames(stack).at(-2), 't_once', shown([stack]));
		},
	);
}

test('offcputime: torture-musl, which has no tables: cut, and nothing that is not so', async () => {
	const stacks = await traced('torture-musl', 'naps', WAITS);
	const [lost, others] = parted(stacks, LOST);
	const [, rest] = parted(others, REWRITTEN);
	assert.ok(lost.length > 0 && rest.length > 0);
	for (const stack of stacks) assert.ok(stack.cut, stack.frames.join(' '));
	assertTrue(rest, { whole: [], guessed: Object.values(TRUTH).flat() });
	// A symbol without a size reaches no further than its function.
	for (const stack of rest) assert.ok(!/^(memset|setjmp)$/.test(userFrames(stack).at(-1) ?? ''));
});

const EXCEPTIONS = [
	't_thread t_catches t_between t_unwound t_throws t_once',
	't_thread t_catches t_between t_unwound t_destructor t_once',
	't_thread t_catches t_once',
];

/**
 * In the last instructions of _Unwind_Resume: the way back leads to the next handler already, and the stack pointer
 * not yet (gcc's __builtin_eh_return); or the registers are the handler's already, so that the way from the function
 * that was unwound goes on as if it were the handler.
 */
const HALF_WAY = ['t_thread t_catches t_between t_catches', 't_thread t_unwound'];

for (const name of ['torture-throws', 'torture-throws-plain', 'torture-throws-static']) {
	test(`offcputime: ${name}: an exception in flight`, async () => {
		assertTrue(await traced(name, 'naps', WAITS), { whole: EXCEPTIONS });
	});
	test(`profile: ${name}: samples of the unwinder itself are whole, or cut where they are`, async () => {
		const stacks = await traced(name, 'spins', SAMPLES, OF_ONE);
		assertTrue(stacks, { whole: EXCEPTIONS, guessed: HALF_WAY });
	});
}

for (const name of process.arch === 'x64' ? ['torture-32', 'torture-32-plain'] : []) {
	test(
		`offcputime: ${name}: 32 bits, cut or with all functions, and nothing that is no code`,
		needsNarrowCalls(),
		async () => {
			const stacks = await traced(name, '', WAITS);
			assert.ok(stacks.length > 0);
			for (const stack of stacks) {
				assert.ok(stack.cut, stack.frames.join(' '));
				for (const frame of userFrames(stack)) assert.match(frame, /^torture-32(-plain)?\+0x/);
			}
		},
	);
}

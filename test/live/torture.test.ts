/**
 * Stacks that are hard to walk, of waits and of samples: each thread's functions are known, and what is said of them is
 * right, whatever the compiler has made of them. One trace of all threads for each build.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type JsonStack, stackReport } from './stacks.js';
import { tstrace, Workload } from './support.js';
import { assertTrue, parted, type Truth, userFrames, wayOf } from './torture-ways.js';

const WAITS = ['offcputime', '--exact', '--no-edges'];
const SAMPLES = ['profile', '-F', '999'];
const DEPTH = 127;
/** Where instructions are emulated, reading unwind tables takes seconds; the stacks of before are cut. */
const SLOW_SECONDS = process.env.TSTRACE_EMULATED === undefined ? undefined : '30';

/** Traces a workload whose threads do the same all the time. */
async function traced(name: string, mode: string, tool: readonly string[], seconds: string) {
	const workload = await Workload.start(name, mode);
	try {
		return stackReport(
			tstrace([...tool, '--json', '-p', `${workload.starter}`, SLOW_SECONDS ?? seconds]),
		).stacks;
	} finally {
		await workload.end();
	}
}

/** Of test/workloads/torture.c, without what is lost or rewritten. */
const TRUTH: Truth = {
	whole: [
		't_1 t_aligned t_alloca t_leaf t_once',
		't_2 t_recurses*101 t_leaf t_once',
		't_3 t_recurses*120 t_leaf t_once',
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
		't_16 t_calls_plt t_once',
		't_16 t_calls_plt',
		't_9 * t_coroutine t_alloca t_leaf t_once',
		't_10 t_bare t_leaf t_once',
	],
};
/** Those whose stack pointer is anything, and the one whose stack is rewritten; its own function leads on to others. */
const LOST = ['t_lost', 't_lost_again'];
const REWRITTEN = ['t_victim'];

/** Whoever cannot be walked is cut, and shows nothing but what is so. */
function assertLost(lost: readonly JsonStack[], rewritten: readonly JsonStack[]): void {
	assert.ok(lost.length > 0 && rewritten.length > 0);
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
	assertLost(lost, rewritten);
	assertTrue(rest, truth);
	for (const stack of stacks) {
		const count = userFrames(stack).length;
		assert.ok(count <= DEPTH);
		if (stack.cut === 'too deep') assert.equal(count, DEPTH);
	}
	assert.ok(rest.some(({ cut }) => cut === 'too deep'));
	// One frame more would be too deep.
	assert.ok(rest.some((stack) => !stack.cut && userFrames(stack).length === DEPTH));
}

for (const name of ['torture', 'torture-plain', 'torture-static', 'torture-static-pie']) {
	test(`offcputime: ${name}: each wait has all functions on its way`, async () => {
		assertTortured(await traced(name, 'naps', WAITS, '0.5'), TRUTH);
	});
	test(`profile: ${name}: each sample has all functions on its way, also those in the vdso`, async () => {
		const stacks = await traced(name, 'spins', SAMPLES, '1.5');
		// It spends its time asleep.
		const whole = TRUTH.whole.filter((way) => way !== 't_15 t_rewrites');
		assertTortured(stacks, {
			...TRUTH,
			whole,
			guessed: [...(TRUTH.guessed ?? []), 't_15 t_rewrites'],
		});
		const plt = stacks.filter(({ frames }) => frames.at(-1) === 'pthread_attr_setguardsize@plt');
		assert.equal(
			plt.some(({ cut }) => !cut),
			!name.includes('static'),
			'tables of jumps have rules',
		);
		assert.ok(stacks.some(({ frames }) => /^(__vdso_)?clock_gettime$/.test(frames.at(-1) ?? '')));
	});
}

test('offcputime: torture-musl, which has no tables: cut, and nothing that is not so', async () => {
	const stacks = await traced('torture-musl', 'naps', WAITS, '0.5');
	const [lost, others] = parted(stacks, LOST);
	const [, rest] = parted(others, REWRITTEN);
	assert.ok(lost.length > 0 && rest.length > 0);
	for (const stack of stacks) assert.ok(stack.cut, stack.frames.join(' '));
	assertTrue(rest, { whole: [], guessed: [...TRUTH.whole, ...(TRUTH.cut ?? [])] });
	// A symbol without a size reaches no further than its function.
	for (const stack of rest) assert.ok(!/^(memset|setjmp)$/.test(userFrames(stack).at(-1) ?? ''));
});

const EXCEPTIONS = [
	't_thread t_catches t_between t_unwound t_throws t_once',
	't_thread t_catches t_between t_unwound t_destructor t_once',
	't_thread t_catches t_once',
];

for (const name of ['torture-throws', 'torture-throws-plain', 'torture-throws-static']) {
	test(`offcputime: ${name}: an exception in flight`, async () => {
		assertTrue(await traced(name, 'naps', WAITS, '0.5'), { whole: EXCEPTIONS });
	});
	test(`profile: ${name}: samples of the unwinder itself are whole, or cut where they are`, async () => {
		const stacks = await traced(name, 'spins', SAMPLES, '0.5');
		assertTrue(stacks, { whole: EXCEPTIONS });
	});
}

for (const name of process.arch === 'x64' ? ['torture-32', 'torture-32-plain'] : []) {
	test(`offcputime: ${name}: 32 bits, cut or with all functions, and nothing that is no code`, async () => {
		const stacks = await traced(name, '', WAITS, '0.5');
		assert.ok(stacks.length > 0);
		for (const stack of stacks) {
			assert.ok(stack.cut, stack.frames.join(' '));
			for (const frame of userFrames(stack)) assert.match(frame, /^torture-32(-plain)?\+0x/);
		}
	});
}

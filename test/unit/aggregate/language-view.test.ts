import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shownStacks } from '../../../src/aggregate/keep-stacks.js';
import { languageFrames } from '../../../src/aggregate/language-view.js';
import type { Frame, FrameKind } from '../../../src/aggregate/stack.js';
import type { StackRow } from '../../../src/aggregate/stack-rows.js';
import { mainKind, splitByKind, waitKind } from '../../../src/aggregate/wait-kinds.js';

const KINDS: Readonly<Record<string, FrameKind>> = {
	...{ u: 'user', j: 'jit', i: 'inlined', k: 'kernel' },
	...{ s: 'javascript', p: 'python' },
};
/** "u:main j:f (a.js:1)": a frame each, root first. */
const framesOf = (...all: string[]): Frame[] =>
	all.map((text) => ({ kind: KINDS[text.charAt(0)] ?? 'user', name: text.slice(2) }));
const namesOf = (frames: readonly Frame[]) => frames.map(({ name }) => name);

function row(frames: readonly Frame[], value: number, waker?: readonly Frame[]): StackRow {
	const woken = waker && { waker: { key: { pid: 9, comm: 'db' }, frames: waker } };
	return {
		...{ key: { pid: 7, comm: 'node' }, frames, parts: [value], value, count: 1, variance: 0 },
		...woken,
	};
}

test('of a stack with functions of a language, these and what the kernel did are left', () => {
	const mixed = framesOf('u:main', 'u:Builtins_JSEntry', 's:turn', 'i:Call', 'j:burn', 'k:read');
	const native = framesOf('u:main', 'i:uv__run', 'k:epoll_wait');
	assert.deepEqual(namesOf(languageFrames(row(mixed, 1)).frames), ['turn', 'burn', 'read']);
	assert.deepEqual(languageFrames(row(native, 1)), row(native, 1));
	const { waker, frames } = languageFrames(row(native, 1, mixed));
	assert.deepEqual(namesOf(waker?.frames ?? []), ['turn', 'burn', 'read']);
	assert.deepEqual(frames, native);
});

test('stacks that read the same then are one, and keep all that was counted', () => {
	const stacks = [
		row(framesOf('u:main', 'j:turn', 'u:sha512'), 5),
		row(framesOf('u:start', 'j:turn', 'u:md5'), 8),
		row(framesOf('u:main', 'u:uv__run'), 2),
	];
	const findings = {
		kind: 'stacks',
		unit: 'samples',
		noun: 'sample',
		parts: ['samples'],
		stacks,
		notices: [],
		about: {},
	} as const;
	const view = { by: undefined, delimited: false, grep: undefined, exclude: undefined };
	const shown = (runtimeFrames: 'language' | 'both') =>
		shownStacks(findings, { ...view, runtimeFrames }, false).stacks.map(
			({ frames, value }) => `${namesOf(frames).join(';')} ${value}`,
		);
	assert.deepEqual(shown('language'), ['turn 13', 'main;uv__run 2']);
	assert.deepEqual(shown('both'), ['start;turn;md5 8', 'main;turn;sha512 5', 'main;uv__run 2']);
});

test('what kind of wait it was, frames tell that are not shown', () => {
	const library = { name: 'pthread_mutex_lock', kind: 'user', inCLibrary: true } as const;
	const stack = [...framesOf('j:turn'), library, ...framesOf('k:futex_wait', 'k:schedule')];
	const parts = { parts: ['blocked'] };
	assert.equal(mainKind(row(stack, 3), parts), 'lock');
	const shown = languageFrames(row(stack, 3));
	assert.equal(mainKind(shown, parts), 'lock');
	const about = { kind: 'stacks', unit: 'ns', noun: 'wait', about: {}, notices: [] } as const;
	const [split] = splitByKind({ ...about, ...parts, stacks: [shown] });
	assert.equal(split?.key.kind, 'lock');
});

test('where stacks are one that differ in frames that are not shown, most of the time tells its kind', () => {
	const stackOf = (call: string) => [
		...framesOf('j:turn'),
		{ name: call, kind: 'user', inCLibrary: true } as const,
		...framesOf('k:futex_wait', 'k:schedule'),
	];
	const parts = ['blocked', 'run queue', 'preempted', 'throttled'];
	const waited = (call: string, value: number) => ({
		...row(framesOf('k:schedule'), value, stackOf(call)),
		...{ frames: stackOf(call), parts: [value, 0, 0, 0] },
	});
	const [lock, condition] = ['pthread_mutex_lock', 'pthread_cond_wait'];
	for (const [stacks, kind] of [
		[[waited(lock, 3), waited(condition, 900), waited(lock, 4)], 'condition'],
		[[waited(condition, 3), waited(lock, 800)], 'lock'],
	] as const) {
		const findings = {
			kind: 'stacks',
			unit: 'ns',
			noun: 'wait',
			about: {},
			notices: [],
			parts,
			stacks,
		} as const;
		const filter = { grep: undefined, exclude: undefined };
		for (const by of ['process', 'comm'] as const) {
			const view = { ...filter, by, delimited: false, runtimeFrames: 'language' } as const;
			const shown = shownStacks(findings, view, true).stacks;
			assert.equal(shown.length, 1);
			const [sum] = shown as [StackRow];
			assert.equal(
				sum.value,
				stacks.reduce((all, { value }) => all + value, 0),
			);
			assert.equal(mainKind(sum, { parts }), kind);
			// Who ended that was blocked in the same way.
			assert.equal(waitKind(sum.waker?.walked ?? []), kind);
		}
	}
});

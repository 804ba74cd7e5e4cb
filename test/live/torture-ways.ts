/** What tests of stacks that are hard to walk share: how to compare them with the truth of test/workloads/torture*. */
import assert from 'node:assert/strict';
import type { JsonStack } from './stacks.js';

/**
 * First functions of threads, and on arm64 of coroutines; there a part of clone has a name of its own. The C library of a virtual
 * machine has no symbols.
 */
const FIRST = /^(_start|_*clone3?|thread_start|__startcontext|libc\.so\.6\+0x[0-9a-f]+)$/;
/** gcc names copies that it has made fit one caller so, and parts that are seldom run; names of C++ say what a function takes. */
const plainName = (name: string) =>
	name.replace(/\.(constprop\.\d+|isra\.\d+|part\.\d+|cold)$/, '').replace(/\(.*\)$/, '');

/** The user frames, root first. */
export const userFrames = ({ frames, kinds }: JsonStack): string[] =>
	frames.filter((_, i) => kinds[i] !== 'k').map(plainName);

/** Our functions, root first; "*" for those of others in between. */
export function wayOf(stack: JsonStack): string {
	const names = userFrames(stack).map((name) => (name.startsWith('t_') ? name : '*'));
	const way = names.join(' ').replace(/\*( \*)+/g, '*');
	return way.replace(/^\*( |$)/, '').replace(/ \*$/, '');
}

/** "t_f*3": three times. */
const written = (way: string): string =>
	way.replace(/(t_\w+)\*(\d+)/g, (_, name, count) => Array(Number(count)).fill(name).join(' '));

export const shown = (stacks: readonly JsonStack[]) =>
	stacks.map((stack) => `[${stack.cut ?? ''}] ${userFrames(stack).join(' ')}`).join('\n');

/** Ways: our functions, root first. */
export interface Truth {
	/** Each is seen, whole, with a thread in its last function. */
	readonly whole: readonly string[];
	/** Walks of these may be cut; at least the last three functions are seen. */
	readonly cut?: readonly string[];
	/** What need not be seen: what frame pointers lead through code without rules, and leave out: docs/stacks.md. */
	readonly guessed?: readonly string[];
}

/** A stack that is not cut is a way as far as the thread has gone; one that is cut, a part of a way. */
export function assertTrue(stacks: readonly JsonStack[], truth: Truth): void {
	const [whole, cut, guessed] = [truth.whole, truth.cut ?? [], truth.guessed ?? []].map((ways) =>
		ways.map(written),
	) as [string[], string[], string[]];
	const ways = [...whole, ...cut, ...guessed];
	for (const stack of stacks) {
		// A thread that begins is in the kernel alone.
		if (userFrames(stack).length === 0) continue;
		const way = wayOf(stack);
		const isPart = stack.cut
			? (each: string) => ` ${each} `.includes(way && ` ${way} `)
			: (each: string) => `${each} `.startsWith(way && `${way} `);
		assert.ok(ways.some(isPart), shown([stack]));
		if (stack.cut) continue;
		const [first = ''] = stack.frames;
		assert.match(first, FIRST, shown([stack]));
		// What begins, and has not come to our functions.
		const isElsewhere = first === '_start' || userFrames(stack).length <= 3;
		assert.ok(way || isElsewhere, shown([stack]));
	}
	const seen = stacks.filter(({ cut }) => !cut).map(wayOf);
	for (const way of whole) assert.ok(seen.includes(way), `no "${way}" in:\n${shown(stacks)}`);
	for (const way of cut) {
		const end = way.split(' ').slice(-3).join(' ');
		const has = stacks.some((stack) => wayOf(stack).endsWith(end));
		assert.ok(has, `no "${end}" in:\n${shown(stacks)}`);
	}
}

/** Those that have such a function on their way, and the others. */
export function parted(stacks: readonly JsonStack[], names: readonly string[]) {
	const has = (stack: JsonStack) => userFrames(stack).some((name) => names.includes(name));
	return [stacks.filter(has), stacks.filter((stack) => !has(stack))] as const;
}

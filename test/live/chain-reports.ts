/** What tests of chains of waits share: offwaketime --hops, and workloads whose truth is known. */
import assert from 'node:assert/strict';
import type { JsonStack, JsonWaker } from './stacks.js';

/** Causes of loss after which a wait of one of the threads may be missing. */
export const UNSEEN = ['waits_unseen', 'wait_start_unknown', 'programs_missed'];

/**
 * Here some switches are not reported by the kernel, which the run says: if a check fails then,
 * another run is made.
 */
export async function checkedRuns<R extends { readonly lost: Readonly<Record<string, number>> }>(
	run: () => Promise<R>,
	check: (run: R) => void,
): Promise<void> {
	for (let left = 10; ; left--) {
		const found = await run();
		try {
			check(found);
			return;
		} catch (error) {
			if (left === 0 || !UNSEEN.some((cause) => found.lost[cause])) throw error;
		}
	}
}

/** Who was waited for, one behind the other, and what they did. */
export function wakersOf({ wait }: JsonStack): JsonWaker[] {
	const wakers: JsonWaker[] = [];
	for (let each = wait?.waker; each; each = each.wait?.waker) wakers.push(each);
	return wakers;
}

/** "writer blocked in doze": whom the last one waited for, too. */
export const chainText = (stack: JsonStack) =>
	wakersOf(stack)
		.map(({ comm, did }) => (did ? `${comm} ${did}` : comm))
		.join(' < ');

export const ofChain = (stacks: readonly JsonStack[], text: string) =>
	stacks.filter((stack) => chainText(stack) === text);

/** Less than the whole by what a process needs to begin, on a busy machine, and no more than it. */
export function within(value: number, least: number, most: number, what: string): void {
	assert.ok(
		value >= 0.97 * least && value <= 1.03 * most,
		`${what}: ${value}, not ${least} to ${most}`,
	);
}

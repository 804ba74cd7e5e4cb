/** What the time of a wait is made of: bpf/lib/scheduling/off_cpu_parts.h. Pure values: no I/O, no kernel. */
import { offcpu_part } from '../generated/common.js';

const { OFFCPU_BLOCKED, OFFCPU_THROTTLED, OFFCPU_PARTS } = offcpu_part;

/** "blocked", "run queue", …, by their number in the kernel. */
export const WAIT_PARTS: readonly string[] = Object.entries(offcpu_part)
	.filter(([, number]) => number < OFFCPU_PARTS)
	.sort(([, a], [, b]) => a - b)
	.map(([name]) =>
		name
			.replace(/^OFFCPU_/, '')
			.replaceAll('_', ' ')
			.toLowerCase(),
	);

/** The first: where waits have no other part, it is in the same place. */
export const BLOCKED = WAIT_PARTS[OFFCPU_BLOCKED] as string;
export const THROTTLED = WAIT_PARTS[OFFCPU_THROTTLED] as string;

interface Wait {
	readonly parts: readonly number[];
}

/** How much of it was blocked. */
export const blockedOf = ({ parts }: Wait): number => parts[OFFCPU_BLOCKED] ?? 0;

/** What is not blocked, by part. */
export const othersOf = ({ parts }: Wait): number[] => withBlocked(parts, 0);

/** Whether it was blocked, and nothing else. */
export const isBlocked = (wait: Wait): boolean => othersOf(wait).every((part) => part === 0);

/** The same parts, but for what was blocked. */
export const withBlocked = (parts: readonly number[], blocked: number): number[] =>
	parts.map((part, number) => (number === OFFCPU_BLOCKED ? blocked : part));

/** All parts of a wait that was blocked, and nothing else. */
export const onlyBlocked = (blocked: number): number[] =>
	WAIT_PARTS.map((_, number) => (number === OFFCPU_BLOCKED ? blocked : 0));

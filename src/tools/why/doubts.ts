/** How sure a verdict is: how much of the time it may be wrong about, and why. Pure values: no I/O, no kernel. */
import { largest } from '../../aggregate/largest.js';
import type { Answer } from './answer.js';

/** Of the time: so large an error, or so much that was not seen, makes a verdict unsure. */
const MOST_DOUBT_SHARE = 0.1;
const LIKELY_DOUBT_SHARE = 0.03;

/** In a word. */
export function confidenceOf(share: number): 'sure' | 'likely' | 'unsure' {
	if (share > MOST_DOUBT_SHARE) return 'unsure';
	return share > LIKELY_DOUBT_SHARE ? 'likely' : 'sure';
}

/** Shares of the time in question. */
interface Doubts {
	readonly share: number;
	readonly because: string[];
}

/** How much of the working time the verdict may be wrong about. */
export function doubtsOf({
	reasons: [first],
	working_ns,
	unseen_ns,
	excess_ns,
	stays,
	mutual,
}: Answer): Doubts {
	if (!first) return { share: 1, because: ['nothing was seen'] };
	return doubtsFrom([
		[
			Math.min(1, (2 * first.error_ns) / working_ns),
			(much) => `the share is an estimate, and may be off by ${much}`,
		],
		[unseen_ns / (working_ns + unseen_ns), (much) => `of ${much} of the time nothing was seen`],
		[
			excess_ns / (working_ns + excess_ns),
			(much) => `waits came to ${much} more than there was time`,
		],
		[
			first.undecided_ns / working_ns,
			(much) => `${much} of it is short waits that may be for work to come`,
		],
		[
			stays && stays.total_ns >= working_ns ? stays.total_ns / (stays.total_ns + working_ns) : 0,
			() => 'threads that waited all the time may have had work',
		],
		[
			mutual && mutual.total_ns >= working_ns
				? mutual.total_ns / (mutual.total_ns + working_ns)
				: 0,
			() => 'threads that waited for each other may have had work',
		],
	]);
}

/** How much of what is said to be idle may have been something else. */
export function idleDoubtsOf({ wall_ns, unseen_ns, stays }: Answer): Doubts {
	if (wall_ns <= 0) return { share: 0, because: [] };
	return doubtsFrom([
		[unseen_ns / wall_ns, (much) => `of ${much} of the time nothing was seen`],
		[(stays?.total_ns ?? 0) / wall_ns, () => 'threads that waited all the time may have had work'],
	]);
}

function doubtsFrom(
	shares: readonly (readonly [share: number, why: (much: string) => string])[],
): Doubts {
	const because = shares
		.filter(([share]) => share > LIKELY_DOUBT_SHARE)
		.map(([share, why]) => why(percent(share)));
	const share = largest(
		shares.map(([each]) => each),
		0,
	);
	return { share, because };
}

/** "61 %": of a whole; of nothing nothing. */
export const percentOf = (part: number, whole: number) => percent(whole > 0 ? part / whole : 0);

const percent = (share: number) =>
	`${share >= 0.1 ? Math.round(100 * share) : (100 * share).toFixed(1)} %`;

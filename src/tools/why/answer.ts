/** The account of a window, and the reasons why threads did not get on. Pure values: no I/O, no kernel. */
import type { Key } from '../../aggregate/row-key.js';
import { tellingFunction, wakersOf } from './chain.js';
import { type Evidence, isAmong } from './evidence.js';
import { type FullPool, fullPools } from './full-pool.js';
import { type Mutual, mutualWaits } from './mutual.js';
import type { Part, Parts } from './parts.js';
import { accountObject, grouped, type Place, placeOf, sumOf, unseenPlace } from './places.js';
import { type Reason, reasonsOf, type Sufferer, sufferersOf } from './reasons.js';

/** Threads of one name for which other traced threads waited. */
interface Followed {
	readonly comm: string;
	/** How many of them there are, and how long they were idle, together. */
	readonly servers: number;
	readonly idle_ns: number;
	/** How many threads waited, how long together, and in which function of theirs. */
	readonly waiters: number;
	readonly total_ns: number;
	readonly function: string;
}

export interface Answer {
	/** See `Evidence`. */
	readonly target: string;
	readonly isThere: Evidence['isThere'];
	readonly lockHolders: Evidence['lockHolders'];
	readonly machine: Evidence['machine'];
	readonly window_ns: number;
	readonly threads: Evidence['threads'];
	readonly wall_ns: number;
	readonly idle_ns: number;
	/** All but idle, and but waits for other threads that are traced, too, and had work. */
	readonly working_ns: number;
	readonly following_ns: number;
	readonly unseen_ns: number;
	readonly samples: number;
	readonly account: readonly Place[];
	/** The largest first. */
	readonly reasons: readonly Reason[];
	/** Threads that were in one wait all the time, which may be what is wrong; undefined: there are none. */
	readonly stays:
		| { readonly largest: Part; readonly threads: number; readonly total_ns: number }
		| undefined;
	/** See `Parts`. */
	readonly excess_ns: number;
	/** For which threads others wait most; undefined: for none. */
	readonly followed: Followed | undefined;
	/** Threads that waited for each other; undefined: there are none. */
	readonly mutual: Mutual | undefined;
	/** See `FullPool`. */
	readonly pools: readonly FullPool[];
	/** Threads by how long they were runnable or waiting, the longest first. */
	readonly sufferers: readonly Sufferer[];
}

/** `parts`: of the same evidence. */
export function answerOf(
	evidence: Evidence,
	{ parts, wall_ns, unseen_ns, excess_ns }: Parts,
): Answer {
	const idle_ns = sumOf(parts.filter(({ place }) => place === 'idle'));
	const following_ns = sumOf(parts.filter(({ follows }) => follows));
	const account = grouped(parts, (part) => [
		...[part.place, part.kind, accountObject(part)],
		`${part.follows}`,
	]).map(placeOf);
	const unseen = unseen_ns > 0 ? [unseenPlace(unseen_ns)] : [];
	const busy = parts.filter(({ place, follows }) => place !== 'idle' && !follows);
	// Not what the others leave: of what is left by rounding, shares are no numbers.
	const working_ns = sumOf(busy);
	return {
		target: evidence.target,
		isThere: evidence.isThere,
		lockHolders: evidence.lockHolders,
		machine: evidence.machine,
		window_ns: evidence.window_ns,
		threads: evidence.threads,
		wall_ns,
		idle_ns,
		working_ns,
		following_ns,
		unseen_ns,
		samples: evidence.samples.reduce((sum, { count }) => sum + count, 0),
		account: [...account, ...unseen].sort((a, b) => b.total_ns - a.total_ns),
		reasons: reasonsOf(parts, busy, working_ns),
		sufferers: sufferersOf(busy.filter(({ place }) => place !== 'running')),
		stays: staysOf(parts),
		mutual: mutualWaits(parts, ({ row }) => tellingFunction(row)),
		pools: fullPools(parts, evidence.threads, evidence.window_ns),
		excess_ns,
		followed: mostFollowed(parts, isAmong(evidence.threads)),
	};
}

/** Waits of all of the window in which something had been asked for: how many threads, and the largest. */
function staysOf(parts: readonly Part[]): Answer['stays'] {
	const stays = parts.filter(({ mayWork }) => mayWork).sort((a, b) => b.value_ns - a.value_ns);
	const [longest] = stays;
	return (
		longest && { largest: longest, threads: sufferersOf(stays).length, total_ns: sumOf(stays) }
	);
}
function mostFollowed(
	parts: readonly Part[],
	isTraced: (key: Key) => boolean,
): Followed | undefined {
	const following = parts.filter(({ follows }) => follows);
	// Threads that are not traced may stand between.
	const followedName = ({ row }: Part) =>
		`${wakersOf(row).find(({ key }) => isTraced(key))?.key.comm}`;
	const [most] = grouped(following, (part) => [followedName(part)]).sort(
		(a, b) => sumOf(b) - sumOf(a),
	);
	const [first] = most ?? [];
	if (!most || !first) return undefined;
	const comm = followedName(first);
	const theirs = parts.filter(({ row }) => row.key.comm === comm);
	return {
		comm,
		servers: new Set(theirs.map(({ row }) => row.key.tid)).size,
		idle_ns: sumOf(theirs.filter(({ place }) => place === 'idle')),
		waiters: new Set(most.map(({ row }) => row.key.tid)).size,
		total_ns: sumOf(most),
		function: tellingFunction(first.row),
	};
}

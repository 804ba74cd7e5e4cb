/** The window's time in its smallest parts: each is in one place, for one reason. Pure values: no I/O, no kernel. */
import type { Histogram } from '../../aggregate/histogram.js';
import type { Key } from '../../aggregate/row-key.js';
import type { StackRow } from '../../aggregate/stack-rows.js';
import type { ObjectShare, WaitObject } from '../../aggregate/wait-object.js';
import { tellingFunction } from './chain.js';
import {
	type BlockedTime,
	type CpuWaits,
	type Evidence,
	isAmong,
	type ThreadTime,
} from './evidence.js';
import { fateOf, kindOf } from './idle.js';
import { whoRests } from './rests.js';

/** Where a thread is: on a CPU, ready for one, waiting while it has work, or without work. */
export type PlaceName = 'running' | 'runnable' | 'waiting' | 'idle';

export interface Part {
	readonly place: PlaceName;
	/** Of waits: see docs/tools/offcputime.md; of what is runnable: why; of what runs: whose code it is. */
	readonly kind: string;
	readonly object: WaitObject | undefined;
	readonly value_ns: number;
	readonly count: number;
	/** The square of the value's standard error. */
	readonly variance: number;
	readonly durations: readonly Histogram[];
	/** Whose, its stack, and who ended it; without frames where none is known. */
	readonly row: StackRow;
	/** Nobody knows what the one did that ended it, so it may as well be idle. */
	readonly undecided: boolean;
	/** It waited for another thread that is traced, too, which had work: what that did is told already. */
	readonly follows: boolean;
	/** It was in this one wait from the beginning to the end, and nobody can say whether it had work. */
	readonly stayed: boolean;
	/** Of one that stayed: it has asked for something, or sleeps, so that it may have had work. */
	readonly mayWork: boolean;
}

/** All of the window, and how much of it nothing was seen of. */
export interface Parts {
	readonly parts: readonly Part[];
	readonly wall_ns: number;
	readonly unseen_ns: number;
	/** By how much waits came to more than the time that threads did not run; they were made smaller. */
	readonly excess_ns: number;
}

/** By how much sampled waits may be off: so many standard errors. */
const MOST_ERRORS = 4;
/** What was sampled is not made more than twice as much, or less than half. */
const MOST_SCALE = 2;
/** Kinds of waits in which a thread that has work may stay, too. */
const TELLING_STAYS: ReadonlySet<string> = new Set(['sleep', 'child', 'socket receive', 'stopped']);
/** Of the window: a wait of all of it. */
const WHOLE_SHARE = 0.98;
/** Waits that may last for ever where nothing is wrong; all others are for something that has to come. */
const MAY_BE_IDLE: ReadonlySet<string> = new Set([
	'sleep',
	'child',
	'socket receive',
	'unix socket',
	'pipe',
	'poll',
	'condition',
	'futex',
	'event',
	'io_uring',
	'IPC',
	'stopped',
]);

/** Waits as they add up with the time that threads were there and did not run. */
export function partsOf(evidence: Evidence): Parts {
	const { threads, blocked, forCpu } = evidence;
	const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
	const wall_ns = sum(threads.map(({ life_ns }) => life_ns));
	const run_ns = sum(threads.map((each) => each.run_ns));
	const isTraced = isAmong(threads);
	const ran = whereItRuns(evidence.samples);
	const whole_ns = WHOLE_SHARE * evidence.window_ns;
	const waits = blocked.flatMap((each) => blockedParts(each, { isTraced, whole_ns }));
	const off = [
		...(evidence.target === '' ? withRests(waits, evidence) : waits),
		...forCpu.map((each) => cpuPart(each, ran(each))),
	];
	const { scaled, unseen_ns, excess_ns } = fitted(off, wall_ns - run_ns);
	const parts = [...runningParts(evidence), ...scaled];
	// A thread that did not run is no reason for anything, and a share of no time is no number.
	return { parts: parts.filter(({ value_ns }) => value_ns > 0), wall_ns, unseen_ns, excess_ns };
}

/** Who only rests is idle. */
function withRests(waits: readonly Part[], { lockHolders }: Evidence): Part[] {
	const rests = whoRests(waits, lockHolders);
	return waits.map((wait) => (rests(wait) ? { ...wait, place: 'idle', follows: false } : wait));
}

/** Sampled waits come to more or less than they were, by chance: as a whole they take what exact ones leave. */
function fitted(
	parts: readonly Part[],
	off_ns: number,
): { scaled: Part[]; unseen_ns: number; excess_ns: number } {
	const total = (some: readonly Part[]) => some.reduce((sum, { value_ns }) => sum + value_ns, 0);
	const sampled = parts.filter(({ variance }) => variance > 0);
	const exact_ns = total(parts) - total(sampled);
	const error_ns = Math.sqrt(sampled.reduce((sum, { variance }) => sum + variance, 0));
	const gap_ns = off_ns - exact_ns - total(sampled);
	const wanted = (total(sampled) + gap_ns) / Math.max(1, total(sampled));
	const isChance = Math.abs(gap_ns) <= MOST_ERRORS * error_ns;
	const scale = isChance ? Math.max(1 / MOST_SCALE, Math.min(MOST_SCALE, wanted)) : 1;
	const near = parts.map((part) => (part.variance > 0 ? times(part, scale) : part));
	const near_ns = total(near);
	// Waits are counted up to a moment later than threads.
	if (near_ns > off_ns)
		return {
			scaled: near.map((part) => times(part, off_ns / near_ns)),
			...{ unseen_ns: 0, excess_ns: near_ns - off_ns },
		};
	return { scaled: near, unseen_ns: off_ns - near_ns, excess_ns: 0 };
}

const times = (part: Part, scale: number): Part => ({
	...part,
	value_ns: part.value_ns * scale,
	variance: part.variance * scale * scale,
});

/** What a row was for, each object apart. */
function blockedParts(
	{ row, durations, open }: BlockedTime,
	{ isTraced, whole_ns }: { isTraced: (key: Key) => boolean; whole_ns: number },
): Part[] {
	const shares: readonly ObjectShare[] = row.objects ?? [];
	const known_ns = shares.reduce((sum, { value }) => sum + value, 0);
	const of = (object: WaitObject | undefined, value: number): Part => {
		const share = row.value > 0 ? value / row.value : 0;
		const kind = kindOf(row.frames, object);
		const fate = fateOf(row, object, isTraced);
		const stayed = open && value >= whole_ns && MAY_BE_IDLE.has(kind);
		return {
			place: stayed || fate === 'idle' ? 'idle' : 'waiting',
			kind,
			object,
			value_ns: value,
			count: row.count * share,
			variance: row.variance * share * share,
			durations,
			row,
			undecided: fate === 'undecided' && !stayed,
			follows: fate === 'follows' && !stayed,
			stayed,
			mayWork: stayed && (fate !== 'idle' || TELLING_STAYS.has(kind)),
		};
	};
	const rest_ns = row.value - known_ns;
	return [
		...shares.map(({ object, value }) => of(object, value)),
		...(rest_ns >= 1 ? [of(undefined, rest_ns)] : []),
	];
}

type ThreadKey = Pick<ThreadTime, 'pid' | 'tid'>;

/** Of samples: a function that has less of them is not where a thread runs. */
const LEAST_RUN_SHARE = 0.2;

/** Of a thread, else of its process: where it runs. Where it waits to run, it runs, most likely. */
function whereItRuns(samples: readonly StackRow[]): (thread: ThreadKey) => StackRow | undefined {
	const ofThread = groupedBy(samples, ({ key }) => `${key.pid} ${key.tid}`);
	const ofProcess = groupedBy(samples, ({ key }) => `${key.pid}`);
	const found = new Map<readonly StackRow[], StackRow | undefined>();
	return ({ pid, tid }) => {
		const rows = ofThread.get(`${pid} ${tid}`) ?? ofProcess.get(`${pid}`) ?? [];
		if (!found.has(rows)) found.set(rows, mostSampled(rows));
		return found.get(rows);
	};
}

/** Of the function with the most samples the stack with the most; undefined: no function has many. */
function mostSampled(rows: readonly StackRow[]): StackRow | undefined {
	const count = (some: readonly StackRow[]) => some.reduce((sum, row) => sum + row.count, 0);
	const [most = []] = [...groupedBy(rows, tellingFunction).values()].sort(
		(a, b) => count(b) - count(a),
	);
	if (count(most) < LEAST_RUN_SHARE * count(rows)) return undefined;
	return [...most].sort((a, b) => b.count - a.count)[0];
}

function groupedBy(
	rows: readonly StackRow[],
	nameOf: (row: StackRow) => string,
): Map<string, StackRow[]> {
	const groups = new Map<string, StackRow[]>();
	for (const row of rows) {
		const name = nameOf(row);
		const group = groups.get(name);
		if (group) group.push(row);
		else groups.set(name, [row]);
	}
	return groups;
}

function cpuPart(waits: CpuWaits, ran: StackRow | undefined): Part {
	const { pid, tid, comm, kind, value_ns, count, variance, durations } = waits;
	const key = { pid, tid, comm };
	const row = {
		key,
		frames: ran?.frames ?? [],
		parts: [value_ns],
		value: value_ns,
		count,
		variance,
	};
	return {
		...{ place: 'runnable', kind, object: undefined, value_ns, count, variance },
		...{
			durations: [durations],
			row,
			undecided: false,
			follows: false,
			stayed: false,
			mayWork: false,
		},
	};
}

/** The exact time of each thread on CPUs, divided as its samples are. */
function runningParts({ samples, threads }: Evidence): Part[] {
	const ofThread = groupedBy(samples, ({ key }) => `${key.pid} ${key.tid}`);
	return threads.flatMap((thread) =>
		runningPartsOf(thread, ofThread.get(`${thread.pid} ${thread.tid}`) ?? []),
	);
}

function runningPartsOf(
	{ pid, tid, comm, run_ns }: ThreadTime,
	samples: readonly StackRow[],
): Part[] {
	if (run_ns <= 0) return [];
	const count = samples.reduce((sum, row) => sum + row.count, 0);
	const none = {
		place: 'running',
		object: undefined,
		durations: [],
		...{ undecided: false, follows: false, stayed: false, mayWork: false },
	} as const;
	if (count === 0) {
		const counted = { parts: [run_ns], value: run_ns, count: 0, variance: 0 };
		const row = { key: { pid, tid, comm }, frames: [], ...counted };
		return [{ ...none, kind: 'on CPU', value_ns: run_ns, count: 0, variance: 0, row }];
	}
	return samples.map((row): Part => {
		const share = row.count / count;
		const inKernel = row.frames.at(-1)?.kind === 'kernel';
		return {
			...none,
			kind: inKernel ? 'in the kernel' : 'in its own code',
			value_ns: run_ns * share,
			count: row.count,
			// Of a share, as it is found by so many samples.
			variance: run_ns * run_ns * ((share * (1 - share)) / count),
			row,
		};
	});
}

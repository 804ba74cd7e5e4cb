/** Whether `tstrace why` says of a process in a known trouble what is true. Pure. */

type Place = 'running' | 'runnable' | 'waiting';

/** Who ended waits, or what it waited for itself, the nearest first. */
interface EndedBy {
	readonly comm: string;
	readonly pid?: number;
	readonly tid?: number;
	readonly did?: string;
	readonly kind?: string;
	readonly object?: string;
	readonly function?: string;
	readonly frames?: readonly string[];
}

interface Part {
	readonly place: Place | 'idle' | 'not_seen';
	readonly kind: string;
	readonly object?: string;
	/** Of a reason: of working time; of the account: of wall-clock time. */
	readonly share: number;
	/** It waited for other threads that are traced, too: no working time. */
	readonly for_traced?: boolean;
	readonly total_ns: number;
	/** One standard error of it; of what is not sampled there is none. */
	readonly error_ns?: number;
}

export interface Reason extends Part {
	readonly function?: string;
	/** Root first. */
	readonly frames: readonly string[];
	readonly ended_by: readonly EndedBy[];
}

/** What is looked at of `tstrace why --json`. */
export interface WhyReport {
	readonly lost: Readonly<Record<string, number>>;
	readonly verdict: string;
	readonly wall_ns: number;
	readonly working_ns: number;
	readonly idle_ns: number;
	readonly account: readonly Part[];
	/** The largest first. */
	readonly reasons: readonly Reason[];
}

/** From least to most, both included. */
export type Range = readonly [least: number, most: number];

export interface Cause {
	readonly place: Place;
	/** Any of them: what wakes up no more than is preempted, for one. */
	readonly kinds: readonly string[];
	/** What the object's text matches; undefined: there is none. */
	readonly object?: RegExp;
	/** Of the working time of all threads of the process. */
	readonly share: Range;
	/** In which the suffering thread is: on its own stack. Undefined: none is known. */
	readonly function?: string;
	/** What the verdict says, too. */
	readonly says?: RegExp;
	/**
	 * On whose stack the guilty function is, if not on its own: a thread of the chain, by its name. Without a function:
	 * it has left it, or has no stack any more, as it wakes the other.
	 */
	readonly culprit?: { readonly comm: string; readonly pid?: number; readonly function?: string };
}

/** The largest first. None: the process is well, and idle for the most part. */
export type Truth = readonly Cause[];

/** Of the time of a process that is well, no more is work. */
const MOST_WORK = 0.1;
/** A chain that goes to the culprit may split, but not into crumbs. */
const LEAST_BLAMED = 0.5;

const is = (cause: Cause, part: Part) =>
	part.place === cause.place && cause.kinds.includes(part.kind);
const isReason = (cause: Cause, reason: Reason) =>
	is(cause, reason) && (cause.function === undefined || reason.function === cause.function);
/** A frame of C++ has the arguments of its function, too. */
const isOn = (frames: readonly string[], name: string | undefined) =>
	name === undefined || frames.some((frame) => frame === name || frame.startsWith(`${name}(`));
const sum = (parts: readonly Part[]) => parts.reduce((all, { share }) => all + share, 0);
const total = (parts: readonly Part[]) => parts.reduce((all, { total_ns }) => all + total_ns, 0);
const within = (value: number, [least, most]: Range) => value >= least && value <= most;
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

function textOf({ place, kind, object, share, function: name }: Reason): string {
	return `${place}, ${kind}, ${object ?? 'no object'}, ${percent(share)}, in ${name ?? '?'}`;
}

/** Every moment of every thread is in one place, and hardly any in none. */
function sumProblems({ account, wall_ns }: WhyReport): string[] {
	const share = total(account) / wall_ns;
	const unseen = total(account.filter(({ place }) => place === 'not_seen')) / wall_ns;
	return [
		...(within(share, [0.99, 1.01]) ? [] : [`the account is ${percent(share)} of the time`]),
		...(unseen <= 0.01 ? [] : [`of ${percent(unseen)} of the time nothing was seen`]),
	];
}

function wellProblems({ working_ns, idle_ns }: WhyReport): string[] {
	const all_ns = working_ns + idle_ns;
	if (all_ns > 0 && working_ns <= MOST_WORK * all_ns) return [];
	return [`it is well, but works ${working_ns} ns of ${all_ns}`];
}

/** One of those that the chain leads to. */
function isCulprit(
	{ comm, pid, function: name }: NonNullable<Cause['culprit']>,
	by: EndedBy,
): boolean {
	if (by.comm !== comm || (pid !== undefined && by.pid !== pid)) return false;
	return by.function === name || isOn(by.frames ?? [], name);
}

function shareProblems(
	what: string,
	{ cause, found }: { cause: Cause; found: readonly Reason[] },
	{ account, working_ns }: Pick<WhyReport, 'account' | 'working_ns'>,
): string[] {
	const problems: string[] = [];
	const inAccount = account.filter((part) => is(cause, part) && !part.for_traced);
	// Short waits are sampled: two of the errors that are stated belong to what is said.
	const error = (2 * Math.hypot(...inAccount.map(({ error_ns = 0 }) => error_ns))) / working_ns;
	// A program that waits has to wait for its CPU to wake up, too: its clock does not tell them apart.
	const wakeUps = account.filter(({ kind }) => cause.place === 'waiting' && kind === 'cpu_wake_up');
	const waking = total(wakeUps) / working_ns;
	const [least, most] = [cause.share[0] - error - waking, cause.share[1] + error] as const;
	const range = `${percent(least)} to ${percent(most)}`;
	for (const [where, share] of [
		['the reasons', sum(found)],
		['the account', total(inAccount) / working_ns],
	] as const) {
		if (!within(share, [least, most]))
			problems.push(`${what}: ${percent(share)} by ${where}, not ${range}`);
	}
	return problems;
}

function causeProblems(cause: Cause, { account, reasons, working_ns }: WhyReport): string[] {
	const what = `${cause.kinds.join(' or ')} in ${cause.function ?? 'any function'}`;
	const found = reasons.filter((reason) => isReason(cause, reason));
	if (found.length === 0) {
		return [`${what}: not among the reasons: ${reasons.map(textOf).join('; ')}`];
	}
	const problems = shareProblems(what, { cause, found }, { account, working_ns });
	for (const { object, frames } of found) {
		const rightObject = cause.object ? cause.object.test(object ?? '') : !object;
		if (!rightObject) problems.push(`${what}: for ${object}, not for ${cause.object}`);
		if (!isOn(frames, cause.function))
			problems.push(`${what}: not on its stack: ${frames.join(' → ')}`);
	}
	const { culprit } = cause;
	if (!culprit) return problems;
	const blamed = found.filter(({ ended_by }) => ended_by.some((by) => isCulprit(culprit, by)));
	if (sum(blamed) < LEAST_BLAMED * sum(found)) {
		const said = found.map(({ ended_by }) =>
			ended_by.map((by) => `${by.comm} ${by.did ?? ''} ${by.function ?? ''}`).join(' < '),
		);
		problems.push(
			`${what}: not by ${culprit.comm} in ${culprit.function ?? 'any function'}, but: ${said.join('; ')}`,
		);
	}
	return problems;
}

/**
 * What is wrong with a report about a process in a known trouble; empty: all is right. `isAlone`: other work on the
 * machine was no trouble of its own. If it was, that may be the first reason, and what the verdict says.
 */
export function checkTrouble(truth: Truth, report: WhyReport, isAlone = true): string[] {
	const [largestCause] = truth;
	const sums = sumProblems(report);
	if (!largestCause) return [...sums, ...wellProblems(report)];
	const problems = truth.flatMap((cause) => causeProblems(cause, report));
	problems.push(...sums);
	return isAlone ? [...verdictProblems(truth, largestCause, report), ...problems] : problems;
}

/** The first reason is the largest cause, and the verdict says so. */
function verdictProblems(truth: Truth, largestCause: Cause, report: WhyReport): string[] {
	const problems: string[] = [];
	const [largest] = report.reasons;
	// Of causes that may be as large as each other, any may be the first.
	const maybeFirst = truth.filter(({ share: [, most] }) => most >= largestCause.share[0]);
	const said = largest && maybeFirst.find((cause) => isReason(cause, largest));
	if (largest && !said) problems.push(`the first reason is ${textOf(largest)}`);
	const first = said ?? largestCause;
	if (first.culprit === undefined && !report.verdict.includes(first.function ?? ''))
		problems.push(`the verdict does not name ${first.function}: ${report.verdict}`);
	if (first.says && !first.says.test(report.verdict))
		problems.push(`the verdict does not say ${first.says}: ${report.verdict}`);
	if (first.culprit && !report.verdict.includes(first.culprit.comm))
		problems.push(`the verdict does not name ${first.culprit.comm}: ${report.verdict}`);
	return problems;
}

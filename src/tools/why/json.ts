/** The answer for programs; what its fields mean: docs/tools/why.md. */
import type { Frame } from '../../aggregate/stack.js';
import { kindForPrograms } from '../../aggregate/wait-kinds.js';
import { DID_NAMES } from '../../render/json.js';
import type { Answer } from './answer.js';
import type { Link } from './chain.js';
import type { Machine } from './machine.js';
import { accountObject, type Place } from './places.js';
import type { Reason } from './reasons.js';
import type { Verdict } from './verdict.js';
import type { WorstWait } from './worst.js';

/** Times are in ns, shares of working time, in the account of wall-clock time. */
export function answerJson(
	answer: Answer,
	verdict: Verdict,
	worst: readonly WorstWait[],
): Readonly<Record<string, unknown>> {
	const { window_ns, wall_ns, following_ns, idle_ns, working_ns, unseen_ns, samples } = answer;
	const [largest] = answer.reasons;
	return {
		verdict: verdict.text,
		confidence: verdict.confidence,
		because: verdict.because,
		next: verdict.next,
		rule: verdict.rule,
		window_ns: Math.round(window_ns),
		threads: answer.threads.length,
		wall_ns: Math.round(wall_ns),
		working_ns: Math.round(working_ns),
		idle_ns: Math.round(idle_ns),
		following_ns: Math.round(following_ns),
		not_seen_ns: Math.round(unseen_ns),
		excess_ns: Math.round(answer.excess_ns),
		samples,
		account: answer.account.map((place) => placeJson(place, wall_ns)),
		reasons: answer.reasons.map((reason) => reasonJson(reason, working_ns)),
		chains: (largest?.culprits ?? []).map(({ links, total_ns }) => ({
			total_ns: Math.round(total_ns),
			links: links.map(linkJson),
		})),
		machine: machineJson(answer.machine),
		sufferers: answer.sufferers.map(({ total_ns, ...who }) => ({
			...who,
			total_ns: Math.round(total_ns),
		})),
		worst: worst.map(worstJson),
	};
}

/** Of other processes, those with most CPU time or bytes. */
const MOST_OTHERS = 20;

function machineJson(machine: Machine): Readonly<Record<string, unknown>> {
	const { cpus, tracer_ns, ended_ns, stolen_ns, own, others } = machine;
	return {
		cpus,
		tracer_ns: Math.round(tracer_ns),
		stolen_ns: Math.round(stolen_ns),
		others_ended_ns: Math.round(ended_ns),
		...own,
		others: others
			.slice(0, MOST_OTHERS)
			.map(({ run_ns, ...rest }) => ({ ...rest, run_ns: Math.round(run_ns) })),
	};
}

function worstJson(wait: WorstWait): Readonly<Record<string, unknown>> {
	const { begin_ns, end_ns, tid, comm, part } = wait;
	return {
		begin_s: Number((begin_ns / 1e9).toFixed(6)),
		duration_ns: Math.round(end_ns - begin_ns),
		...{ tid, comm, ...kindForPrograms(part.kind), object: accountObject(part) },
	};
}

function placeJson(place: Place, whole_ns: number): Readonly<Record<string, unknown>> {
	const { kind, object, follows, total_ns, count, error_ns, durations } = place;
	return {
		place: place.place.replaceAll(' ', '_'),
		...kindForPrograms(kind),
		object,
		...(follows ? { for_traced: true } : {}),
		share: whole_ns > 0 ? Number((total_ns / whole_ns).toFixed(4)) : 0,
		total_ns: Math.round(total_ns),
		error_ns: Math.round(error_ns),
		count: Number(count.toFixed(1)),
		...durations,
	};
}

function reasonJson(reason: Reason, working_ns: number): Readonly<Record<string, unknown>> {
	const { functions, worst, culprits, threads } = reason;
	const [culprit] = culprits;
	return {
		...placeJson(reason, working_ns),
		function: functions[0]?.name ?? '',
		functions: functions.map(({ name, total_ns }) => ({ name, total_ns: Math.round(total_ns) })),
		...framesJson(worst.row.frames),
		...(reason.holder
			? { held_by: { ...reason.holder, share: Number(reason.holder.share.toFixed(4)) } }
			: {}),
		ended_by: (culprit?.links ?? []).map(linkJson),
		ended_by_share:
			culprit && reason.total_ns > 0 ? Number((culprit.total_ns / reason.total_ns).toFixed(4)) : 0,
		threads: threads.map(({ total_ns, ...who }) => ({ ...who, total_ns: Math.round(total_ns) })),
	};
}

function linkJson(link: Link): Readonly<Record<string, unknown>> {
	const { comm, pid, tid, did, kind, object, frames } = link;
	return {
		comm,
		...(pid > 0 ? { pid, tid } : {}),
		did: did ? DID_NAMES[did] : null,
		...(kind ? { ...kindForPrograms(kind), object } : {}),
		function: link.function,
		...framesJson(frames),
	};
}

/** Root first. */
const framesJson = (frames: readonly Frame[]) => ({ frames: frames.map(({ name }) => name) });

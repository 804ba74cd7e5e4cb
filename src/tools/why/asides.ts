/** What a verdict says besides its reason: what is nearly as large, who waits for whom, who stayed. Pure values. */
import { named } from '../../render/terminal.js';
import { humanTime } from '../../render/units.js';
import { objectText } from '../../render/wait-object.js';
import type { Answer } from './answer.js';
import { tellingFunction } from './chain.js';
import { percentOf } from './doubts.js';
import { ownerText } from './owner.js';
import type { Part } from './parts.js';
import { waited, waitsFor } from './phrases.js';
import { isForDisk, sufferersOf, sumOfReasons } from './reasons.js';

/** Of the largest reason: a second one is worth a sentence. */
const CLOSE_SHARE = 0.5;

/** Of working time: so much others have to wait for threads that are busy all the time, to be worth a sentence. */
const MAJORITY = 0.5;

/** Of their time: threads that are idle for less are busy all the time. */
const LEAST_IDLE_SHARE = 0.05;

export function runnerUp({ reasons: [first, second], working_ns }: Answer): string {
	if (!first || !second || second.total_ns < CLOSE_SHARE * first.total_ns) return '';
	const share = percentOf(second.total_ns, working_ns);
	if (second.place === 'running') return `Next: it runs on a CPU for ${share}.`;
	if (second.kind === 'CPU wake-up') return `Next: its CPU has to wake up, for ${share}.`;
	if (second.place === 'runnable')
		return `Next: it is ready to run, and gets no CPU, for ${share} (${second.kind}).`;
	const { kind, of, object, worst, functions } = second;
	const where = functions[0]?.name ? `, in ${functions[0].name}` : '';
	if (kind === 'sleep') return `Next: it sleeps for ${share}${where}.`;
	return `Next: ${share} ${waitsFor(kind, { of, object, frames: worst.row.frames })}${where}.`;
}

/** Of the reason's own share: so much more is told. */
const MORE_SHARE = 1.1;

/** Of waits for one of several files: how much all waits for the disk come to. '': no more than that one. */
export function diskText({ reasons, working_ns }: Answer): string {
	const all_ns = sumOfReasons(reasons.filter(isForDisk));
	const [first] = reasons;
	if (!first || !isForDisk(first) || all_ns < MORE_SHARE * first.total_ns) return '';
	return `In all, it waits ${percentOf(all_ns, working_ns)} for the disk.`;
}

/** Threads that are never idle, and for which others wait: they are too few, or too slow. '': that is not so. */
export function queueText({ followed, window_ns, working_ns }: Answer): string {
	if (!followed || followed.idle_ns > LEAST_IDLE_SHARE * window_ns * followed.servers) return '';
	const { waiters, function: name, comm, servers, total_ns } = followed;
	if (total_ns < servers * window_ns || total_ns < MAJORITY * working_ns) return '';
	const where = name ? `, in ${name},` : '';
	const they =
		servers === 1
			? `thread ${named(comm)}, which is`
			: `${servers} threads ${named(comm)}, which are`;
	return `${waiters} ${waiters === 1 ? 'thread waits' : 'threads wait'}${where} for ${they} never idle: too few, or what they do takes too long.`;
}

/** Threads that waited for each other for longer than they worked; '': that is not so. */
export function mutualText({ mutual, working_ns }: Answer): string {
	if (!mutual || mutual.total_ns < working_ns) return '';
	const where = mutual.function ? `, in ${mutual.function}` : '';
	return `Besides, ${mutual.waiters} of its threads waited ${humanTime(mutual.total_ns)} for each other${where}: if they had work, a lock or a pool that they share holds them up.`;
}

/** Threads that were in one wait all the time, where these are more than what worked; '': there are none. */
export function besides(answer: Answer): string {
	const { stays, working_ns } = answer;
	if (!stays || stays.total_ns < working_ns) return '';
	const more = stays.threads > 1 ? `, and so did ${stays.threads - 1} more` : '';
	const text = stayText(stays.largest, answer).replace(/\.$/, '');
	return `Besides, ${text}${more}: if these should have worked, that is the trouble.`;
}

/** Who was in one wait all the time may be idle, or what somebody else waits for: nobody can tell from here. */
export function stayText({ kind, object, row }: Part, { threads }: Answer): string {
	const who = ownerText(sufferersOf([{ row, value_ns: 1 }]), threads);
	const text = object && object.type !== 'unknown' ? objectText(object) : '';
	const name = tellingFunction(row);
	const what = waited(kind, { of: object, object: text, frames: row.frames });
	const where = name ? `, in ${name}` : '';
	return `${who} ${what} all the time${where}.`;
}

/**
 * "None of the 4 threads worker was ever idle: …"; '': that is not so of those that have the reason, or others wait for
 * them, or not all threads were looked at.
 */
export function poolText(answer: Answer): string {
	const [reason] = answer.reasons;
	if (reason?.place !== 'waiting' || /(^| )-t /.test(answer.target) || queueText(answer)) return '';
	const sufferers = new Set(reason.threads.map(({ tid }) => tid));
	const pool = answer.pools.find(({ tids }) => tids.every((tid) => sufferers.has(tid)));
	if (!pool) return '';
	const { comm, start, tids } = pool;
	const where = start ? `, which begin in ${start},` : '';
	return `None of the ${tids.length} threads ${named(comm)}${where} was ever idle: if they are a pool, it is full, and more requests have to queue.`;
}

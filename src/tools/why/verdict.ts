/** The verdict: one to three sentences with numbers, how sure they are, and what to type next. Pure values. */
import { named, printable } from '../../render/terminal.js';
import { humanTime } from '../../render/units.js';
import type { Answer } from './answer.js';
import {
	besides,
	diskText,
	mutualText,
	poolText,
	queueText,
	runnerUp,
	stayText,
} from './asides.js';
import type { Link } from './chain.js';
import { confidenceOf, doubtsOf, idleDoubtsOf, percentOf } from './doubts.js';
import { cpuTaker, cpuUsersText, diskUsersText } from './neighbours.js';
import { ownerText } from './owner.js';
import { heldBy, holderText, waited, waitsFor } from './phrases.js';
import { type Culprit, isForDisk, type Reason } from './reasons.js';

export interface Verdict {
	/** Sentences, each with a full stop. */
	readonly text: string;
	readonly confidence: 'sure' | 'likely' | 'unsure';
	/** Why it is not more. */
	readonly because: readonly string[];
	/** The next command; '': there is none to give. */
	readonly next: string;
	/** The rule that has spoken: see RULES. */
	readonly rule: string;
}

interface Spoken {
	readonly text: string;
	readonly next: string;
}

interface Rule {
	readonly name: string;
	readonly when: (answer: Answer) => boolean;
	readonly say: (answer: Answer) => Spoken;
	/** Why this is what to say. */
	readonly source: string;
}

/** Of one thread's window: with less of it in work there is no trouble. */
const LEAST_WORKING_SHARE = 0.05;
/** Of working time: below, nothing is the reason for it. */
const LEAST_REASON_SHARE = 0.15;
/** Waits and samples, below which a window is too short for a verdict. */
const LEAST_EVENTS = 5;
const LEAST_WINDOW_NS = 50e6;
/** Most often. */
const ENOUGH_NS = 10e9;
/** Of one function: less than that of CPU time is said by no name. */
const LEAST_FUNCTION_SHARE = 0.2;
/** Samples, below which they do not say which function ran. */
const LEAST_SAMPLES = 20;

/** The first that applies speaks. */
export const RULES: readonly Rule[] = [
	{
		name: 'nobody',
		when: ({ wall_ns }) => wall_ns <= 0,
		say: () => ({ text: 'No thread of the target was there while tstrace looked.', next: '' }),
		source: 'nothing was seen: a wrong PID or name, or it has ended',
	},
	{
		name: 'too short',
		when: isTooShort,
		say: ({ window_ns }) => ({
			text: `${humanTime(window_ns)} are too short for a verdict: too little happened. ${longer(window_ns)}`,
			next: '',
		}),
		source: 'an estimate of a share needs some waits or samples',
	},
	{
		name: 'idle',
		when: isIdle,
		say: (answer) => ({ text: idleText(answer), next: '' }),
		source: 'idle.ts: who waits for work has no trouble',
	},
	{
		name: 'nothing stands out',
		when: ({ reasons: [first], working_ns }) =>
			!first || first.total_ns < LEAST_REASON_SHARE * working_ns,
		say: (answer) => ({
			text: `No single thing stands out: the largest is ${percentOf(answer.reasons[0]?.total_ns ?? 0, answer.working_ns)} of the working time.`,
			next: commandFor('offwaketime', answer),
		}),
		source: 'a verdict that names one of many small reasons would be wrong',
	},
	{
		name: 'on CPU',
		when: ({ reasons: [first] }) => first?.place === 'running',
		say: cpuText,
		source: 'sum_exec_runtime is exact; the functions are sampled',
	},
	{
		name: 'CPU quota',
		when: ({ reasons: [first] }) => first?.kind === 'CPU quota',
		say: (answer) => {
			const { who, share, where, longest } = opening(answer);
			return {
				text: `${who} may not run for ${share} of its working time${where}: its cgroup has used up its CPU quota (cpu.max). ${longest}`,
				next: commandFor('schedlat', answer),
			};
		},
		source: 'kernel/sched/fair.c, throttle_cfs_rq',
	},
	{
		name: 'CPU wake-up',
		when: ({ reasons: [first] }) => first?.kind === 'CPU wake-up',
		say: (answer) => {
			const { who, share, where, longest } = opening(answer);
			const stolen_ns = answer.machine.stolen_ns;
			const hypervisor =
				stolen_ns > 0 ? ` The hypervisor took ${humanTime(stolen_ns)} meanwhile.` : '';
			return {
				text: `${who} is ready to run for ${share} of its working time${where}, and waits until its CPU has woken up: the CPU was idle, and slept.${hypervisor} ${longest}`,
				next: commandFor('runqlat', answer),
			};
		},
		source: 'kernel/sched/core.c, ttwu_queue_wakelist; kernel/sched/idle.c, cpuidle_idle_call',
	},
	{
		name: 'too few CPUs',
		when: ({ reasons: [first] }) => first?.place === 'runnable',
		say: (answer) => {
			const { who, share, where, longest } = opening(answer);
			const [first] = answer.reasons as readonly [Reason];
			const taker = cpuTaker(first, answer);
			return {
				text: `${who} is ready to run for ${share} of its working time${where}, and gets no CPU: more threads want to run than there are CPUs for them. ${cpuUsersText(first, answer)} ${longest}`,
				next: taker ? `tstrace profile -p ${taker.pid} 5` : 'tstrace schedlat -P 5 1',
			};
		},
		source: 'kernel/sched/core.c: woken or preempted, and not on a CPU',
	},
	{
		name: 'full pool',
		when: (answer) => poolText(answer) !== '',
		say: waitText,
		source: 'full-pool.ts: a thread of a pool that has no work waits for some, and none ever did',
	},
	{
		name: 'waits',
		when: () => true,
		say: waitText,
		source: 'phrases.ts; docs/chains.md for who ended it',
	},
];

export function verdictOf(answer: Answer): Verdict {
	const rule = RULES.find(({ when }) => when(answer)) as Rule;
	const { text, next } = rule.say(answer);
	const speaks = rule.name !== 'nobody' && rule.name !== 'too short' && rule.name !== 'idle';
	const doubts = speaks ? doubtsOf(answer) : idleDoubtsOf(answer);
	const { share, because } = doubts;
	return {
		text: speaks
			? [text.trim(), runnerUp(answer), mutualText(answer), besides(answer)]
					.filter((each) => each)
					.join(' ')
			: text,
		confidence: confidenceOf(share),
		because,
		next,
		rule: rule.name,
	};
}

/** Who was not seen to do anything may have done what was not seen. */
function isIdle({ working_ns, window_ns, unseen_ns, wall_ns }: Answer): boolean {
	if (unseen_ns > LEAST_WORKING_SHARE * wall_ns) return false;
	return working_ns < LEAST_WORKING_SHARE * window_ns;
}

function isTooShort(answer: Answer): boolean {
	const {
		window_ns,
		reasons: [first],
	} = answer;
	if (window_ns < LEAST_WINDOW_NS) return true;
	if (isIdle(answer)) return false;
	// What ran is exact, with samples or without.
	const longest_ns = first?.place === 'running' ? first.total_ns : (first?.durations.max ?? 0);
	return (first?.count ?? 0) < LEAST_EVENTS && longest_ns < LEAST_WINDOW_NS;
}

function longer(window_ns: number): string {
	return window_ns < ENOUGH_NS
		? 'Trace for longer: 10 s are enough most often.'
		: 'Trace for longer, or while there is work to do.';
}

function idleText(answer: Answer): string {
	const { idle_ns, wall_ns, threads, working_ns, stays } = answer;
	const [first] = answer.reasons;
	const count = threads.length === 1 ? 'Its thread was' : `Its ${threads.length} threads were`;
	const rest = first
		? ` Of the rest, ${humanTime(working_ns)}, most is ${first.place === 'running' ? 'CPU time' : first.kind}.`
		: '';
	if (stays)
		return `${stayText(stays.largest, answer)} If it should have worked, that is why it did not. Nothing else was slow.`;
	return `No trouble: nobody waits for it. ${count} idle for ${percentOf(idle_ns, wall_ns)} of the time.${rest}`;
}

interface Opening {
	readonly who: string;
	readonly share: string;
	/** ", in serve"; '': no function has a name. */
	readonly where: string;
	readonly longest: string;
}

function opening({ reasons: [first], working_ns, threads }: Answer): Opening {
	const { total_ns = 0, durations = { max: 0 }, threads: sufferers = [] } = first ?? {};
	const name = first?.functions[0]?.name;
	return {
		who: ownerText(sufferers, threads),
		share: percentOf(total_ns, working_ns),
		where: name ? `, in ${name}` : '',
		longest: durations.max > 0 ? `Longest: ${humanTime(durations.max)}.` : '',
	};
}

function cpuText(answer: Answer): Spoken {
	const { reasons, samples, working_ns } = answer;
	const [first] = reasons as readonly [Reason];
	const { who, share } = opening(answer);
	const [top] = first.functions;
	const of = first.total_ns;
	const isNamed = top && top.name !== '' && top.total_ns >= LEAST_FUNCTION_SHARE * of;
	const where =
		samples >= LEAST_SAMPLES && isNamed
			? `, ${percentOf(top.total_ns, working_ns)} in ${top.name}`
			: ', in many functions';
	return {
		text: `${who} runs on a CPU for ${share} of its working time${where}: the CPU profile is the answer.`,
		next: commandFor('profile', answer),
	};
}

function waitText(answer: Answer): Spoken {
	const [first] = answer.reasons as readonly [Reason];
	const { who, share, where, longest } = opening(answer);
	const what = waitsFor(first.kind, {
		of: first.of,
		object: first.object,
		frames: first.worst.row.frames,
	});
	const [culprit] = first.culprits;
	const cause = culprit ? culpritText(culprit, first) : '';
	const sentence =
		first.kind === 'sleep'
			? `${who} sleeps for ${share} of its working time${where}.`
			: `${who} waits ${share} of its working time ${what}${heldBy(first.holder)}${lockHolder(first, answer)}${where}.`;
	const users = isForDevice(first) ? diskUsersText(answer) : '';
	return {
		text: [
			sentence,
			holderText(first.holder),
			diskText(answer),
			cause,
			users,
			queueText(answer),
			poolText(answer),
			longest,
		]
			.filter((each) => each)
			.join(' '),
		next: nextFor(first, culprit, answer),
	};
}

const isForDevice = (reason: Reason) =>
	isForDisk(reason) || /^(page fault|swap-in)/.test(reason.kind);

/** ", held by backup (712)": of a file lock; '': of anything else, or where that is not known. */
function lockHolder({ kind, threads }: Reason, { lockHolders }: Answer): string {
	const holder = kind === 'file lock' && lockHolders.get(threads[0]?.pid ?? 0);
	return holder ? `, held by ${printable(holder.comm)} (${holder.pid})` : '';
}

/** What the one did that was waited for in the end; '': that is not known, or says nothing new. */
function culpritText({ links, total_ns }: Culprit, { total_ns: all_ns }: Reason): string {
	const link = links.at(-1) as Link;
	if (link.isInterrupt || link.isNobody || link.did === undefined) return '';
	const most =
		total_ns < 0.8 * all_ns ? `For ${percentOf(total_ns, all_ns)} of that, ` : 'Meanwhile ';
	const who = `${named(link.comm)} (${link.pid})`;
	const where = link.function ? ` in ${link.function}` : '';
	switch (link.did) {
		case 'ran':
			// Its stack is of the moment when it ended the wait: what it did before, that does not tell.
			return `${most}${who} ran on a CPU.`;
		case 'waited for a CPU':
			return `${most}${who} waited for a CPU.`;
		case 'did not exist yet':
			return '';
		case 'was blocked':
			return `${most}${who} ${waited(link.kind, link)}${where}.`;
	}
}

function nextFor(reason: Reason, culprit: Culprit | undefined, answer: Answer): string {
	// Who ends these is a thread of the kernel's, or nobody.
	if (isForDevice(reason) || reason.kind === 'file server')
		return commandFor('offcputime --by object', answer);
	const own = new Set(answer.threads.map(({ pid }) => pid));
	const holder = reason.kind === 'file lock' && answer.lockHolders.get(reason.threads[0]?.pid ?? 0);
	if (holder && answer.isThere(holder.pid)) return `tstrace why -p ${holder.pid}`;
	// The last of the chain that is another process, and lives.
	const last = culprit?.links.findLast(
		({ pid }) => pid > 0 && !own.has(pid) && answer.isThere(pid),
	);
	if (last) return `tstrace why -p ${last.pid}`;
	return commandFor('offwaketime --hops 4', answer);
}

/** Of the same threads. COMMAND comes last, and ends by itself. */
function commandFor(tool: string, { target }: Answer): string {
	const words = ['tstrace', tool, ...(target === '' ? [] : [target])];
	return [...words, ...(target.includes('-- ') ? [] : ['5'])].join(' ');
}

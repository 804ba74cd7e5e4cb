/** The verdict: one to three sentences with numbers, how sure they are, and what to type next. Pure values. */
import { humanTime } from '../../render/units.js';
import { objectText } from '../../render/wait-object.js';
import { type Answer, type Culprit, type Reason, type Sufferer, sufferersOf } from './answer.js';
import { type Link, tellingFunction } from './chain.js';
import { confidenceOf, doubtsOf, idleDoubtsOf, percentOf } from './doubts.js';
import type { Part } from './parts.js';
import { heldBy, named, waited, waitsFor } from './phrases.js';

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
/** Of the largest reason: a second one is worth a sentence. */
const CLOSE_SHARE = 0.5;
/** Waits and samples, below which a window is too short for a verdict. */
const LEAST_EVENTS = 5;
const LEAST_WINDOW_NS = 50e6;
/** Most often. */
const ENOUGH_NS = 10e9;
/** Of working time: so much others have to wait for threads that are busy all the time, to be worth a sentence. */
const MAJORITY = 0.5;
/** Of their time: threads that are idle for less are busy all the time. */
const LEAST_IDLE_SHARE = 0.05;
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
		name: 'too few CPUs',
		when: ({ reasons: [first] }) => first?.place === 'runnable',
		say: (answer) => {
			const { who, share, where, longest } = opening(answer);
			return {
				text: `${who} is ready to run for ${share} of its working time${where}, and gets no CPU: more threads want to run than there are CPUs for them. ${longest}`,
				next: 'tstrace schedlat -P 5 1',
			};
		},
		source: 'kernel/sched/core.c: woken or preempted, and not on a CPU',
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
			? [text.trim(), runnerUp(answer), besides(answer)].filter((each) => each).join(' ')
			: text,
		confidence: confidenceOf(share),
		because,
		next,
		rule: rule.name,
	};
}

/** Threads that were in one wait all the time, where these are more than what worked; '': there are none. */
function besides(answer: Answer): string {
	const { stays, working_ns } = answer;
	if (!stays || stays.total_ns < working_ns) return '';
	const more = stays.threads > 1 ? `, and so did ${stays.threads - 1} more` : '';
	const text = stayText(stays.largest, answer).replace(/\.$/, '');
	return `Besides, ${text}${more}: if these should have worked, that is the trouble.`;
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

/** Who was in one wait all the time may be idle, or what somebody else waits for: nobody can tell from here. */
function stayText({ kind, object, row }: Part, { threads }: Answer): string {
	const who = ownerText(sufferersOf([{ row, value_ns: 1 }]), threads);
	const text = object && object.type !== 'unknown' ? objectText(object) : '';
	const name = tellingFunction(row);
	const what = waited(kind, { of: object, object: text, frames: row.frames });
	const where = name ? `, in ${name}` : '';
	return `${who} ${what} all the time${where}.`;
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
			: `${who} waits ${share} of its working time ${what}${heldBy(first.of)}${where}.`;
	return {
		text: [sentence, cause, queueText(answer), longest].filter((each) => each).join(' '),
		next: nextFor(first, culprit, answer),
	};
}

/** Threads that are never idle, and for which others wait: they are too few, or too slow. '': that is not so. */
function queueText({ followed, window_ns, working_ns }: Answer): string {
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
	if (/^(disk|page fault|swap-in|file server)/.test(reason.kind))
		return commandFor('offcputime --by object', answer);
	const own = new Set(answer.threads.map(({ pid }) => pid));
	// The last of the chain that is another process, and lives.
	const last = culprit?.links.findLast(
		({ pid }) => pid > 0 && !own.has(pid) && answer.isThere(pid),
	);
	if (last) return `tstrace why -p ${last.pid}`;
	return commandFor('offwaketime --hops 4', answer);
}

function runnerUp({ reasons: [first, second], working_ns }: Answer): string {
	if (!first || !second || second.total_ns < CLOSE_SHARE * first.total_ns) return '';
	const share = percentOf(second.total_ns, working_ns);
	if (second.place === 'running') return `Next: it runs on a CPU for ${share}.`;
	if (second.place === 'runnable')
		return `Next: it is ready to run, and gets no CPU, for ${share} (${second.kind}).`;
	const { kind, of, object, worst, functions } = second;
	const where = functions[0]?.name ? `, in ${functions[0].name}` : '';
	if (kind === 'sleep') return `Next: it sleeps for ${share}${where}.`;
	return `Next: ${share} ${waitsFor(kind, { of, object, frames: worst.row.frames })}${where}.`;
}

/** Whose time it is: a process with its number, or how many there are. */
export function ownerText(sufferers: readonly Sufferer[], threads: Answer['threads']): string {
	const [first] = sufferers;
	if (!first) return 'The target';
	const pids = new Set(sufferers.map(({ pid }) => pid));
	if (pids.size > 1) {
		return `${named(first.comm)} (${first.pid}), with ${pids.size - 1} other ${pids.size === 2 ? 'process' : 'processes'},`;
	}
	const leader =
		threads.find(({ pid, tid }) => pid === first.pid && tid === pid)?.comm ?? first.comm;
	if (sufferers.length === 1 && first.tid !== first.pid)
		return `${named(first.comm)} (thread ${first.tid} of ${named(leader)}, ${first.pid})`;
	return `${named(leader)} (${first.pid})`;
}

/** Of the same threads. COMMAND comes last, and ends by itself. */
function commandFor(tool: string, { target }: Answer): string {
	const words = ['tstrace', tool, ...(target === '' ? [] : [target])];
	return [...words, ...(target.includes('-- ') ? [] : ['5'])].join(' ');
}

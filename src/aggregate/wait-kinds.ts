/** What kind of wait a stack shows: for a disk, a lock, a socket, … Pure values: no I/O, no kernel. */

import { largest } from './largest.js';
import { remembered } from './remembered.js';
import type { Frame } from './stack.js';
import { pathsBy } from './stack-paths.js';
import { type StackFindings, type StackRow, splitStacks } from './stack-rows.js';
import {
	isNamed,
	isUntelling,
	MOST_NAMES,
	plain,
	waitFrame,
	waitsForWork,
	withoutArguments,
} from './summary-frames.js';
import {
	ANY_WAIT,
	CONDITION_CALLS,
	DISK_PURPOSES,
	LOCK_CALLS,
	PROGRAM_KINDS,
	RULES,
	type Rule,
	type WaitKind,
} from './wait-kind-rules.js';
import { BLOCKED, THROTTLED } from './wait-parts.js';

const about = (rules: readonly Rule[]) =>
	remembered((name: string) => rules.filter(({ at }) => at.test(name)), MOST_NAMES);
const rulesOf = about(RULES);
const purposesOf = about(DISK_PURPOSES);

/** Which of the rules that are about a program's own functions, and not the C library's, comes first; -1: none. */
const programRule = remembered((name: string) => {
	const bare = withoutArguments({ name });
	return PROGRAM_KINDS.findIndex(([pattern]) => pattern.test(bare));
}, MOST_NAMES);
const programRules = pathsBy((frame) =>
	frame.kind === 'kernel' || frame.inCLibrary ? -1 : programRule(frame.name),
);

/** Kinds that a program's own functions may tell better. */
const UNTOLD: ReadonlySet<WaitKind> = new Set(['futex', 'poll', 'IPC']);
/** A piece of work that somebody has handed over to kernel/workqueue.c. */
const WORK = /^process_(one_work|scheduled_works)$/;

/**
 * What a thread was blocked for, by its frames, root first; "other" with the kernel's function that says most, where
 * no rule is about it.
 */
export function waitKind(frames: readonly Frame[]): WaitKind | `other: ${string}` {
	const kind = kinds.get(frames) ?? kindOf(frames);
	kinds.set(frames, kind);
	return kind;
}

/** Those who count, label and print a stack all ask for its kind: it is found once. */
const kinds = new WeakMap<readonly Frame[], ReturnType<typeof kindOf>>();

function kindOf(frames: readonly Frame[]): WaitKind | `other: ${string}` {
	const kernel = frames.filter(({ kind }) => kind === 'kernel').map(({ name }) => plain(name));
	const isKernelThread = kernel.includes('kthread') || kernel.includes('kthreadd');
	// Idle, in its own main function: what that is called by says nothing.
	if (isKernelThread && waitsForWork(frames)) return 'kernel thread';
	for (let at = kernel.length - 1; at >= 0; at--) {
		const rule = rulesOf(kernel[at] as string).find((each) => holds(each, kernel, at));
		if (rule) return toldKind(rule.kind, frames, kernel);
	}
	if (isKernelThread && !kernel.some((name) => WORK.test(name))) return 'kernel thread';
	const telling = waitFrame(frames);
	return `other: ${telling ? plain(telling.name) : 'no kernel stack'}`;
}

const OTHER = /^other: (.*)$/s;

/** A kind for programs: "disk_read"; of one that no rule is about "other", and the kernel's function. */
export function kindForPrograms(kind: string): { readonly kind: string; readonly at?: string } {
	const [, at] = OTHER.exec(kind) ?? [];
	if (at !== undefined) return { kind: 'other', at };
	return { kind: kind.toLowerCase().replace(/[ -]/g, '_') };
}

/** Whether a rule that is about the function there is about its surroundings, too. */
function holds({ within, innermost }: Rule, kernel: readonly string[], at: number): boolean {
	if (within && !kernel.slice(0, at).some((name) => within.test(name))) return false;
	return !innermost || kernel.slice(at + 1).every((name) => isUntelling(name));
}

/** A better kind, where other functions say more. */
function toldKind(kind: WaitKind, frames: readonly Frame[], kernel: readonly string[]): WaitKind {
	if (kind === 'disk') return purposeOf(kernel) ?? kind;
	if (!UNTOLD.has(kind)) return kind;
	const rule = programRules(frames).find((each) => each >= 0);
	const [, told] = rule === undefined ? [] : (PROGRAM_KINDS[rule] ?? []);
	if (told) return told;
	return kind === 'futex' ? futexKind(frames.filter((frame) => frame.kind !== 'kernel')) : kind;
}

/** What a disk was waited for. */
function purposeOf(kernel: readonly string[]): WaitKind | undefined {
	// The last rule is about any page that is written: the function that asked for it says more.
	const [anyPage] = DISK_PURPOSES.slice(-1);
	for (let at = kernel.length - 1; at >= 0; at--) {
		const [purpose] = purposesOf(kernel[at] as string);
		if (purpose && purpose !== anyPage) return purpose.kind;
	}
	return kernel.some((name) => anyPage?.at.test(name)) ? anyPage?.kind : undefined;
}

/**
 * By the C library's functions, from the leaf outwards: what other programs use futexes for, nobody can tell. Without
 * its debug file some have no names: `sem_wait` jumps into one of these.
 */
function futexKind(user: readonly Frame[]): WaitKind {
	let isSomeWait = false;
	let outermost = 'syscall';
	for (const { name, inCLibrary } of [...user].reverse()) {
		if (!inCLibrary) break;
		// Without its version: "pthread_cond_wait@@GLIBC_2.3.2".
		const call = plain(name).replace(/@.*/, '');
		if (LOCK_CALLS.test(call)) return 'lock';
		if (CONDITION_CALLS.test(call)) return 'condition';
		isSomeWait ||= ANY_WAIT.test(call);
		outermost = name;
	}
	// A program calls the kernel itself.
	if (outermost === 'syscall') return 'futex';
	// What has a name and is none of those takes a lock of the C library's own: malloc, fopen.
	return isSomeWait || !isNamed({ name: outermost }) ? 'condition' : 'lock';
}

/** A part of waits that is no blocked time has a name of its own, and is a kind. */
const QUOTA = { part: THROTTLED, kind: 'CPU quota' };

/** What `findings.parts` calls a part, as a kind of wait; undefined: blocked, for which the stack says what kind. */
function partKind(part: string | undefined): string | undefined {
	if (part === QUOTA.part) return QUOTA.kind;
	return part === BLOCKED ? undefined : part;
}

/** The kind of most of a row's time. */
export function mainKind(row: StackRow, { parts }: Pick<StackFindings, 'parts'>): string {
	const most = row.parts.indexOf(largest(row.parts));
	return partKind(parts[most]) ?? waitKind(row.walked ?? row.frames);
}

/** The same rows, each kind of wait apart, as the key's `kind`. */
export function splitByKind(findings: StackFindings): StackRow[] {
	return splitStacks(findings).map((row) => {
		const { part, ...key } = row.key;
		return {
			...row,
			key: { kind: partKind(`${part}`) ?? waitKind(row.walked ?? row.frames), ...key },
		};
	});
}

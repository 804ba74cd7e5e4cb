/** From addresses to rows: names for stacks, and notices about what could not be named. */

import { interruptFrames } from '../aggregate/interrupt-frames.js';
import { remembered } from '../aggregate/remembered.js';
import type { Key } from '../aggregate/row-key.js';
import {
	type CapturedStack,
	type CapturedWaker,
	type Frame,
	type NamedStack,
	stackValue,
	wakersOf,
} from '../aggregate/stack.js';
import {
	mergeStacks,
	type StackFindings,
	type StackRow,
	type Waker,
	withKnown,
} from '../aggregate/stack-rows.js';
import { blockedOf } from '../aggregate/wait-parts.js';
import type { Patience } from '../reader.js';
import { Debuginfod } from './debuginfod/lacking-symbols.js';
import type { FunctionNames } from './function-names.js';
import type { ProcessHistory } from './mappings/processes.js';
import { noticeText } from './notices.js';
import { Symbolizer } from './symbolizer.js';

/** What the user says of names; the same for all stack tools. */
export interface NamingSettings {
	/** Symbols that this machine lacks are fetched by debuginfod, if DEBUGINFOD_URLS is set. */
	readonly debuginfod: boolean;
}

export interface NamingOptions extends NamingSettings {
	/** Rows are to say which stacks they are. */
	readonly sources?: boolean;
	/** Kernel stacks begin with the way from the tracepoint to our program, which is not shown. */
	readonly fromTracepoint?: boolean;
	/** The most frames that a walk takes. */
	readonly maxDepth: number;
	/** Of whoever waits for the names; undefined: nothing is fetched now. */
	readonly patience?: Patience | undefined;
}

/** Functions between a tracepoint and a program of it: kernel/trace/bpf_trace.c, include/trace/. */
const TRACER = /^(\[bpf\]|bpf_|__bpf_|___bpf_|__traceiter_|trace_event_raw_)/;

const LOST: Frame = { name: '[stack lost]', kind: 'user' };
const NO_FRAMES: NamedStack = { kernel: [], user: [] };

/**
 * Names all stacks and adds up those that read the same. Objects are what calls were about: whether threads waited
 * for them is not looked at here. `functions`: of runtimes, if walks take some.
 */
export async function nameStacks(
	stacks: readonly CapturedStack[],
	history: ProcessHistory,
	{ sources = false, fromTracepoint = false, maxDepth, debuginfod, patience }: NamingOptions,
	functions?: FunctionNames,
): Promise<Pick<StackFindings, 'stacks' | 'notices'>> {
	const symbolizer = new Symbolizer(history, new Debuginfod(debuginfod, patience), functions);
	const wakers = weighed(stacks);
	const all = [...stacks, ...wakers.values()];
	const named = await symbolizer.resolve(all, maxDepth);
	const ofWakers = new Map(
		Array.from(wakers.keys(), (waker, i) => [waker, named[stacks.length + i]]),
	);
	// One waker may have ended thousands of waits.
	const framesOf = joined(fromTracepoint);
	const [ofThreads, fromPrograms] = [joined(false), joined(true)];
	const wakerNamed = remembered((waker: CapturedWaker) => {
		const frames = waker.did === 'was blocked' ? ofThreads : fromPrograms;
		const names = ofWakers.get(waker) ?? NO_FRAMES;
		return wakerOf(waker, names, frames(waker, names));
	});
	const wokenBy = ({ waker }: CapturedStack, of: Counted): Waker | undefined => {
		if (!waker) return undefined;
		const named = wakerNamed(waker);
		const objects = waitedForBy(waker, of);
		const behind = wokenBy(waker, of);
		if (!objects && !behind) return named;
		return { ...named, ...(objects ? { objects } : {}), ...(behind ? { waker: behind } : {}) };
	};
	const rows = function* (): Generator<StackRow> {
		for (const [index, stack] of stacks.entries()) {
			const { parts, count, variance, against } = stack;
			const names = named[index] ?? NO_FRAMES;
			const frames = framesOf(stack, names);
			const value = stackValue(stack);
			const row = { key: keyOf(stack), frames, parts, value, count, variance };
			yield withKnown(row, {
				against,
				cut: names.cut,
				callerMissing: names.callerMissing || undefined,
				waker: wokenBy(stack, row),
				objects: waitedFor(stack, value),
				sources: sources ? [index] : undefined,
			});
		}
	};
	return { stacks: mergeStacks(rows()), notices: symbolizer.notices().map(noticeText) };
}

/** Who is blocked waits for it; who waits for a CPU, no more. */
function waitedFor(stack: CapturedStack, whole: number): StackRow['objects'] {
	const { object, count, variance } = stack;
	const value = blockedOf(stack);
	if (!object || value === 0) return undefined;
	const share = value / whole;
	return [{ object, value, count, variance: variance * share * share }];
}

type Counted = Pick<StackRow, 'value' | 'count' | 'variance'>;

/** What a waker waited for itself meanwhile; `of`: what was counted of the waits that it ended. */
function waitedForBy(
	{ did, object }: CapturedWaker,
	{ value, count, variance }: Counted,
): Waker['objects'] {
	return did === 'was blocked' && object ? [{ object, value, count, variance }] : undefined;
}

/** The frames of stacks, root first; those of stacks that are alike are one object. */
function joined(fromTracepoint: boolean) {
	const shown = remembered((kernel: NamedStack['kernel']) => {
		const first = fromTracepoint ? kernel.findIndex(({ name }) => !TRACER.test(name)) : 0;
		return kernel.slice(Math.max(0, first));
	});
	const whole = remembered((kernel: NamedStack['kernel']) =>
		remembered((user: NamedStack['user']) => [...shown(kernel), ...user].reverse()),
	);
	// In between: at the root if the user's are lost, at the leaf if the kernel's are.
	const withLoss = remembered((kernel: NamedStack['kernel']) =>
		remembered((user: NamedStack['user']) => [...shown(kernel), LOST, ...user].reverse()),
	);
	return ({ lost }: CapturedStack, { kernel, user }: NamedStack): readonly Frame[] =>
		(lost ? withLoss : whole)(kernel)(user);
}

/** Wakers, and the same with the value of the stacks that they ended: notices say in how much names are missing. */
function weighed(stacks: readonly CapturedStack[]): Map<CapturedWaker, CapturedStack> {
	const values = new Map<CapturedWaker, number>();
	for (const stack of stacks) {
		const value = stackValue(stack);
		for (const waker of wakersOf(stack)) values.set(waker, (values.get(waker) ?? 0) + value);
	}
	return new Map(Array.from(values, ([waker, value]) => [waker, { ...waker, parts: [value] }]));
}

/** Without what it waited for. */
function wakerOf(
	waker: CapturedWaker,
	{ cut, callerMissing }: NamedStack,
	all: readonly Frame[],
): Waker {
	const { pid, did, context = {} } = waker;
	const kind = did === 'was blocked' ? 'thread' : context.context;
	// What an interrupt interrupted has not woken anybody.
	const frames = kind === 'hardirq' || kind === 'softirq' ? interruptFrames(all, kind) : all;
	const key = pid === 0 ? { comm: waker.comm } : keyOf(waker);
	return {
		key: { ...key, ...context },
		frames,
		...(cut ? { cut } : {}),
		...(callerMissing ? { callerMissing } : {}),
		...(did ? { did } : {}),
	};
}

function keyOf({ pid, tid, comm, apart }: CapturedStack): Key {
	if (pid === 0 && comm === '') return { comm: '[others]' };
	// What the kernel does for nobody.
	if (apart?.memory !== undefined && pid === 0) return { ...apart, comm };
	return { ...apart, pid, ...(tid ? { tid } : {}), comm };
}

/** Who ended a wait, link by link, in plain values. Pure: no I/O, no kernel. */
import { functionOf } from '../../aggregate/application-frames.js';
import type { Did, Frame } from '../../aggregate/stack.js';
import type { StackRow, Waker } from '../../aggregate/stack-rows.js';
import { isNamed, programFrame } from '../../aggregate/summary-frames.js';
import type { WaitObject } from '../../aggregate/wait-object.js';
import { bareName } from '../../render/function-name.js';
import { objectText } from '../../render/wait-object.js';
import { isNotWoken, kindOf, nameOf } from './idle.js';

export interface Link {
	/** Of an interrupt: what it serves. */
	readonly comm: string;
	/** 0: it is no thread. */
	readonly pid: number;
	readonly tid: number;
	/** Undefined: nobody knows. */
	readonly did: Did | undefined;
	/** Of one that was blocked: for what; else ''. */
	readonly kind: string;
	readonly object: string;
	readonly of: WaitObject | undefined;
	/** The program's function that it was in; '': none has a name. */
	readonly function: string;
	/** Root first. */
	readonly frames: readonly Frame[];
	readonly isInterrupt: boolean;
	/** The wait goes on. */
	readonly isNobody: boolean;
}

/** The nearest first. */
export function wakersOf({ waker }: Pick<Waker, 'waker'>): Waker[] {
	const wakers: Waker[] = [];
	for (let each = waker; each; each = each.waker) wakers.push(each);
	return wakers;
}

/** From who woke the thread to the last one that was followed: of what ended *its* wait no more is told. */
export function linksOf(waker: Waker): Link[] {
	const links = [linkOf(waker)];
	for (let next = waker.waker; next; next = next.waker) {
		if (!next.did) break;
		links.push(linkOf(next));
	}
	return links;
}

function linkOf(waker: Waker): Link {
	const { key, did, frames, objects = [] } = waker;
	const wasBlocked = did === 'was blocked';
	const object = wasBlocked ? objects[0]?.object : undefined;
	return {
		comm: `${key.comm ?? ''}`,
		pid: Number(key.pid ?? 0),
		tid: Number(key.tid ?? key.pid ?? 0),
		did,
		kind: wasBlocked ? kindOf(frames, object) : '',
		object: nameOf(object) ?? (object && object.type !== 'unknown' ? objectText(object) : ''),
		of: object,
		function: tellingFunction(waker),
		frames,
		isInterrupt: key.context === 'softirq' || key.context === 'hardirq',
		isNobody: isNotWoken(waker),
	};
}

/** The program's function that says most; '': none has a name. */
export function tellingFunction({
	frames,
	callerMissing,
}: Pick<StackRow, 'frames' | 'callerMissing'>): string {
	const frame = programFrame({ frames, callerMissing })?.frame;
	return frame && isNamed(frame) ? bareName(functionOf(frame)) : '';
}

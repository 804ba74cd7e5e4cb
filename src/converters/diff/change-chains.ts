/** Functions whose change is one and the same: a change in one also shows in its callers. Pure values: no I/O. */
import { changeOf, type Difference, type FunctionChange } from './difference.js';

/** Changes that differ by less than this share are the same. */
const SAME = 0.1;

/** A function that changed, and callers that changed because of it. */
export interface ChangeChain {
	/** The deepest of them. */
	readonly change: FunctionChange;
	/** The nearest first. */
	readonly callers: readonly FunctionChange[];
}

/**
 * Puts each function that changed in total into one chain. A caller is in the chain of what it calls if nearly
 * all of its change is in the stacks in which it calls that, and nearly all of that's change is too.
 */
export function changeChains(
	difference: Difference,
	changes: readonly FunctionChange[],
): ChangeChain[] {
	const byFrame = new Map(changes.map((change) => [change.frame, change]));
	const callerOf = onlyCallers(difference, byFrame);
	const called = new Set(callerOf.values());
	const seen = new Set<FunctionChange>();
	const chains: ChangeChain[] = [];
	const climb = (from: FunctionChange): void => {
		for (let deepest: FunctionChange | undefined = from; deepest && !seen.has(deepest); ) {
			seen.add(deepest);
			const callers: FunctionChange[] = [];
			let caller = callerOf.get(deepest);
			// What differs too much from the deepest one, if only a little from the next, begins another chain.
			for (; caller && !seen.has(caller) && isSame(totalOf(caller), totalOf(deepest)); ) {
				seen.add(caller);
				callers.push(caller);
				caller = callerOf.get(caller);
			}
			chains.push({ change: deepest, callers });
			deepest = caller;
		}
	};
	for (const change of changes) if (!called.has(change)) climb(change);
	// Functions that call each other in a circle.
	for (const change of changes) climb(change);
	return chains.filter(({ change }) => totalOf(change) !== 0);
}

const totalOf = ({ total }: FunctionChange): number => changeOf(total);

/** Whether two changes go the same way, by nearly as much. */
export function isSame(a: number, b: number): boolean {
	return a * b > 0 && Math.abs(a - b) <= SAME * Math.max(Math.abs(a), Math.abs(b));
}

/** Of each function the caller that has the same change because of it, if there is one. */
function onlyCallers(
	difference: Difference,
	byFrame: ReadonlyMap<number, FunctionChange>,
): Map<FunctionChange, FunctionChange> {
	const { size } = difference.frames;
	const totals = new Float64Array(size);
	for (const [frame, change] of byFrame) totals[frame] = totalOf(change);
	const callerOf = new Map<FunctionChange, FunctionChange>();
	const taken = new Set<FunctionChange>();
	const calls = [...changesOfCalls(difference, totals)];
	for (const [pair, change] of calls.sort(([, a], [, b]) => Math.abs(b) - Math.abs(a))) {
		const caller = byFrame.get(Math.floor(pair / size));
		const callee = byFrame.get(pair % size);
		if (!caller || !callee || taken.has(caller) || callerOf.has(callee)) continue;
		if (!isSame(change, totalOf(caller)) || !isSame(change, totalOf(callee))) continue;
		taken.add(caller);
		callerOf.set(callee, caller);
	}
	return callerOf;
}

/** What changed in stacks in which one calls the other, of those whose totals changed by the same; by their pair. */
function changesOfCalls(
	{ frames, stacks, values }: Difference,
	totals: Float64Array,
): Map<number, number> {
	const calls = new Map<number, number>();
	/** The stack in which a pair was last met: however often it is in one, that counts once. */
	const met = new Map<number, number>();
	for (let stack = 0; stack < stacks.size; stack++) {
		const change = (values.after[stack] as number) - (values.before[stack] as number);
		const path = change === 0 ? [] : stacks.frames(stack);
		for (let at = 1; at < path.length; at++) {
			const [caller, callee] = [path[at - 1] as number, path[at] as number];
			const pair = caller * frames.size + callee;
			if (caller === callee || !isSame(totals[caller] as number, totals[callee] as number))
				continue;
			if (met.get(pair) === stack) continue;
			met.set(pair, stack);
			calls.set(pair, (calls.get(pair) ?? 0) + change);
		}
	}
	return calls;
}

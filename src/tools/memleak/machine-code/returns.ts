/**
 * Where a function returns. A uretprobe would be simpler, but it replaces the return address on the
 * stack, and what unwinds the stack does not find through that: an exception that leaves the function
 * would end the program (std::terminate). Probes on its `ret` instructions change nothing there.
 */
import { decode, type Instruction } from './x86-decode.js';

/** Operators new have some thousand, with all that they jump to. */
const MAX_INSTRUCTIONS = 50_000;
/** Jumps to other files' functions, each of which is looked up; libstdc++ has two there. */
const MAX_RESOLVED = 32;

/** What a jump through a variable at `at` in the text goes to, in the text; a PLT's entry does so. */
type Resolve = (at: number) => number | undefined;

/**
 * The offsets in `text` of all `ret` instructions by which a call of what begins at `start` can end,
 * also by way of other functions that it jumps to; undefined where that cannot be told. Others may
 * get there, too: whoever is told compares stack pointers.
 */
export function findReturns(
	text: Uint8Array,
	start: number,
	resolve: Resolve,
): number[] | undefined {
	const seen = new Set<number>();
	const returns: number[] = [];
	const pending = [start];
	let resolved = 0;
	for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
		if (seen.has(at)) continue;
		seen.add(at);
		const instruction = decode(text, at);
		if (!instruction || seen.size > MAX_INSTRUCTIONS) return undefined;
		const { flow, name, throughVariable } = instruction;
		// A jump table's.
		if (flow === 'indirect' && !throughVariable) return undefined;
		if (flow === 'indirect' && ++resolved > MAX_RESOLVED) return undefined;
		if (name === 'ret') returns.push(at);
		addNext(pending, instruction, at, resolve);
	}
	return returns.length > 0 ? returns : undefined;
}

/** Adds where it goes on; not to another file: what follows a call that throws may seem to. */
function addNext(
	pending: number[],
	{ flow, target, length_bytes }: Instruction,
	at: number,
	resolve: Resolve,
): void {
	const to = flow === 'indirect' ? resolve(at) : flow === 'call' ? undefined : target;
	if (to !== undefined) pending.push(to);
	if (flow === 'next' || flow === 'call' || flow === 'branch') pending.push(at + length_bytes);
}

/** Where the frames of stacks are in code, each placed once for all stacks that begin alike. */
import type { CapturedStack } from '../aggregate/stack.js';
import type { FunctionWord } from '../runtimes/runtime.js';
import type { PlacedFrame } from './language-frames.js';
import type { AddressSpace, Life } from './mappings/address-space.js';

/** The user's side of a stack; leaf first. */
interface Walked {
	readonly space: AddressSpace;
	/** Of each frame, within the instruction that is run. */
	readonly addresses: readonly number[];
	/** By the number of the frame that runs them. */
	readonly functions: CapturedStack['functions'];
}

interface Placed extends Walked {
	readonly frames: readonly PlacedFrame[];
	/** Frames of all stacks so far that are no leaves, by their address and the first function that they run. */
	readonly known: Map<number, Map<number, Known>>;
}

interface Known {
	readonly words: readonly FunctionWord[] | undefined;
	readonly frame: PlacedFrame;
}

/** In the place of a function, of frames that run none. */
const NO_FUNCTION = 0;

export class PlacedStacks {
	/** What was placed last, of each program. */
	readonly #last = new Map<Life, Placed>();

	/**
	 * The frames of a stack. `place` is asked for those that no stack of the same program has had before; the others are
	 * the same objects. What could not be read is asked for again.
	 */
	frames(walked: Walked, place: (address: number, i: number) => PlacedFrame): PlacedFrame[] {
		const { space, addresses, functions } = walked;
		const before = this.#last.get(space.life);
		const last = before && space.isMappedAs(before.space) ? before : undefined;
		const shared = last ? last.frames.slice(last.frames.length - countShared(walked, last)) : [];
		const known: Placed['known'] = last?.known ?? new Map();
		const frames = addresses.slice(0, addresses.length - shared.length).map((address, i) => {
			if (i === 0) return place(address, i);
			const words = functions?.get(i);
			return knownIn(known, address, words) ?? kept(known, address, words, place(address, i));
		});
		const all = shared.length > 0 ? frames.concat(shared) : frames;
		this.#last.set(space.life, { space, addresses, functions, frames: all, known });
		return all;
	}

	/** Other stacks come next. */
	forget(): void {
		this.#last.clear();
	}
}

/** How many frames, from the root on, two stacks have in common. A leaf is not placed as a call there would be. */
function countShared(walked: Walked, last: Placed): number {
	const most = Math.min(walked.addresses.length, last.addresses.length) - 1;
	let count = 0;
	while (count < most && isSame(walked, last, count + 1)) count++;
	return Math.max(0, count);
}

function isSame(walked: Walked, last: Placed, fromRoot: number): boolean {
	const [i, j] = [walked.addresses.length - fromRoot, last.addresses.length - fromRoot];
	return (
		walked.addresses[i] === last.addresses[j] &&
		!last.frames[j]?.isUnread &&
		areSame(walked.functions?.get(i), last.functions?.get(j))
	);
}

function knownIn(
	known: Placed['known'],
	address: number,
	words: Known['words'],
): PlacedFrame | undefined {
	const found = known.get(address)?.get(words?.[0]?.place ?? NO_FUNCTION);
	return found && areSame(found.words, words) ? found.frame : undefined;
}

function kept(
	known: Placed['known'],
	address: number,
	words: Known['words'],
	frame: PlacedFrame,
): PlacedFrame {
	if (frame.isUnread) return frame;
	const there = known.get(address) ?? new Map<number, Known>();
	if (there.size === 0) known.set(address, there);
	there.set(words?.[0]?.place ?? NO_FUNCTION, { words, frame });
	return frame;
}

function areSame(
	some: readonly FunctionWord[] | undefined,
	others: readonly FunctionWord[] | undefined,
): boolean {
	if (!some || !others) return some === others;
	return (
		some.length === others.length &&
		some.every((one, i) => {
			const other = others[i] as FunctionWord;
			const isSame = one.place === other.place && one.print === other.print;
			return isSame && one.isCallers === other.isCallers && one.instruction === other.instruction;
		})
	);
}

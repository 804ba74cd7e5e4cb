/** What is missing of user stacks: judged by how the walk ended, or else by what its frames are. */
import type { CapturedStack, Cut, Frame, NamedStack } from '../../aggregate/stack.js';
import type { OpenFile } from '../../proc/open.js';
import type { Place } from '../code-place.js';
import type { MappedFile } from '../mappings/mapped-file.js';
import type { FileNames } from '../symbols/object-file.js';
import { isCLibrary, keepsFramePointers } from './c-library.js';

/**
 * First functions of threads: of glibc, musl (`start` has no name of its own there) and Go. Where glibc
 * is without symbols, the one that called main has no name; a return into its middle is the same.
 */
const OUTERMOST =
	/^(_start|_dl_start|__libc_start_\w+|start_thread|__?clone3?|clone3?|thread_start|runtime\.(goexit|mstart|rt0_go)(\.\w+)?)$/;

/**
 * Go's scheduler and its threads run on stacks that begin with these. Frame pointers do not say so: a walk by them goes
 * on to the goroutine that ran before. Source: Go's src/runtime/asm_amd64.s, mcall; sys_linux_amd64.s, clone.
 */
const BEGINS_STACK = /^runtime\.(mcall|clone)(\.abi0)?$/;

/** The place of the frame with which a stack begins, -1 if none does. A leaf may be about to change to another stack. */
const stackBegins = (user: readonly Place[]): number =>
	user.findIndex(({ frame }, i) => i > 0 && isStackBegin(frame));

const isStackBegin = ({ name }: Frame): boolean =>
	name.startsWith('runtime.') && BEGINS_STACK.test(name);

/** Leaf first: what a stack has up to the frame with which it begins. */
export function withinStack(user: readonly Place[]): readonly Place[] {
	const first = stackBegins(user);
	return first < 0 ? user : user.slice(0, first + 1);
}

/** Finds what stacks lack; knows files of the C library from one call to the next. */
export class MissingFrames {
	/** Whether they keep frame pointers, and whether all their symbols are there. */
	readonly #cLibraries = new WeakMap<MappedFile, { framesKept: boolean; complete: boolean }>();

	/** Takes what is known of a file that user frames are in. */
	addFile(file: MappedFile, open: OpenFile, { complete }: FileNames): void {
		if (!isCLibrary(file.path)) return;
		this.#cLibraries.set(file, { framesKept: keepsFramePointers(open), complete });
	}

	/** `user`: the stack's frames within it, leaf first, with their names. `maxDepth`: the most that a walk takes. */
	of(
		{ userEnd, user: walked }: CapturedStack,
		user: readonly Place[],
		maxDepth: number,
	): Pick<NamedStack, 'cut' | 'callerMissing'> {
		if (stackBegins(user) >= 0) return {};
		const isFull = walked.length >= maxDepth;
		if (userEnd === undefined)
			return { cut: this.#cutOf(user, isFull), callerMissing: this.#lacksCaller(user) };
		if (userEnd === 'whole') return {};
		if (userEnd === 'guessed') return { cut: this.#cutOf(user, isFull) };
		// Only those that begin threads have nobody to return to.
		if (userEnd === 'at zero') return { cut: this.#cutOf(user, isFull) && 'no way on' };
		return { cut: isFull ? 'too deep' : userEnd };
	}

	/**
	 * Whether the leaf is a function of a C library without frame pointers: the frame that follows is its
	 * caller's caller then, as it left its caller's frame pointer alone.
	 */
	#lacksCaller(user: readonly Place[]): boolean {
		const [leaf] = user;
		// A stack of one function is marked as cut.
		if (!leaf?.file || user.length === 1) return false;
		return this.#cLibraries.get(leaf.file)?.framesKept === false;
	}

	/** Why they do not reach their thread's first function, if so. */
	#cutOf(user: readonly Place[], isFull: boolean): Cut | undefined {
		const root = user.at(-1);
		if (!root || OUTERMOST.test(root.frame.name)) return undefined;
		const library = root.file && this.#cLibraries.get(root.file);
		// With symbols what has no name is where a signal's handler returns to.
		const nameless = root.lacks === 'symbols' && library?.complete === false;
		if (nameless && user.length > 1) return undefined;
		return isFull ? 'too deep' : 'no frame pointers';
	}
}

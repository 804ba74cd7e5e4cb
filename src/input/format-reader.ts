/** What a reader of some format is given, and what it makes. */
import type { StackProfile } from '../aggregate/stack-profile.js';

/** What to tell the user about the result: what was left out, and why. */
export type Notify = (notice: string) => void;

/** How stacks are named; what stackcollapse-perf.pl has options for, see its --help. */
export interface ReadOptions {
	/** Of perf script text: add the process's or the thread's number to its name. */
	readonly identify: 'none' | 'pid' | 'tid';
	/** Write frames without a name as "[module <address>]". */
	readonly addresses: boolean;
	/** Ask addr2line which functions were inlined. */
	readonly inline: boolean;
	/** End names of functions inlined by a JIT ("caller->callee") with _[i], as stackcollapse-perf.pl does. */
	readonly arrowMarks?: boolean;
	/** Only this event. */
	readonly event: string | undefined;
}

/** Reads one format; a profile for each event that is in it. Throws TstraceError. */
export type FormatReader = (
	chunks: AsyncIterable<Buffer>,
	options: ReadOptions,
	notify: Notify,
) => Promise<StackProfile[]>;

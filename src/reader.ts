/** How a tool's result is read. */

import type { EventRow, Findings, Lost } from './aggregate/report.js';

/** Says what is done and why, with -v. */
export type Note = (text: string) => void;

/**
 * Rows to show as they come, in the order they happened: to be made lines of, or as bytes of text where
 * there are too many for an object each. Resolves when they are written; the bytes may change then.
 */
export type RowSink = (rows: readonly EventRow[] | Uint8Array) => Promise<void>;

/** Of whoever waits for the last result: it may take a little longer, to be a better one. */
export interface Patience {
	/** Shows what is done and how far it is, in place of what was shown before. */
	tell(what: string, progress?: string): void;
	/** Runs `action`. A signal of the user's then ends that, by the AbortSignal, and not the run. */
	during<T>(action: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** Reads what the programs have counted. */
export interface Reader<F extends Findings = Findings> {
	/** Programs are about to be attached: tracing begins now. */
	begin?(): void;
	/** Programs are attached, and those of `runOnce` have run. */
	begun?(): void;
	/** COMMAND has been let go, at that time: CLOCK_MONOTONIC. */
	released?(at_ns: number): void;
	/** Tracing is about to end; programs are attached still. */
	end?(): void;
	/**
	 * Costs less from now on, if it can: says how, as "…s 25 times a second from now on". What is counted
	 * stays comparable with what was counted before.
	 */
	slowDown?(): string | undefined;
	/** Moves what the kernel holds to user space, so that maps do not fill. */
	drain?(): void;
	/** How often that is called; undefined: every second. */
	readonly drainPeriod_ms?: number | undefined;
	/** Begins to hand over rows as they come; the sink never throws. `fail` gets what goes wrong meanwhile. */
	stream?(sink: RowSink, fail: (error: unknown) => void): void;
	/** What happened since the last call; `patience`: tracing has ended, this is the last one. */
	read(patience?: Patience): Promise<F>;
	/** What was lost in user space since the last call, by cause; see LOST_HERE in loss.ts. */
	lost?(): Lost;
	/** Releases what is not the object's own. */
	close?(): void;
}

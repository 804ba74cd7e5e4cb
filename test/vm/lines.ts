/** What a machine tells of itself and of its tests: lines of JSON on its console. */
import type { WalkCost } from '../../bench/walks/costs.js';

/** Begins a line that is ours; all else on the console is the kernel's, or a stranger's. */
const MARK = '@@tstrace ';

export interface Facts {
	readonly type: 'facts';
	readonly release: string;
	readonly arch: string;
	/** Whether it is PREEMPT_RT. */
	readonly realtime: boolean;
	readonly features: Readonly<Record<string, boolean>>;
}

/** What a tool says with -v of how it goes about it here. */
export interface Hook {
	readonly type: 'hook';
	readonly tool: string;
	readonly because: string;
	/** Whether it traced. */
	readonly began: boolean;
	/** Where it did not: what it said. */
	readonly stderr: string;
	/** Of the kernel's memory, for its maps and programs, at most while it ran. */
	readonly kernel_bytes: number;
}

export interface TestResult {
	readonly type: 'test';
	readonly tool: string;
	readonly name: string;
	readonly result: 'passed' | 'failed' | 'skipped';
	/** Why it was skipped, or what failed. */
	readonly why: string;
	readonly ms: number;
	/** Once more, as it failed before: under emulation all is late at times. */
	readonly again?: boolean;
}

/** What a walk of a user stack costs here, at one hook. */
interface Walk extends WalkCost {
	readonly type: 'walk';
}

/** What the kernel has warned of since it booted, of itself: lines of its log. */
interface Warnings {
	readonly type: 'warnings';
	readonly lines: readonly string[];
}

/** The last line: all was run. */
interface End {
	readonly type: 'end';
}

export type Line = Facts | Hook | TestResult | Walk | Warnings | End;

export function encode(line: Line): string {
	return `${MARK}${JSON.stringify(line)}\n`;
}

/** Undefined for a line of somebody else's. */
export function decode(text: string): Line | undefined {
	const at = text.indexOf(MARK);
	if (at < 0) return undefined;
	try {
		return JSON.parse(text.slice(at + MARK.length));
	} catch {
		return undefined;
	}
}

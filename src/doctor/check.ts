/** What `tstrace doctor` finds out, as values. */

/** 'warn': tools run, and something is worse for it. 'missing': some tool cannot run. */
export type State = 'ok' | 'warn' | 'missing';

export interface Check {
	readonly name: string;
	readonly state: State;
	/** What is there. */
	readonly found: string;
	/** What is lost without it. */
	readonly costs?: string;
	/** The command that gives it; where there is none, what else does. */
	readonly fix?: string;
}

/** A remedy. */
export const NEWER_KERNEL = 'a newer kernel; no setting adds this';

export interface ToolCheck {
	readonly name: string;
	readonly runs: boolean;
	/** By which of several ways. */
	readonly way?: string;
	/** Why it does not run. */
	readonly why?: string;
}

export interface Examination {
	readonly checks: readonly Check[];
	readonly tools: readonly ToolCheck[];
}

export const ok = (name: string, found: string): Check => ({ name, state: 'ok', found });

export function warn(name: string, found: string, costs: string, fix: string): Check {
	return { name, state: 'warn', found, costs, fix };
}

export function missing(name: string, found: string, costs: string, fix: string): Check {
	return { name, state: 'missing', found, costs, fix };
}

/** A check; where it cannot be made, that is what was found. */
export function attempt(name: string, check: () => Check): Check {
	try {
		return check();
	} catch (error) {
		const message = error instanceof Error ? error.message : String(error);
		// The rest, with its remedy, is said of what is missing itself.
		const why = message.split(/[,:;]\s|\n/)[0];
		return { name, state: 'missing', found: `tstrace cannot tell: ${why}` };
	}
}

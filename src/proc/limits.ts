/** What this process may use at most. Format: man 5 proc_pid_limits. */
import { textOf } from '../text-of.js';

/** The kernel's own limit applies from `soft` on; the process may raise that up to `hard`. */
export interface Limit {
	/** Infinity: unlimited. */
	readonly soft: number;
	readonly hard: number;
}

/** How many files may be open; 0 where it is not told. */
export function openFilesLimit(limits = textOf('/proc/self/limits') ?? ''): Limit {
	const [, soft = '0', hard = '0'] = /^Max open files\s+(\S+)\s+(\S+)/m.exec(limits) ?? [];
	return { soft: numberOf(soft), hard: numberOf(hard) };
}

const numberOf = (text: string) => (text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text));

/** How much memory a process has resident. Source: man 5 proc_pid_status, VmRSS. */
import { readFileSync } from 'node:fs';

/** In bytes; undefined where the process is gone, or has no memory of its own. */
export function residentBytes(pid: number): number | undefined {
	try {
		const kb = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
		return kb === undefined ? undefined : Number(kb) * 1024;
	} catch {
		return undefined;
	}
}

/** How much memory a process has resident. Source: man 5 proc_pid_status, VmRSS. */
import { textOf } from '../../text-of.js';

/** In bytes; undefined where the process is gone, or has no memory of its own. */
export function residentBytes(pid: number): number | undefined {
	const kb = /^VmRSS:\s*(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`) ?? '')?.[1];
	return kb === undefined ? undefined : Number(kb) * 1024;
}

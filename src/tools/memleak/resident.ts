/** How much memory a process has resident. Source: man 5 proc_pid_status, VmRSS. */
import { humanBytes } from '../../render/units.js';
import { textOf } from '../../text-of.js';

/** In bytes; undefined where the process is gone, or has no memory of its own. */
export function residentBytes(pid: number): number | undefined {
	const kb = /^VmRSS:\s*(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`) ?? '')?.[1];
	return kb === undefined ? undefined : Number(kb) * 1024;
}

/** How much each process has resident at the end of an interval, in words. */
export class ResidentMemory {
	#before: ReadonlyMap<number, number> = new Map();

	/** `bytes`: by process, as tracing begins. */
	begin(bytes: ReadonlyMap<number, number>): void {
		this.#before = bytes;
	}

	/** A line for each process: how much it has now, and by how much that changed since the last call. */
	notices(now: ReadonlyMap<number, number>): string[] {
		const before = this.#before;
		this.#before = now;
		return [...now].map(([pid, bytes]) => {
			const change = bytes - (before.get(pid) ?? 0);
			const sign = change < 0 ? '' : '+';
			return `process ${pid} has ${humanBytes(bytes)} resident (${sign}${humanBytes(change)}).`;
		});
	}
}

/** The CPU time of children that have ended. Source: man 2 getrusage. */
import { libc } from './ffi.js';

const RUSAGE_CHILDREN = -1;
/** struct rusage, on 64-bit machines: two struct timeval, and 14 counts. */
const RUSAGE_BYTES = 2 * 16 + 14 * 8;

export interface CpuTimes {
	readonly user_s: number;
	readonly system_s: number;
}

/** Of all that this process has waited for so far, and what these had waited for. */
export function childTimes(): CpuTimes {
	const usage = new BigInt64Array(RUSAGE_BYTES / 8);
	libc().getrusage(RUSAGE_CHILDREN, new Uint8Array(usage.buffer));
	const [user_s = 0n, user_us = 0n, system_s = 0n, system_us = 0n] = usage;
	return {
		user_s: Number(user_s) + Number(user_us) / 1e6,
		system_s: Number(system_s) + Number(system_us) / 1e6,
	};
}

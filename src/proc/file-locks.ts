/** Who has the file locks that processes wait for: /proc/locks, which fs/locks.c, lock_get_status writes. */
import { textOf } from '../text-of.js';

/** "1: POSIX  ADVISORY  WRITE 712 08:01:131 0 EOF"; who waits for it has an arrow, and the same number in front. */
const LINE = /^(\d+):\s+(->\s+)?\w+\s+\w+\s+\w+\s+(-?\d+)\s/;
/** A machine may have a million locks, and the kernel makes others wait while it writes them. */
const MOST_BYTES = 1 << 20;

/** By the number of the process that waits: that of the one that has the lock, where it has a number. */
export function holdersIn(text: string): Map<number, number> {
	const holders = new Map<number, number>();
	let lock = '';
	let holder = 0;
	for (const line of text.split('\n')) {
		const [, number = '', waits, pid = ''] = LINE.exec(line) ?? [];
		if (waits === undefined) {
			lock = number;
			holder = Number(pid);
		} else if (number === lock && number !== '' && holder > 0 && Number(pid) > 0) {
			holders.set(Number(pid), holder);
		}
	}
	return holders;
}

/** Who waited for whom whenever somebody looked; looks no more once there are very many locks. */
export class FileLocks {
	readonly holders = new Map<number, { readonly pid: number; readonly comm: string }>();
	#tooMany = false;

	look(): void {
		if (this.#tooMany) return;
		const text = textOf('/proc/locks') ?? '';
		this.#tooMany = text.length > MOST_BYTES;
		for (const [waiter, pid] of holdersIn(text)) {
			const comm = textOf(`/proc/${pid}/comm`)?.replace(/\n$/, '');
			if (comm !== undefined) this.holders.set(waiter, { pid, comm });
		}
	}
}

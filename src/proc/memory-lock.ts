/**
 * Whether a process lets others read its memory. Who maps or unmaps holds the lock of its process's memory (mmap_lock)
 * meanwhile; where that waits for a dead network mount, it may be for ever. Then whoever reads the process's memory, its
 * mappings or what is mapped, waits with it.
 */
import { textOf } from '../text-of.js';
import { Asker } from './asker.js';
import { commOf, processIds, threadIds } from './threads.js';

/** Where there are more threads, they are not looked at one by one. */
const MAX_LOOKED_AT = 64;
/** Each file of a process is asked for by itself, and they come in a row. */
const VALID_MS = 20;
const ALL_VALID_MS = 1000;
/** man 5 proc_pid_stat: fields behind the name, from 0. */
const [STATE_FIELD, COUNT_FIELD] = [0, 17];

interface Locked {
	readonly pid: number;
	/** Undefined: it has ended since. */
	readonly comm: string | undefined;
}

/** The kernel takes the lock to read the words with which a process was started: fs/proc/base.c, get_mm_cmdline. */
const asker = new Asker<Locked>((pid) => ['head', '-c', '1', '--', `/proc/${pid}/cmdline`]);
let last = { pid: 0, at_ms: 0 };
let allAnswered_ms = Number.NEGATIVE_INFINITY;

/**
 * Whether memory and mappings of a process can be read without waiting for somebody else. Waits up to 500 ms if that is
 * not sure.
 */
export function memoryAnswers(pid: number): boolean {
	const now_ms = performance.now();
	if (last.pid === pid && now_ms - last.at_ms < VALID_MS) return true;
	if (mayHoldLock(pid) && !asker.isAnswering(`${pid}`, { pid, comm: commOf(pid) }, `${pid}`))
		return false;
	last = { pid, at_ms: now_ms };
	return true;
}

/** Processes whose memory did not answer when they were asked. */
export const lockedMemories = (): readonly Locked[] => asker.silent;

/** A process whose memory does not answer, of all there are; undefined: there was none within the last second. */
export function findLockedMemory(): Locked | undefined {
	const now_ms = performance.now();
	if (now_ms - allAnswered_ms < ALL_VALID_MS) return undefined;
	const pid = processIds().find((each) => !memoryAnswers(each));
	if (pid !== undefined) return { pid, comm: commOf(pid) };
	allAnswered_ms = now_ms;
	return undefined;
}

/** "nfsd-client (1234)" */
export const lockedText = ({ pid, comm }: Locked): string => `${comm ?? 'a process'} (${pid})`;

/** Who waits for a mount with the lock cannot be interrupted: state D of man 5 proc_pid_stat. */
function mayHoldLock(pid: number): boolean {
	const count = Number(fieldsOf(`/proc/${pid}/stat`)[COUNT_FIELD]);
	return (
		count > MAX_LOOKED_AT ||
		threadIds(pid).some((tid) => fieldsOf(`/proc/${pid}/task/${tid}/stat`)[STATE_FIELD] === 'D')
	);
}

/** Those behind the name, which is in brackets and may have brackets itself. */
function fieldsOf(path: string): readonly string[] {
	const stat = textOf(path) ?? '';
	return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

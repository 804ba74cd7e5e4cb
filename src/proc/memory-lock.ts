/**
 * Whether a process lets others read its memory. Who maps or unmaps holds the lock of its process's memory (mmap_lock)
 * meanwhile. If it maps a file of a dead network mount, it holds the lock for ever. A process that then reads this
 * memory, its mappings or what is mapped waits for ever, too.
 */
import { textOf } from '../text-of.js';
import { Asker } from './asker.js';
import { statFields } from './stat-fields.js';
import { commOf, processIds, threadIds } from './threads.js';

/** Of processes that have more threads, whether the memory answers is asked in any case. */
const MAX_LOOKED_AT = 1024;
/** Who answered may be about to map a file. */
const VALID_MS = 200;
/** Each file of a process is asked for by itself, and they come in a row. */
const LOOK_VALID_MS = 20;
const ALL_VALID_MS = 1000;
const MAX_KNOWN = 1024;
/** man 5 proc_pid_stat: fields behind the name, from 0. */
const [STATE_FIELD, COUNT_FIELD, BEGIN_FIELD, SIZE_FIELD] = [0, 17, 19, 20];

interface Silent {
	readonly pid: number;
	/** Undefined: it has ended since. */
	readonly comm: string | undefined;
}

/** The kernel takes the lock to read the words with which a process was started: fs/proc/base.c, get_mm_cmdline. */
const asker = new Asker<Silent>(
	(tid) => ['head', '-c', '1', '--', `/proc/${tid}/cmdline`],
	VALID_MS,
);
/** When the memory of a process was seen to answer, by PID. */
const seen = new Map<number, number>();
let allAnswered_ms = Number.NEGATIVE_INFINITY;

/**
 * Whether memory and mappings of a process can be read without waiting for somebody else. Waits up to 500 ms if that is
 * not sure.
 */
export function memoryAnswers(pid: number): boolean {
	const now_ms = performance.now();
	if (now_ms - (seen.get(pid) ?? Number.NEGATIVE_INFINITY) < LOOK_VALID_MS) return true;
	// Of the first thread: of the process, the kernel adds up what all of its threads used.
	const fields = fieldsOf(`/proc/${pid}/task/${pid}/stat`);
	const holder = mayHoldLock(pid, fields);
	const name = `${pid} ${fields[BEGIN_FIELD]}`;
	if (holder && !asker.isAnswering(name, { pid, comm: commOf(pid) }, `${holder}`)) return false;
	if (seen.size >= MAX_KNOWN) seen.clear();
	seen.set(pid, now_ms);
	return true;
}

/** Processes whose memory did not answer in time when it was asked. */
export const silentMemories = (): readonly Silent[] => asker.silent;

/** A process whose memory does not answer, of all there are; undefined: there was none within the last second. */
export function findSilentMemory(): Silent | undefined {
	const now_ms = performance.now();
	if (now_ms - allAnswered_ms < ALL_VALID_MS) return undefined;
	const pid = processIds().find((each) => !memoryAnswers(each));
	if (pid !== undefined) return { pid, comm: commOf(pid) };
	allAnswered_ms = now_ms;
	return undefined;
}

/** "nfsd-client (1234)" */
export const silentText = ({ pid, comm }: Silent): string => `${comm ?? 'a process'} (${pid})`;

/**
 * A thread that may hold the lock; undefined: none does for long. Who waits for a network mount with it is in state D of
 * man 5 proc_pid_stat.
 */
function mayHoldLock(pid: number, first: readonly string[]): number | undefined {
	if (Number(first[COUNT_FIELD]) > MAX_LOOKED_AT) {
		// Any thread has the same memory, except one that ends: that has none. To list thousands takes 0.1 s.
		return first[SIZE_FIELD] === '0' ? threadIds(pid).at(-1) : pid;
	}
	return threadIds(pid).find(
		(tid) => fieldsOf(`/proc/${pid}/task/${tid}/stat`)[STATE_FIELD] === 'D',
	);
}

function fieldsOf(path: string): readonly string[] {
	return statFields(textOf(path) ?? '');
}

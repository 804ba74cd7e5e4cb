/** Whether processes and threads live. Source: man 5 proc_pid_stat, state; man 5 proc_pid_task. */
import { textOf } from '../text-of.js';
import { statFields } from './stat-fields.js';
import { threadIds } from './threads.js';

/** Whether a thread is there and not a zombie; of a process's number, whether its first thread is. */
export function threadLives(tid: number): boolean {
	return folderLives(`/proc/${tid}`);
}

/** Whether any thread of a process lives; its first one may be a zombie before the others. */
export function processLives(pid: number): boolean {
	return threadIds(pid).some((tid) => folderLives(`/proc/${pid}/task/${tid}`));
}

function folderLives(folder: string): boolean {
	const stat = textOf(`${folder}/stat`);
	return stat !== undefined && !/^[ZX]$/.test(statFields(stat)[0] ?? '');
}

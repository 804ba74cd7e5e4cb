/** Whose time something is, in words. Pure values: no I/O, no kernel. */
import { named } from '../../render/terminal.js';
import type { Answer } from './answer.js';
import type { Sufferer } from './reasons.js';

/** Whose time it is: a process with its number, or how many there are. */
export function ownerText(sufferers: readonly Sufferer[], threads: Answer['threads']): string {
	const [first] = sufferers;
	if (!first) return 'The target';
	const pids = new Set(sufferers.map(({ pid }) => pid));
	if (pids.size > 1) {
		return `${named(first.comm)} (${first.pid}), with ${pids.size - 1} other ${pids.size === 2 ? 'process' : 'processes'},`;
	}
	const leader =
		threads.find(({ pid, tid }) => pid === first.pid && tid === pid)?.comm ?? first.comm;
	if (sufferers.length === 1 && first.tid !== first.pid)
		return `${named(first.comm)} (${first.tid}), a thread of ${named(leader)} (${first.pid}),`;
	return `${named(leader)} (${first.pid})`;
}

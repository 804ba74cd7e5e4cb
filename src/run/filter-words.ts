/** What the filters of a run are, in words; and what to say of names that no thread had. */
import type { Circumstances } from '../aggregate/report.js';
import type { Filter } from '../bpf/filter.js';
import { commMatcher, isGlob } from '../bpf/glob.js';
import { nearest } from '../nearest.js';
import { commsOf, threadsThere } from '../proc/threads.js';

type Filters = Circumstances['filters'];

/** " of process 812, only threads named php*, only on CPU 0 or 2": what follows what is traced. */
export function filterWords(filters: Filters): string {
	const list = (name: string) => {
		const value = filters[name];
		return Array.isArray(value) ? value : [];
	};
	const each = (name: string, noun: string) => list(name).map((one) => `${noun} ${one}`);
	const any = (name: string, words: string) =>
		list(name).length > 0 ? [`${words} ${list(name).join(' or ')}`] : [];
	const flag = (name: string, words: string) => (filters[name] === true ? [words] : []);
	const whose = [...each('pids', 'process'), ...each('tids', 'thread')].join(', ');
	const more = [
		...flag('follow', 'with children'),
		...any('comms', 'only threads named'),
		...any('cgroups', 'only in cgroup'),
		...any('cpus', 'only on CPU'),
		...flag('user_threads', 'only threads of user processes'),
		...flag('kernel_threads', 'only kernel threads'),
		...any('grep', 'only stacks with'),
		...any('exclude', 'without stacks with'),
		...flag('hide_idle', 'without idle threads'),
	];
	return [whose && ` of ${whose}`, ...more.map((words) => `, ${words}`)].join('');
}

/**
 * Of names and patterns of --comm that no thread came by with, those that no thread has now: a line for
 * each, with the name that may have been meant.
 */
export function unmatchedComms(unseen: readonly string[], { pids }: Filter): string[] {
	if (unseen.length === 0) return [];
	const names = [...commsOf(threadsThere(pids.length > 0 ? pids : undefined))];
	const where = pids.length > 0 ? ` of ${pids.map((pid) => `process ${pid}`).join(', ')}` : '';
	return unseen
		.filter((comm) => !names.some(commMatcher([comm])))
		.map((comm) => {
			const what = isGlob(comm) ? 'a name like' : 'the name';
			return `no thread${where} has ${what} ${comm}${hint(comm, names, where === '')}`;
		});
}

function hint(comm: string, names: readonly string[], everywhere: boolean): string {
	const near = isGlob(comm) ? undefined : nearest(comm, names);
	if (near !== undefined) return `; did you mean ${near}?`;
	if (names.length > 0 && !everywhere) return `; there are ${names.slice(0, 5).join(', ')}`;
	return '; ps -eLo comm lists all names';
}

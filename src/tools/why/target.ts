/** How threads were chosen, as words for the next command. Pure values: no I/O, no kernel. */
import type { Subjects } from '../../bpf/filter.js';

/** "-p 1234", "--comm 'my app'", "--follow -- make -j8"; '': all of the machine. */
export function targetOf({ filter, words }: Pick<Subjects, 'filter' | 'words'>): string {
	const { pids, tids, comms, cgroups, follow } = filter;
	const list = (option: string, values: readonly (string | number)[]) =>
		values.length > 0 ? [`${option} ${quoted(values.join(','))}`] : [];
	const each = (option: string, values: readonly string[]) =>
		values.map((value) => `${option} ${quoted(value)}`);
	return [
		...list('-p', pids),
		...list('-t', tids),
		...each('--comm', comms),
		...each('--cgroup', cgroups),
		...(follow ? ['--follow'] : []),
		...(words.length > 0 ? [`-- ${words.map(quoted).join(' ')}`] : []),
	].join(' ');
}

/** As a shell takes it for one word. */
function quoted(word: string): string {
	return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

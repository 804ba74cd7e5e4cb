/** What /proc/PID/stat and /proc/PID/task/TID/stat say. Source: man 5 proc_pid_stat. Pure values: no I/O. */

/** The fields behind the name, from the state on: field 3 of the manual is the first. Empty: `stat` is. */
export function statFields(stat: string): readonly string[] {
	// The name is in brackets, and may have brackets and spaces itself.
	return stat === '' ? [] : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

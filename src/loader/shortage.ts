/** What to do where the system is short of something; undefined where it is not that. */
export function shortage(errno: string): string | undefined {
	if (errno === 'EMFILE') return 'too many open files; raise the limit: ulimit -n 1024';
	if (errno === 'ENFILE') return 'too many open files on this machine; raise fs.file-max';
	if (errno !== 'ENOMEM') return undefined;
	return 'no memory for its maps; raise the limit of its cgroup (memory.max), or free some';
}

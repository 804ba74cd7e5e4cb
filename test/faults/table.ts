/** Faults, what tstrace does in each, and the tests that show it: docs/faults.md is made of this. */

export interface Fault {
	readonly fault: string;
	/** What tstrace does. */
	readonly does: string;
	/** By file of test/live, without .test.ts: parts of the names of its tests. */
	readonly tests: Readonly<Record<string, readonly string[]>>;
}

export const FAULTS: readonly Fault[] = [
	{
		fault:
			'a process executes code of a file system that does not answer: a dead network mount, somebody’s FUSE',
		does: 'names the mount, and reads no file of it; the run ends as any other, and nobody who asked is left',
		tests: { 'silent-mount': ['a file system that does not answer is named'] },
	},
	{
		fault:
			'the same, and the mount was taken away before (umount -l): nobody sees it, and the path of its file is like any other',
		does: 'names the file, and reads nothing of it; it knows the file system by the device of what is mapped',
		tests: { 'silent-mount': ['the same where the mount was taken away before'] },
	},
	{
		fault:
			'the memory of a process does not answer: it maps a file of a dead mount, and keeps the lock of its memory (mmap_lock)',
		does: 'names the process, and reads none of its memory; memleak puts in no probes, as the kernel would wait with it. If that happens while memleak runs, it cannot take its probes out: it ends, even by SIGKILL, when the mount answers',
		tests: {
			'silent-mount': [
				'a process whose memory does not answer is named',
				'where the memory of a process does not answer, no probe is put into',
			],
		},
	},
	{
		fault: 'SIGKILL, in any phase',
		does: 'the kernel removes everything; a COMMAND that has not started yet ends, a running one goes on',
		tests: {
			'faults-kill': [
				'killed in every phase of a run',
				'profile without BPF, killed while it samples',
				'killed while it prints',
				'a COMMAND that runs outlives a tstrace that is killed',
			],
			release: ['a COMMAND that is held ends when tstrace is killed'],
		},
	},
	{
		fault: 'SIGINT, SIGTERM or SIGHUP during start-up',
		does: 'prints a result of what it has, exit status 0; COMMAND never starts, exit status 128 + signal',
		tests: {
			'faults-interrupt': [
				'interrupted in every phase of its start-up',
				'before COMMAND has begun: it never does',
			],
		},
	},
	{
		fault: 'SIGINT while nobody reads the result',
		does: 'waits until a process reads the result, and writes all of it; a second SIGINT ends tstrace at once, exit status 130',
		tests: {
			'faults-interrupt': [
				'interrupted while nobody takes its result',
				'interrupted twice while nobody takes its result',
				'a result every moment that nobody takes',
			],
		},
	},
	{
		fault:
			'SIGHUP, SIGINT or another signal is ignored when tstrace starts (`nohup`, `&` in a script)',
		does: 'tstrace and COMMAND ignore it, too; SIGTERM ends the run',
		tests: {
			untraced: [
				'a SIGHUP that is ignored as tstrace starts is ignored by it and by COMMAND',
				'a SIGHUP that is ignored does not end an interval early',
			],
		},
	},
	{
		fault: 'SIGUSR1',
		does: "ends the run as SIGTERM does; node's debugger never starts",
		tests: {
			'faults-usr1': [
				'SIGUSR1 again and again while',
				'SIGUSR1 ends a run with its result',
				'SIGUSR1 is handed on to COMMAND',
			],
		},
	},
	{
		fault: 'an error in a timer, or while tstrace reads a ring buffer',
		does: 'prints a result of what it has and one error line, exit status 1; ends COMMAND',
		tests: { 'faults-throw': ['ends the run, with its result and one line', 'ends COMMAND, too'] },
	},
	{
		fault: 'a file or a sampler cannot be closed',
		does: 'releases everything else; one error line, exit status 1; ends COMMAND',
		tests: {
			'faults-throw': ['a file that cannot be closed', 'a sampler that cannot be closed'],
		},
	},
	{
		fault: 'the target is killed',
		does: 'ends, says why, prints the result, exit status 0',
		tests: { 'faults-target': ['a target that is killed at work'] },
	},
	{
		fault: 'the thread of `-t` ends, and its process goes on',
		does: 'ends, says why, prints the result, exit status 0',
		tests: {
			'faults-target': ['a thread that was chosen by number ends', '-p and -t: nobody is left'],
		},
	},
	{
		fault: 'the target executes another program',
		does: 'goes on; memleak forgets the allocations of the old program',
		tests: {
			'faults-target': ['a target that executes another program'],
			'memleak-processes': ['what was before exec is gone'],
		},
	},
	{
		fault: 'the target starts thousands of short-lived children',
		does: '`--follow` counts each of them (`syscount`: of 10,000)',
		tests: { 'faults-target': ['thousands of short children'] },
	},
	{
		fault: 'the kernel uses a PID again',
		does: 'does not trace the process that has the PID now',
		tests: { 'faults-target': ['a number that is used again'] },
	},
	{
		fault: 'BPF maps are full',
		does: 'counts what it could not keep, in a line `lost:`',
		tests: {
			'faults-machine': ['maps that are full'],
			'memleak-options': ['what there is no room for is counted'],
			truth: ['a table of groups that is full'],
		},
	},
	{
		fault: 'a ring buffer is full, the reader of the output is slow',
		does: 'counts what it could not keep, in a line `lost:`',
		tests: {
			'faults-machine': ['nobody takes its lines, and the ring is full'],
			timehist: ['printed and lost are all switches, however small the ring'],
			'trace-options': [
				'nobody takes its lines in a flood',
				'lines and what is missing, where it is missing, are all calls',
			],
		},
	},
	{
		fault: 'the disk is full',
		does: 'one error line, exit status 1; keeps what is already in the file',
		tests: { 'faults-files': ['a disk that gets full'] },
	},
	{
		fault: 'the file system is read-only',
		does: 'runs: only `-o` needs to write a file',
		tests: {
			'faults-files': ['where nothing can be written'],
			errors: ['an output file that may not be written'],
		},
	},
	{
		fault: 'stdin, stdout or stderr is closed',
		does: 'runs; never writes results or messages into another file that got the same descriptor number',
		tests: { 'faults-files': ['closed: nothing else is taken for them'] },
	},
	{
		fault: 'the reader of a pipe has gone',
		does: 'ends without a message, exit status 0',
		tests: {
			errors: ['a closed pipe ends the tool quietly'],
			offcputime: ['a closed pipe quietly'],
		},
	},
	{
		fault: 'messages or results go to a file that other programs write to',
		does: 'appends to the file; overwrites nothing',
		tests: {
			'faults-output': [
				'a second signal where the messages go to a file',
				'a file that COMMAND writes to as well',
			],
		},
	},
	{
		fault: '`-o` names a pipe that nobody reads, or reads slowly',
		does: 'traces, then waits until a process reads the pipe, and writes all of the result; if a signal comes first: one error line, exit status 1',
		tests: {
			'faults-output': [
				'a named pipe that nobody reads, ',
				'a named pipe that nobody reads: COMMAND runs',
				'a named pipe whose reader comes late',
				'a named pipe whose reader is slow',
				'a named pipe that is full',
			],
		},
	},
	{
		fault: "`-o` names another user's link, file or pipe in a directory where everybody may write",
		does: 'one error line, exit status 1; writes nothing. Only the owner can read new files',
		tests: {
			'faults-output': [
				'of a stranger is refused',
				'by way of links of one’s own',
				'what is written is for its owner only',
			],
		},
	},
	{
		fault: 'the result of a traced COMMAND cannot be written',
		does: 'one error line, exit status 1; ends COMMAND',
		tests: { 'faults-output': ['a COMMAND that is traced ends when the result cannot be written'] },
	},
	{
		fault: '`/proc` is mounted with `hidepid`',
		does: 'with `-p`, says that the process is hidden; without `-p`, traces',
		tests: {
			'faults-files': ['says that it is hidden', 'hidepid: who is not named is traced'],
		},
	},
	{
		fault: 'no permission to read `/proc/PID/root`',
		does: 'opens the same files by their ordinary paths; if that fails, memleak says that it has no permission',
		tests: {
			'faults-files': [
				'without permission to /proc/PID/root',
				'memleak of files that cannot be opened',
			],
		},
	},
	{
		fault: 'a server in `DEBUGINFOD_URLS` never answers, or goes on sending',
		does: 'gives it up at a limit, or at a signal, and prints the result with the names that there are',
		tests: {
			debuginfod: [
				'ends the fetch: the result is what there is',
				'tstrace is killed meanwhile',
				'limits: too large, too slow',
			],
		},
	},
	{
		fault: '`/proc` is not mounted',
		does: 'one error line, exit status 1',
		tests: { 'faults-files': ['without /proc: one line'] },
	},
	{
		fault: '64 tstrace run at once',
		does: 'each has the right result',
		tests: { 'faults-machine': ['64 at once'] },
	},
	{
		fault: "the memory limit of tstrace's cgroup is low",
		does: 'the kernel kills it, or it prints one error line (exit status 1), or the result is right',
		tests: { 'faults-machine': ['in a cgroup with ever more memory'] },
	},
	{
		fault: 'the limit of open files is low',
		does: 'one error line that says what to do, exit status 1',
		tests: { 'faults-machine': ['with ever more descriptors'] },
	},
	{
		fault: 'stat: more threads and events than there may be open files',
		does: 'one error line that says how many are needed, and three ways out; exit status 1',
		tests: { 'stat-options': ['more threads than there may be open files'] },
	},
	{
		fault: 'stat: the machine has no hardware counters, or not this one',
		does: 'counts the other events; says why these have no count, and what can be counted; if none can, exit status 1',
		tests: { 'stat-options': ['events that this machine does not have'] },
	},
	{
		fault: 'stat: `kernel.perf_event_paranoid` forbids to count in the kernel, or at all',
		does: 'counts in user space what can be counted there, and says so; the rest has no count, and not 0; if nothing is left, exit status 1',
		tests: { 'stat-options': ['an ordinary user: its own processes'] },
	},
	{
		fault: 'stat: an event, a tracepoint, a process or a cgroup is not there',
		does: 'one error line with the nearest names; exit status 2 for names of events, else 1',
		tests: { 'stat-options': ['what is not there'] },
	},
	{
		fault: 'stat: the process ends early, or COMMAND fails',
		does: 'prints the counts until then; the exit status is that of COMMAND',
		tests: {
			'stat-options': [
				'a process that ends early: its counts until then',
				'the exit status of COMMAND is that of stat',
				'several runs, interrupted: the result of those that ended',
			],
		},
	},
	{
		fault: 'a CPU goes off-line and on-line again',
		does: 'goes on',
		tests: { 'vm-cpus': ['a CPU goes and comes while it traces', 'while a CPU is off-line'] },
	},
	{
		fault: 'the clock is set',
		does: 'is not affected: takes durations and intervals from CLOCK_MONOTONIC',
		tests: { 'vm-clock': ['the clock is set by'] },
	},
];

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
		fault: 'SIGKILL, in any phase',
		does: 'the kernel takes back everything; COMMAND ends if it is held still, else it goes on',
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
		fault: 'SIGINT, SIGTERM, SIGHUP in start-up',
		does: 'a report of what there was, status 0; COMMAND never begins, status 128 + signal',
		tests: {
			'faults-interrupt': [
				'interrupted in every phase of its start-up',
				'before COMMAND has begun: it never does',
			],
		},
	},
	{
		fault: 'SIGINT while nobody takes the result',
		does: 'waits for the reader, all of it comes; a second one leaves at once, status 130',
		tests: {
			'faults-interrupt': [
				'interrupted while nobody takes its result',
				'interrupted twice while nobody takes its result',
				'a result every moment that nobody takes',
			],
		},
	},
	{
		fault: 'SIGHUP, SIGINT or another signal ignored at the start (`nohup`, `&` in a script)',
		does: 'it stays ignored, by tstrace and by COMMAND; SIGTERM ends the run',
		tests: {
			untraced: [
				'a SIGHUP that is ignored as tstrace starts is ignored by it and by COMMAND',
				'a SIGHUP that is ignored does not end an interval early',
			],
		},
	},
	{
		fault: 'SIGUSR1',
		does: "ends a run as SIGTERM does; node's debugger never listens",
		tests: {
			'faults-usr1': [
				'SIGUSR1 again and again while',
				'SIGUSR1 ends a run with its result',
				'SIGUSR1 is handed on to COMMAND',
			],
		},
	},
	{
		fault: 'error in a timer or in the reading of a ring',
		does: 'ends with a result of what there was, one line, status 1; ends COMMAND',
		tests: { 'faults-throw': ['ends the run, with its result and one line', 'ends COMMAND, too'] },
	},
	{
		fault: 'something cannot be closed',
		does: 'everything else is released; one line, status 1; ends COMMAND',
		tests: {
			'faults-throw': ['a file that cannot be closed', 'a sampler that cannot be closed'],
		},
	},
	{
		fault: 'target killed',
		does: 'ends, says why, prints the result, status 0',
		tests: { 'faults-target': ['a target that is killed at work'] },
	},
	{
		fault: 'target executes another program',
		does: 'goes on; memleak forgets what the old one had',
		tests: {
			'faults-target': ['a target that executes another program'],
			'memleak-processes': ['what was before exec is gone'],
		},
	},
	{
		fault: '10,000 short children',
		does: '`--follow` counts each',
		tests: { 'faults-target': ['ten thousand short children'] },
	},
	{
		fault: 'PID used again',
		does: 'who has it now is not traced',
		tests: { 'faults-target': ['a number that is used again'] },
	},
	{
		fault: 'maps full',
		does: 'what is not kept is counted, in a line `lost:`',
		tests: {
			'faults-machine': ['maps that are full'],
			'memleak-options': ['what there is no room for is counted'],
			truth: ['a table of groups that is full'],
		},
	},
	{
		fault: 'ring full, reader slow',
		does: 'the same',
		tests: {
			'faults-machine': ['nobody takes its lines, and the ring is full'],
			timehist: ['printed and lost are all switches, however small the ring'],
		},
	},
	{
		fault: 'disk full',
		does: 'one line, status 1; what was written stays',
		tests: { 'faults-files': ['a disk that gets full'] },
	},
	{
		fault: 'read-only file system',
		does: 'nothing but `-o` needs a file',
		tests: {
			'faults-files': ['where nothing can be written'],
			errors: ['an output file that may not be written'],
		},
	},
	{
		fault: 'stdin, stdout or stderr closed',
		does: 'runs; nothing else is taken for them',
		tests: { 'faults-files': ['closed: nothing else is taken for them'] },
	},
	{
		fault: 'reader of a pipe gone',
		does: 'ends quietly, status 0',
		tests: {
			errors: ['a closed pipe ends the tool quietly'],
			offcputime: ['a closed pipe quietly'],
		},
	},
	{
		fault: 'messages or results go to a file that others write to',
		does: 'adds to it; overwrites nothing',
		tests: {
			'faults-output': [
				'a second signal where the messages go to a file',
				'a file that COMMAND writes to as well',
			],
		},
	},
	{
		fault: '`-o` names a pipe that nobody reads, or reads slowly',
		does: 'traces, then waits for the reader, all of it comes; a signal before the reader: one line, status 1',
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
		fault: "another user's link, file or pipe in the place of a result, where everybody may write",
		does: 'one line, status 1; nothing is written. New files are for their owner only',
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
		does: 'one line, status 1; ends COMMAND',
		tests: { 'faults-output': ['a COMMAND that is traced ends when the result cannot be written'] },
	},
	{
		fault: 'hidepid',
		does: 'says that the process is hidden; without `-p` it traces',
		tests: {
			'faults-files': ['says that it is hidden', 'hidepid: who is not named is traced'],
		},
	},
	{
		fault: 'no permission to /proc/PID/root',
		does: 'the same files by their paths here; else memleak says that it may not',
		tests: {
			'faults-files': [
				'without permission to /proc/PID/root',
				'memleak of files that cannot be opened',
			],
		},
	},
	{
		fault: 'no /proc',
		does: 'one line, status 1',
		tests: { 'faults-files': ['without /proc: one line'] },
	},
	{
		fault: '64 at once',
		does: 'each is right',
		tests: { 'faults-machine': ['64 at once'] },
	},
	{
		fault: 'memory limit of its cgroup',
		does: 'killed, or one line and status 1, or right',
		tests: { 'faults-machine': ['in a cgroup with ever more memory'] },
	},
	{
		fault: 'few descriptors',
		does: 'one line with the remedy, status 1',
		tests: { 'faults-machine': ['with ever more descriptors'] },
	},
	{
		fault: 'CPU off- and on-line',
		does: 'goes on',
		tests: { 'vm-cpus': ['a CPU goes and comes while it traces', 'while a CPU is off-line'] },
	},
	{
		fault: 'clock set',
		does: 'durations and intervals are by CLOCK_MONOTONIC',
		tests: { 'vm-clock': ['the clock is set by'] },
	},
];

/** What tstrace was started with and node has changed since; bin/tstrace notes it before node begins. */
import { constants } from 'node:os';

export interface Started {
	/** The soft limit of open files (RLIMIT_NOFILE), as `ulimit -n` takes it. */
	readonly files: string | undefined;
	/** Numbers of the signals that were ignored. */
	readonly ignored: readonly number[];
	/** Numbers of the signals that were blocked. */
	readonly blocked: readonly number[];
	/** The descriptors that were open; undefined where nobody noted them. */
	readonly open: ReadonlySet<number> | undefined;
	/** What NODE_EXTRA_CA_CERTS was, if it was taken away so that node starts sooner. */
	readonly certificates: string | undefined;
}

const VARIABLE = 'TSTRACE_STARTED';
/** Real-time signals are left as they are, by node and by its children. */
const LAST_SIGNAL = 31;
const { SIGINT, SIGQUIT } = constants.signals;

/** Takes what bin/tstrace left in the environment, so that children inherit what tstrace was started with. */
function take(): Started {
	const text = process.env[VARIABLE];
	delete process.env[VARIABLE];
	const noted = parseStarted(text ?? '');
	if (noted.certificates !== undefined) process.env.NODE_EXTRA_CA_CERTS = noted.certificates;
	return noted;
}

/** Of such as "files=1024 blocked=0000000000000000 ignored=0000000000000001 open=0,1,2,". */
export function parseStarted(text: string): Started {
	const field = (name: string) => new RegExp(`(?:^| )${name}=(\\S*)`).exec(text)?.[1];
	const files = field('files');
	const open = field('open');
	const ignored = signalsIn(field('ignored'));
	return {
		files: files !== undefined && /^(\d+|unlimited)$/.test(files) ? files : undefined,
		// Shells such as bash ignore SIGQUIT themselves. What they start in the background has both ignored.
		ignored: ignored.filter((signal) => signal !== SIGQUIT || ignored.includes(SIGINT)),
		blocked: signalsIn(field('blocked')),
		open: open === undefined ? undefined : new Set(open.match(/\d+/g)?.map(Number)),
		// The last one, as a path may have anything in it.
		certificates: / certificates=(.+)$/s.exec(text)?.[1],
	};
}

/** A mask as /proc/PID/status has it: man 5 proc_pid_status. */
function signalsIn(mask = ''): number[] {
	if (!/^[0-9a-f]{1,16}$/.test(mask)) return [];
	const bits = BigInt(`0x${mask}`);
	const signals = Array.from({ length: LAST_SIGNAL }, (_, i) => i + 1);
	return signals.filter((signal) => (bits >> BigInt(signal - 1)) & 1n);
}

export const started = take();

/** Those that end a process by default and that people ignore; node has reset them. */
const ENDING = [
	...(['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2'] as const),
	...(['SIGALRM', 'SIGVTALRM', 'SIGIO', 'SIGPWR'] as const),
];

/** Whether it was ignored as tstrace was started. */
export const isIgnored = (signal: NodeJS.Signals): boolean =>
	started.ignored.includes(constants.signals[signal]);

/** What was ignored as tstrace was started stays so. */
export function keepIgnoring(): void {
	for (const signal of ENDING.filter(isIgnored)) process.on(signal, () => undefined);
}

/** Turns a failed load into two lines a person can act on; the log itself goes into `detail`. */
import { TstraceError } from '../errors.js';
import { shortage } from './shortage.js';

/**
 * libbpf goes on without a map of constants that it had no descriptor for; and it tries other maps again
 * without BTF, which the kernel can refuse for another reason.
 */
const WITHOUT_DESCRIPTOR =
	/referenced but wasn't created|Error in bpf_create_map_xattr\([^)]*\):.*\(-24\)/;

/** The error for an object the kernel would not load. `log` is what libbpf said meanwhile. */
export function explainLoadFailure(object: string, errno: string, log: string): TstraceError {
	const program = /prog '([^']+)': (?:BPF program load failed|failed to load)/.exec(log)?.[1];
	const short = shortage(WITHOUT_DESCRIPTOR.test(log) ? 'EMFILE' : errno);
	if (short) {
		return new TstraceError(`cannot load the BPF object ${object} (${errno}): ${short}`, log);
	}
	if (!program) {
		const remedy =
			errno === 'EPERM'
				? 'the kernel forbids BPF here (lockdown, a container, or missing capabilities)'
				: (lastLine(log) ?? 'no reason given');
		return new TstraceError(`cannot load the BPF object ${object} (${errno}): ${remedy}`, log);
	}
	// bpf_check() stops for a signal, and libbpf has tried five times.
	if (errno === 'EAGAIN') {
		const what = `the kernel's verifier was interrupted at BPF program ${program} (EAGAIN)`;
		return new TstraceError(
			`${what}: signals came all the time, perhaps from a profiler; end the profiler, and try again`,
			log,
		);
	}
	const reason = lastVerifierLine(log) ?? 'no reason given';
	return new TstraceError(
		`the kernel's verifier refused BPF program ${program} (${errno}): ${reason}; ` +
			'this is a defect in tstrace, or tstrace does not know this kernel: report it with the log that -v shows',
		log,
	);
}

function lastLine(log: string): string | undefined {
	return log
		.trimEnd()
		.split('\n')
		.at(-1)
		?.replace(/^libbpf: /, '');
}

/** The verifier's verdict is its last line that is neither a statistic nor a register dump. */
function lastVerifierLine(log: string): string | undefined {
	const end = log.lastIndexOf('-- END PROG LOAD LOG --');
	const begin = log.lastIndexOf('-- BEGIN PROG LOAD LOG --', end);
	if (end < 0) return undefined;
	return log
		.slice(Math.max(begin, 0), end)
		.split('\n')
		.filter((line) => !/^(processed \d|--|verification time|stack depth|\s*$)/.test(line))
		.at(-1)
		?.trim();
}

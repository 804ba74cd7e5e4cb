/** Code that run-time compilers made: which perf maps to believe, and which programs make such code. */
import { closeSync } from 'node:fs';
import { FileBytes, SymbolError } from '../elf/bytes.js';
import { type OpenFile, openRegular } from './open.js';
import { type PerfMapNames, searchPerfMap } from './perf-map.js';
import { ownMountNamespace, type ProcessFacts, readFacts } from './proc-pid.js';

/** The clock of file times is coarser than that of processes' starts, and both are rounded. */
const CLOCK_SLACK_S = 2;

/**
 * Opens the perf map of a process; undefined when it has none that can be believed: it has to be
 * a regular file of the process's own user or root's, and no older than the process, as numbers
 * of processes are used again, and nobody clears the files away.
 */
export function openPerfMap(pid: number, facts: ProcessFacts): OpenFile | undefined {
	const paths: string[] = [];
	// Another process may have the number by now.
	const lives = readFacts(pid)?.started_ticks === facts.started_ticks;
	if (lives) paths.push(`/proc/${pid}/root/tmp/perf-${facts.nspid}.map`);
	// When it has ended, there is no way into a container's files any more.
	if (facts.mountNamespace === ownMountNamespace()) paths.push(`/tmp/perf-${facts.nspid}.map`);
	for (const path of paths) {
		const file = openRegular(path, { follow: false });
		if (!file) continue;
		const { uid, mtimeMs } = file.stat;
		const isTheirs = uid === facts.uid || uid === 0;
		if (isTheirs && mtimeMs / 1000 >= facts.started_s - CLOCK_SLACK_S) return file;
		closeSync(file.fd);
	}
	return undefined;
}

/** Names addresses by a process's perf map; undefined when it has none, or it cannot be read. */
export function perfMapNames(
	pid: number,
	facts: ProcessFacts,
	wanted: Float64Array,
): PerfMapNames | undefined {
	const file = openPerfMap(pid, facts);
	if (!file) return undefined;
	try {
		return searchPerfMap(new FileBytes(file.fd, file.stat.size), wanted);
	} catch (error) {
		if (error instanceof SymbolError) return undefined;
		throw error;
	} finally {
		closeSync(file.fd);
	}
}

export type Runtime = 'node' | 'jvm' | 'python' | 'python before 3.12';

/** Which run-time compiler's process this is, by what it has mapped. */
export function runtimeOf(paths: Iterable<string>): Runtime | undefined {
	for (const path of paths) {
		const name = path.slice(path.lastIndexOf('/') + 1);
		if (/^(node|nodejs|libnode\.so.*)$/.test(name)) return 'node';
		if (/^(java|libjvm\.so)$/.test(name)) return 'jvm';
		// 3.12 is the first that writes perf maps.
		if (/^(lib)?python3\.(1[2-9]|[2-9]\d)(\.so.*)?$/.test(name)) return 'python';
		if (/^(lib)?python3\.(\d|1[01])(m?\.so.*|m)?$/.test(name)) return 'python before 3.12';
	}
	return undefined;
}

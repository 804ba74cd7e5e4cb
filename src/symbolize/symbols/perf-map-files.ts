/** Where perf maps are looked for, and which to believe. */
import { closeSync } from 'node:fs';
import { type OpenFile, openRegular } from '../../proc/open.js';
import { ownMountNamespace, type ProcessFacts, readFacts } from '../../proc/process-facts.js';

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

/** Commands that run to their end: what they took. */
import { closeSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { Child, Failed } from '../shared/children.js';
import { sinceMs } from '../shared/tracer.js';
import type { Sample } from './measure.js';

const TICK_MS = 10;

/** CPU time of all children that have ended, user and system: man 5 proc_pid_stat. */
function childrenCpu_ms(): number {
	const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
	return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
}

/**
 * Runs a line of shell with its output in `output`: seconds, CPU time, the memory of the largest
 * process, and the size of `output` and of the other files it leaves, which are removed.
 */
export async function timed(line: string, output: string, leaves: string[] = []): Promise<Sample> {
	const to = openSync(output, 'w');
	const [begin, before] = [process.hrtime.bigint(), childrenCpu_ms()];
	const child = new Child(
		['/usr/bin/time', '-f', '%M', '/bin/sh', '-c', line],
		[...['ignore' as const, to, 'pipe' as const]],
	);
	closeSync(to);
	let stderr = '';
	child.process.stderr?.on('data', (data) => {
		stderr += data;
	});
	const status = await child.closed;
	const seconds = sinceMs(begin) / 1000;
	if (status !== 0) throw new Failed(`${line}: ${stderr}`, status);
	const peak_mb = Number(stderr.trim().split('\n').at(-1)) / 1024;
	const files = [output, ...leaves];
	const written_mb = files.reduce((sum, file) => sum + statSync(file).size / 1e6, 0);
	for (const file of files) rmSync(file);
	return { seconds, cpu_ms: childrenCpu_ms() - before, peak_mb, written_mb };
}

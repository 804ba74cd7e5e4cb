/** profile against perf record and script, in interleaved runs: see docs/tools/profile.md. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { out, ratio, spread } from './support.js';

const ROUNDS = Number(process.env.ROUNDS ?? 7);
const SECONDS = 5;
const HZ = 999;

/** CPU time of all children that have ended, user and system: man 5 proc_pid_stat. */
function childrenCpu_ms(): number {
	const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
	return (Number(fields[13]) + Number(fields[14])) * 10;
}

/** The CPU time of a command that runs to its end. */
function cpuOf_ms(command: string): number {
	const before = childrenCpu_ms();
	spawnSync('/bin/sh', ['-c', command], { stdio: 'ignore' });
	return childrenCpu_ms() - before;
}

const folder = mkdtempSync(join(tmpdir(), 'tstrace-bench-'));
const data = join(folder, 'perf.data');
// Each is busy until its standard input ends.
const busy = cpus().map(() =>
	spawn('build/workloads/hog', [], { stdio: ['pipe', 'ignore', 'ignore'] }),
);
try {
	const ours: number[] = [];
	const theirs: number[] = [];
	for (let i = 0; i < ROUNDS; i++) {
		ours.push(cpuOf_ms(`bin/tstrace profile -F ${HZ} ${SECONDS} > ${join(folder, 'folded')}`));
		const record = `perf record -o ${data} -e cpu-clock -F ${HZ} -a -g -- sleep ${SECONDS}`;
		theirs.push(cpuOf_ms(`${record} && perf script -i ${data} > ${join(folder, 'script')}`));
	}
	const megabytes = (file: string) => (statSync(join(folder, file)).size / 1e6).toFixed(1);
	out(`CPU time to sample a busy machine ${HZ} times a second for ${SECONDS} s, and print it, ms`);
	out(`  tstrace profile         ${spread(ours, 0)}`);
	out(`  perf record, script     ${spread(theirs, 0)}   tstrace x ${ratio(ours, theirs)}`);
	out(
		`  bytes written: ours ${megabytes('folded')} MB, theirs ${megabytes('perf.data')} + ${megabytes('script')} MB`,
	);
} finally {
	for (const child of busy) child.kill();
	await Promise.all(busy.map((child) => child.exitCode ?? once(child, 'exit')));
	rmSync(folder, { recursive: true });
}

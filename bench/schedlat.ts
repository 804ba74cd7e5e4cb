/** schedlat against perf sched record, in interleaved runs: see docs/tools/schedlat.md. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { benchPipe, bpfPerSwitch_ns, out, PIPE, ratio, slowed_us, spread } from './support.js';

const ROUNDS = 7;
const OURS = ['bin/tstrace', 'schedlat'];

/** The workload's time for an operation under perf sched record, and what it wrote in MB. */
function recorded(): { us: number; mb: number } {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-bench-'));
	const file = join(folder, 'perf.data');
	try {
		const args = ['sched', 'record', '-o', file, '--', ...PIPE];
		const { stdout, stderr } = spawnSync('perf', args, { encoding: 'utf8' });
		const match = /([\d.]+) usecs\/op/.exec(stdout + stderr);
		if (!match) throw new Error(`perf sched record said: ${stdout}${stderr}`);
		return { us: Number(match[1]), mb: statSync(file).size / 1e6 };
	} finally {
		rmSync(folder, { recursive: true });
	}
}

async function bpfTime(): Promise<void> {
	const ours: number[] = [];
	const runqlat: number[] = [];
	const byThread: number[] = [];
	for (let i = 0; i < ROUNDS; i++) {
		ours.push(await bpfPerSwitch_ns(OURS));
		runqlat.push(await bpfPerSwitch_ns(['bin/tstrace', 'runqlat']));
		byThread.push(await bpfPerSwitch_ns(['bin/tstrace', 'runqlat', '-L']));
	}
	out(`BPF time per context switch, ns: median (least – most) of ${ROUNDS} interleaved runs`);
	out(`  tstrace schedlat        ${spread(ours)}`);
	out(`  tstrace runqlat         ${spread(runqlat)}`);
	out(`  tstrace runqlat -L      ${spread(byThread)}`);
}

async function slowDown(): Promise<void> {
	const untraced: number[] = [];
	const ours: number[] = [];
	const perf: number[] = [];
	const written: number[] = [];
	for (let i = 0; i < ROUNDS; i++) {
		untraced.push(benchPipe());
		ours.push(await slowed_us(OURS));
		const { us, mb } = recorded();
		perf.push(us);
		written.push(mb);
	}
	out('\nperf bench sched pipe, us per operation');
	out(`  untraced                ${spread(untraced, 2)}`);
	out(`  tstrace schedlat        ${spread(ours, 2)}   x ${ratio(ours, untraced)}`);
	out(`  perf sched record       ${spread(perf, 2)}   x ${ratio(perf, untraced)}`);
	out(`  its file, MB            ${spread(written, 0)}`);
}

await bpfTime();
await slowDown();

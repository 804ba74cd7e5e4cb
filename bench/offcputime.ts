/** offcputime against libbpf-tools' offcputime, in interleaved runs: see docs/tools/offcputime.md. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
	benchPipe,
	bpfPerSwitch_ns,
	out,
	peakMemory_mb,
	ratio,
	slowed_us,
	spread,
	startUp,
} from './support.js';

const ROUNDS = Number(process.env.ROUNDS ?? 7);
const OURS = ['bin/tstrace', 'offcputime', '-o', '/dev/null'];
const EXACT = [...OURS, '--exact'];
const THEIRS = ['/usr/sbin/offcputime'];
const PROCESSES = 50;
const STACKS_EACH = 200;

async function bpfTime(): Promise<void> {
	const ours: number[] = [];
	const exact: number[] = [];
	const theirs: number[] = [];
	for (let i = 0; i < ROUNDS; i++) {
		ours.push(await bpfPerSwitch_ns(OURS));
		exact.push(await bpfPerSwitch_ns(EXACT));
		theirs.push(await bpfPerSwitch_ns(THEIRS));
	}
	out(`BPF time per context switch, ns: median (least – most) of ${ROUNDS} interleaved runs`);
	out(`  tstrace offcputime      ${spread(ours)}   x ${ratio(ours, theirs)}`);
	out(`  tstrace --exact         ${spread(exact)}   x ${ratio(exact, theirs)}`);
	out(`  libbpf-tools offcputime ${spread(theirs)}`);
}

async function slowDown(): Promise<void> {
	const untraced: number[] = [];
	const ours: number[] = [];
	const exact: number[] = [];
	const theirs: number[] = [];
	for (let i = 0; i < ROUNDS; i++) {
		untraced.push(benchPipe());
		ours.push(await slowed_us(OURS));
		exact.push(await slowed_us(EXACT));
		theirs.push(await slowed_us(THEIRS));
	}
	out('\nperf bench sched pipe, us per operation');
	out(`  untraced                ${spread(untraced, 2)}`);
	out(`  tstrace offcputime      ${spread(ours, 2)}   x ${ratio(ours, untraced)}`);
	out(`  tstrace --exact         ${spread(exact, 2)}   x ${ratio(exact, untraced)}`);
	out(`  libbpf-tools offcputime ${spread(theirs, 2)}   x ${ratio(theirs, untraced)}`);
}

/** A process that has followed its paths, and stays until it is killed. */
async function followPaths(from: number): Promise<() => void> {
	const child = spawn('build/workloads/paths', [`${from}`, `${STACKS_EACH}`], {
		stdio: ['pipe', 'pipe', 'inherit'],
	});
	await once(child.stdout, 'data'); // ready
	child.stdin.write('\n');
	await once(child.stdout, 'data'); // done
	return () => child.kill();
}

interface Printed {
	readonly stacks: number;
	readonly time_ms: number;
	readonly peak_mb: number;
}

/** From Ctrl-C to the end of 10,000 stacks of 50 processes, folded into a file. */
async function printMany(folder: string): Promise<Printed> {
	const file = join(folder, 'folded');
	const args = ['offcputime', '--exact', '--comm', 'paths', '-o', file];
	const tracer = spawn('bin/tstrace', args, { stdio: ['ignore', 'ignore', 'pipe'] });
	await once(tracer.stderr, 'data');
	tracer.stderr.resume();
	const kills: Array<() => void> = [];
	for (let i = 0; i < PROCESSES; i++) kills.push(await followPaths(i * STACKS_EACH));
	const memory = peakMemory_mb(tracer.pid as number);
	const begin = process.hrtime.bigint();
	tracer.kill('SIGINT');
	await once(tracer, 'exit');
	const time_ms = Number(process.hrtime.bigint() - begin) / 1e6;
	for (const kill of kills) kill();
	const stacks = readFileSync(file, 'latin1').split('\n').length - 1;
	return { stacks, time_ms, peak_mb: await memory };
}

async function printing(): Promise<void> {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-bench-'));
	const runs: Printed[] = [];
	for (let i = 0; i < ROUNDS; i++) runs.push(await printMany(folder));
	rmSync(folder, { recursive: true });
	out(`\n${PROCESSES} processes with ${STACKS_EACH} stacks each`);
	out(`  different stacks        ${spread(runs.map(({ stacks }) => stacks))}`);
	out(`  Ctrl-C to end, ms       ${spread(runs.map(({ time_ms }) => time_ms))}`);
	out(`  peak resident, MB       ${spread(runs.map(({ peak_mb }) => peak_mb))}`);
}

await bpfTime();
await slowDown();
await printing();
await startUp(OURS, 2 * ROUNDS);

/** timehist against perf sched record, in interleaved runs: see docs/tools/timehist.md. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { out, peakMemory_mb, ratio, spread } from './support.js';

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const OPERATIONS = Number(process.env.OPERATIONS ?? 200_000);
const PIPE = ['bench', 'sched', 'pipe', '-l', `${OPERATIONS}`];
const MB = 2 ** 20;
/** Until perf, which does not say so, has begun. */
const BEGIN_MS = 1000;

const folder = mkdtempSync(join(tmpdir(), 'tstrace-bench-'));
const file = join(folder, 'out');

function contextSwitches(): number {
	return Number(/^ctxt (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1]);
}

/** What a program prints, when it has ended. */
async function printed(child: ChildProcess): Promise<string> {
	let text = '';
	for (const stream of [child.stdout, child.stderr]) {
		stream?.on('data', (data) => {
			text += data;
		});
	}
	await once(child, 'close');
	return text;
}

interface Load {
	/** For one operation of a pair, both running. */
	readonly us: number;
	readonly switchesPerSecond: number;
	readonly switches: number;
}

/** Two pairs of processes that pass a byte to and fro; nobody keeps them to a CPU. */
async function load(): Promise<Load> {
	const [begin, before] = [process.hrtime.bigint(), contextSwitches()];
	await Promise.all([1, 2].map(() => printed(spawn('perf', PIPE))));
	const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
	const switches = contextSwitches() - before;
	return { us: (seconds * 1e6) / OPERATIONS, switches, switchesPerSecond: switches / seconds };
}

async function lines(): Promise<number> {
	let count = 0;
	for await (const chunk of createReadStream(file)) {
		for (const byte of chunk as Buffer) if (byte === 0x0a) count++;
	}
	return count;
}

interface Traced extends Load {
	readonly disk_mb: number;
	readonly peak_mb: number;
	readonly said: string;
}

async function traced(command: readonly string[]): Promise<Traced> {
	const [program = '', ...args] = command;
	const tracer = spawn(program, args);
	const said = printed(tracer);
	const peak = peakMemory_mb(tracer.pid as number);
	await sleep(BEGIN_MS);
	const result = await load();
	tracer.kill('SIGINT');
	const text = await said;
	return { ...result, said: text, disk_mb: statSync(file).size / MB, peak_mb: await peak };
}

/** Alternating, so that what else the machine does hits all alike. */
async function rounds(): Promise<void> {
	const untraced: Load[] = [];
	const ours: Traced[] = [];
	const counts: number[] = [];
	const lost: number[] = [];
	const theirs: Traced[] = [];
	for (let i = 0; i < ROUNDS; i++) {
		untraced.push(await load());
		const mine = await traced(['bin/tstrace', 'timehist', '-o', file]);
		ours.push(mine);
		counts.push(await lines());
		const found = /lost: ([\d,]+) events.*events_ring_full/.exec(mine.said)?.[1] ?? '0';
		lost.push(Number(found.replaceAll(',', '')));
		rmSync(file);
		theirs.push(await traced(['perf', 'sched', 'record', '-o', file]));
		rmSync(file);
	}
	const us = (loads: readonly Load[]) => loads.map((each) => each.us);
	const disk = (runs: readonly Traced[]) => spread(runs.map((each) => each.disk_mb));
	const peak = (runs: readonly Traced[]) => spread(runs.map((each) => each.peak_mb));
	const rate = (loads: readonly Load[]) => loads.map((each) => each.switchesPerSecond);
	out(`two perf ${PIPE.join(' ')} at once: median (least – most) of ${ROUNDS} interleaved runs`);
	out('switches per second');
	out(`  untraced                ${spread(rate(untraced), 0)}`);
	out(`  tstrace timehist        ${spread(rate(ours), 0)}`);
	out(`  perf sched record       ${spread(rate(theirs), 0)}`);
	out('us per operation');
	out(`  untraced                ${spread(us(untraced), 2)}`);
	out(`  tstrace timehist        ${spread(us(ours), 2)}   x ${ratio(us(ours), us(untraced))}`);
	out(`  perf sched record       ${spread(us(theirs), 2)}   x ${ratio(us(theirs), us(untraced))}`);
	out('tstrace timehist');
	out(
		`  switches while it ran   ${spread(
			ours.map((each) => each.switches),
			0,
		)}`,
	);
	out(`  lines                   ${spread(counts, 0)}`);
	out(`  lost                    ${spread(lost, 0)}`);
	out(`  on disk, MB             ${disk(ours)}`);
	out(`  peak memory, MB         ${peak(ours)}`);
	out('perf sched record');
	out(`  on disk, MB             ${disk(theirs)}`);
	out(`  peak memory, MB         ${peak(theirs)}`);
}

try {
	await rounds();
} finally {
	rmSync(folder, { recursive: true });
}

/**
 * A tool of each kind for a long time under load, `make soak`: what it has resident, its descriptors
 * and the kernel memory taken for it (each has a cgroup) must not grow. SOAK_MINUTES says how long,
 * 20 by default; arguments name the only tools.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryCgroup } from '../live/memory-cgroup.js';
import { judge } from './flat.js';

const MINUTES = Number(process.env.SOAK_MINUTES ?? 20);
const SAMPLES = 120;

const EXIT_INTERRUPTED = 130;

/** After SIGINT; some read and name a lot. */
const END_MS = 60_000;

/**
 * What may be more at the end: node's heap breathes; so do the kernel's caches, of what is read in
 * /proc, say; descriptors do not.
 */
const SLACK = {
	'resident MB': { add: 4, share: 0.05 },
	descriptors: { add: 0, share: 0 },
	'kernel MB': { add: 1, share: 0.05 },
	// Of maps only, and exactly; before 5.18 they are not in the cgroup's.
	'map MB': { add: 0.1, share: 0.01 },
} as const;
type Measure = keyof typeof SLACK;

interface Run {
	readonly name: string;
	readonly child: ChildProcess;
	readonly cgroup: MemoryCgroup;
	readonly values: Record<Measure, number[]>;
}

/** All that were. */
const children: ChildProcess[] = [];

function started(file: string, args: readonly string[], options: SpawnOptions): ChildProcess {
	const child = spawn(file, args, options);
	children.push(child);
	return child;
}

/**
 * Storms of switches, calls and allocations; and processes that come and go, so fast that what is
 * remembered of them (300,000 records at the most) is full in the first quarter. Every third one has an
 * executable of its own, in `folder`.
 */
function startLoad(folder: string): ChildProcess[] {
	const storm = started('build/workloads/storm', [], { stdio: ['pipe', 'ignore', 'inherit'] });
	storm.stdin?.write('x');
	const once = 'cp /bin/true "$0/$i"; "$0/$i"; rm "$0/$i"';
	const script = `i=0; while :; do i=$((i+1)); ${once}; done`;
	return [storm, started('sh', ['-c', script, folder], { stdio: 'ignore' })];
}

function tools(storm: number, processes: number): string[][] {
	// Longer than they are looked at.
	const seconds = `${MINUTES * 60 + 600}`;
	return [
		['runqlat', '-L', '1'],
		['syscount', '--latency', '1'],
		['schedlat', '1'],
		['offcputime', '-p', `${storm}`, seconds],
		['profile', seconds],
		['timehist', '-p', `${storm}`, seconds],
		['trace', '-y', '-p', `${storm}`, seconds],
		// Stacks of ever new processes; of ours only, as each program that others begin has tables of its own.
		['trace', '-k', '-f', '-p', `${processes}`, '-e', 'execve,exit_group,openat', seconds],
		['stat', '-a', '1'],
		['stat', '-p', `${storm}`, '1'],
		['memleak', '-p', `${storm}`, '--sample-bytes', '4096', '5'],
	];
}

function start(args: readonly string[], i: number): Run {
	const nowhere = openSync('/dev/null', 'w');
	const cgroup = MemoryCgroup.make(`soak-${i}`);
	const [file = '', ...words] = [...cgroup.enter, resolve('bin/tstrace'), ...args];
	const child = started(file, words, { stdio: ['ignore', nowhere, nowhere] });
	closeSync(nowhere);
	const values = { 'resident MB': [], descriptors: [], 'kernel MB': [], 'map MB': [] };
	return { name: args.join(' '), child, cgroup, values };
}

/** What the process has now: man 5 proc_pid_status. */
function look({ child, cgroup, values }: Run): void {
	const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
	values['resident MB'].push(Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1]) / 1024);
	const infos = readdirSync(`/proc/${child.pid}/fdinfo`).map((fd) =>
		readFileSync(`/proc/${child.pid}/fdinfo/${fd}`, 'utf8'),
	);
	values.descriptors.push(infos.length);
	const locked = infos.map((info) => Number(/^memlock:\s*(\d+)/m.exec(info)?.[1] ?? 0));
	values['map MB'].push(locked.reduce((sum, bytes) => sum + bytes, 0) / 2 ** 20);
	values['kernel MB'].push(cgroup.kernelBytes() / 2 ** 20);
}

function tryToLook(run: Run): void {
	try {
		look(run);
	} catch {
		// The tool has ended; that is judged at the end.
	}
}

function print(run: Run): boolean {
	process.stdout.write(`${run.name}\n`);
	const lines = (Object.keys(SLACK) as Measure[]).map((name) => {
		const { early, late, flat } = judge(run.values[name], SLACK[name]);
		const text = `${early.toFixed(1).padStart(9)} → ${late.toFixed(1).padStart(9)}`;
		process.stdout.write(`  ${name.padEnd(12)} ${text}  ${flat ? 'flat' : 'GROWS'}\n`);
		return flat;
	});
	return lines.every(Boolean);
}

/** Ends a tool as a user would, and if it does not, at once; then its cgroup. */
async function end({ child, cgroup }: Run): Promise<void> {
	if (child.exitCode === null && child.signalCode === null) {
		const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
		child.kill('SIGINT');
		await once(child, 'exit');
		clearTimeout(timer);
	}
	cgroup.remove();
}

async function watch(runs: readonly Run[], until: AbortSignal): Promise<void> {
	for (let i = 0; i < SAMPLES; i++) {
		await sleep((MINUTES * 60_000) / (SAMPLES + 2), undefined, { signal: until });
		for (const run of runs) tryToLook(run);
		process.stderr.write(`\r${Math.round((100 * (i + 1)) / SAMPLES)} % of ${MINUTES} minutes`);
	}
	process.stderr.write('\n');
}

// Whatever happens to us, nobody runs on; a second signal does not wait for the tools.
process.once('exit', () => {
	for (const child of children) child.kill('SIGKILL');
});
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
	process.on(signal, () => {
		if (interrupted.signal.aborted) process.exit(EXIT_INTERRUPTED);
		interrupted.abort();
	});
const folder = mkdtempSync(join(tmpdir(), 'tstrace-soak-'));
const load = startLoad(folder);
const only = process.argv.slice(2);
const runs = tools(load[0]?.pid ?? 0, load[1]?.pid ?? 0)
	.filter(([name]) => only.length === 0 || (name !== undefined && only.includes(name)))
	.map(start);
const ended: string[] = [];
for (const { child, name } of runs) child.on('exit', () => ended.push(name));
try {
	await watch(runs, interrupted.signal);
	const early = [...ended];
	const all = runs.map(print);
	for (const name of early) process.stdout.write(`${name}: ended before its time\n`);
	process.exitCode = all.every(Boolean) && early.length === 0 ? 0 : 1;
} catch (error) {
	if (!interrupted.signal.aborted) throw error;
	process.exitCode = EXIT_INTERRUPTED;
} finally {
	for (const child of load) child.kill();
	await Promise.all(runs.map(end));
	// What was being copied may come after.
	rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

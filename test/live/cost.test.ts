/** What tracing costs: measured for a part of the time, and told of all of it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CostMeter } from '../../src/loader/cost.js';
import type { BpfProgram } from '../../src/loader/program.js';
import { reportsOf } from './reports.js';
import { runToEnd, Tracing, TSTRACE, tstrace, until, Workload } from './support.js';
import { now_ns } from './times.js';

/** A program that runs at a known rate: so often in a second, and so long each time. */
class Steady {
	missed = 0;
	constructor(
		readonly perSecond: number,
		readonly each_ns: number,
	) {}

	info() {
		const runs = (now_ns() / 1e9) * this.perSecond;
		return { runs, time_ns: runs * this.each_ns, missed: this.missed };
	}
}

test('of programs whose rate is known: runs, time, traps, and their share of a CPU', async () => {
	const programs = [new Steady(20_000, 500), new Steady(1000, 3000)];
	const [first, second] = programs as unknown as [BpfProgram, BpfProgram];
	const meter = new CostMeter([
		{ program: first, trap_ns: 0 },
		{ program: second, trap_ns: 700 },
	]);
	try {
		// Twice 50 ms or more of ten seconds.
		for (let i = 0; i < 2; i++) {
			assert.ok(meter.begin(), 'there are statistics');
			const begun_ns = now_ns();
			await until(() => now_ns() - begun_ns > 5e7);
			const { programs_pct } = meter.end();
			// 20,000 of 500 ns are 1 % of a second, 1000 of 3,700 ns 0.37 %.
			assert.ok(Math.abs(programs_pct - 1.37) < 0.02, `${programs_pct} %`);
		}
		for (const seconds of [10, 20]) {
			const { programs: cost, own_pct } = meter.estimate(seconds * 1e9, 1e9);
			assert.ok(cost);
			for (const [name, expected] of [
				['bpf_runs', 21_000 * seconds],
				['bpf_ns', 13e6 * seconds],
				['cpu_pct', 1.3],
				['trap_ns', 700_000 * seconds],
				['trap_pct', 0.07],
			] as const) {
				const off = Math.abs(cost[name] / expected - 1);
				assert.ok(off < 0.01, `${name}: ${cost[name]}, not ${expected}`);
			}
			assert.equal(own_pct, 100 / seconds);
		}
		programs[1] = Object.assign(programs[1] as Steady, { missed: 7 });
		assert.equal(meter.missed(), 7);
	} finally {
		meter.close();
	}
});

/** How often all CPUs have switched: man 5 proc, /proc/stat. */
const switchesOfAll = () => Number(/^ctxt (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1]);

test('runs are as many as the kernel switched, and their time is what the share says', async () => {
	const storm = await Workload.start('storm', '0');
	// So that it goes on evenly.
	storm.begin();
	const tracing = await Tracing.start(['runqlat', '--json', '2']);
	const [before, since_ns] = [switchesOfAll(), now_ns()];
	await until(() => tracing.stdout.includes('\n'));
	const perSecond = (switchesOfAll() - before) / ((now_ns() - since_ns) / 1e9);
	const { status, stdout, stderr } = await tracing.end('SIGINT');
	await storm.end();
	assert.equal(status, 0, stderr);
	const [report] = reportsOf(stdout);
	assert.ok(report);
	const { bpf_runs, bpf_ns, cpu_pct } = report.cost as unknown as Record<string, number>;
	assert.ok(bpf_runs && bpf_ns && cpu_pct);
	// Of 2 s they are measured for a hundredth or so; a busy machine is not the same all the time.
	const ratio = bpf_runs / report.duration_s / perSecond;
	assert.ok(ratio > 0.2 && ratio < 5, `${bpf_runs} runs, ${perSecond} switches a second`);
	const share_ns = (cpu_pct / 100) * report.duration_s * 1e9;
	assert.ok(Math.abs(bpf_ns / share_ns - 1) < 0.01, `${bpf_ns} ns, but ${share_ns} by the share`);
});

/** Runs it where CPU 1 is isolated, as far as sysfs tells. */
function isolated(...args: readonly string[]) {
	const script =
		'mount -t tmpfs none /mnt && echo 1 > /mnt/isolated && ' +
		'mount --bind /mnt/isolated /sys/devices/system/cpu/isolated && exec "$@"';
	const words = ['sh', '-c', script, 'sh', TSTRACE, ...args];
	return runToEnd('unshare', ['--mount', '--propagation', 'private', ...words]);
}

test('what interrupts all CPUs is left out where one is isolated, and where somebody asks for that', () => {
	const args = ['runqlat', '--json', '0.3', '1'];
	const costOf = ({ status, stdout, stderr }: ReturnType<typeof tstrace>) => {
		assert.equal(status, 0, stderr);
		const [report] = reportsOf(stdout);
		assert.ok(report);
		return (report.cost as unknown as { bpf_runs: number | null }).bpf_runs;
	};
	assert.ok(costOf(tstrace(args)));
	const asked = tstrace([...args, '--no-cost']);
	assert.equal(costOf(asked), null);
	assert.match(asked.stderr, /did not measure its cost\s+in\s+the kernel: --no-cost/);
	const quiet = isolated(...args);
	assert.equal(costOf(quiet), null);
	assert.match(quiet.stderr, /some\s+are\s+isolated\s+\(1\)/);
	// A limit has to be measured.
	assert.ok(costOf(isolated(...args, '--max-overhead', '90')));
});

test('statistics that are to stay off stay off, and runs that were missed are counted all the same', () => {
	const program = Object.assign(new Steady(20_000, 500), { missed: 3 }) as unknown as BpfProgram;
	const meter = new CostMeter([{ program, trap_ns: 0 }], 'nobody wants it');
	assert.equal(meter.begin(), false);
	assert.equal(meter.end().programs_pct, 0);
	const { programs, unmeasured } = meter.estimate(1e9, 0);
	assert.deepEqual([programs, unmeasured, meter.missed()], [undefined, 'nobody wants it', 3]);
});

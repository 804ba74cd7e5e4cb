/** A profile whose rate was lowered: its samples add up to the time that the kernel saw its hog run. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { commonSettings } from '../../src/cli/options.js';
import { BpfTracing } from '../../src/cli/tracing.js';
import { parseEvent } from '../../src/perf/events.js';
import { profile } from '../../src/tools/profile.js';
import { now_ns, schedstat, stealing, until, Workload } from './support.js';

/** As the bundle finds them beside itself. */
process.env.TSTRACE_BPF_DIR = resolve('dist/bpf', process.arch);

const HZ = 4999;
/** Of the hog: so much CPU time at the full rate, and at each that is lower. */
const RUN_NS = 0.5e9;
const SLOWED = [4, 16] as const;
const WEIGHTS: readonly number[] = [1, ...SLOWED];

test('samples of a slowed profile weigh what the hog ran', async () => {
	const hog = await Workload.start('hog', '0');
	const traces: ReturnType<typeof traceOf>[] = [];
	try {
		await hog.stop();
		const whole = traceOf(hog.pid);
		traces.push(whole);
		const slowed = traceOf(hog.pid);
		traces.push(slowed);
		const { run_ns: from_ns } = schedstat(hog.pid);
		const stolen_ns = stealing();
		const since_ns = now_ns();
		hog.continue();
		// What it ran at each rate, and while that was changed.
		const ran: number[] = [];
		let [last_ns, changing_ns] = [from_ns, 0];
		const ranUntil = (run_ns: number) => {
			ran.push(run_ns - last_ns);
			last_ns = run_ns;
		};
		await untilRun(hog.pid, from_ns + RUN_NS);
		for (const _ of SLOWED) {
			ranUntil(schedstat(hog.pid).run_ns);
			assert.notEqual(slowed.reader.slowDown?.(), undefined);
			changing_ns += schedstat(hog.pid).run_ns - last_ns;
			await untilRun(hog.pid, last_ns + RUN_NS);
		}
		await hog.stop();
		ranUntil(schedstat(hog.pid).run_ns);
		const run_ns = last_ns - from_ns;
		const took_ns = now_ns() - since_ns;
		for (const trace of traces) trace.detach();
		const extra = inSamples(stolen_ns());
		const expected = inSamples(run_ns);
		const share = Math.min(1, run_ns / took_ns);
		const within = margin(ran, share, WEIGHTS);
		const { value: samples, count } = await totalOf(slowed);
		const taken = ran.reduce((sum, ns, i) => sum + inSamples(ns) / (WEIGHTS[i] ?? 1), 0);
		const most_taken = taken + extra + margin(ran, share);
		assert.ok(count <= most_taken, `${count} samples, of which most count for more`);
		// Where the hypervisor takes the CPU away, many timers become one that is late. If it says so, the
		// kernel leaves that time out, and the late sample stands for more than ran; if it does not, samples
		// are missing, and more of them at the full rate.
		const { value: atFullRate } = await totalOf(whole);
		assert.ok(atFullRate > expected / 2, `${atFullRate} samples at the full rate`);
		const least = Math.min(expected, atFullRate) - within - inSamples(changing_ns);
		const most = expected + extra + within;
		const what = `samples of ${run_ns / 1e9} s: ${samples}, not ${least} to ${most}`;
		assert.ok(samples >= least && samples <= most, what);
	} finally {
		for (const trace of traces) trace.close();
		hog.continue();
		await hog.end();
	}
});

function traceOf(pid: number) {
	const event = parseEvent('cpu-clock');
	const defaults = profile.options().map((each) => [each.attributeName(), each.defaultValue]);
	const values = { ...Object.fromEntries(defaults), frequency: HZ };
	const settings = { ...profile.settings(values), event };
	const { filter } = commonSettings({ pid: [pid] }, [], profile.kind);
	const subjects = { filter, command: undefined, words: [] };
	return new BpfTracing(profile, settings, subjects, { verbose: false, note: () => {} });
}

async function totalOf({ reader }: ReturnType<typeof traceOf>) {
	const found = await reader.read();
	const stacks = found.kind === 'stacks' ? found.stacks : [];
	const sum = (of: 'value' | 'count') => stacks.reduce((all, stack) => all + stack[of], 0);
	return { value: sum('value'), count: sum('count') };
}

const inSamples = (ns: number) => (HZ * ns) / 1e9;

/**
 * What samples are off by chance: `share` of its CPU's timer finds the hog. Of what it `ran` at each
 * rate, four standard deviations of the samples' sum, each by its weight, if they have one; a sample
 * that is missed at each change, and 2 % for the timer.
 */
function margin(ran: readonly number[], share: number, weights: readonly number[] = []): number {
	let [variance, rest] = [0, 0];
	for (const [i, ns] of ran.entries()) {
		const weight = weights[i] ?? 1;
		const samples = inSamples(ns) / (WEIGHTS[i] ?? 1);
		variance += weight ** 2 * samples * (1 - share);
		rest += weight + 0.02 * weight * samples;
	}
	return 4 * Math.sqrt(variance) + rest;
}

const untilRun = (pid: number, run_ns: number) => until(() => schedstat(pid).run_ns >= run_ns);

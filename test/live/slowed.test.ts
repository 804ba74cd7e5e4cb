/** A profile whose rate was lowered: its samples add up to the time that the kernel saw its hog run. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { valuesOf } from '../../src/options/typed-option.js';
import { eventOf } from '../../src/perf/names.js';
import { commonSettings } from '../../src/run/common-options.js';
import { BpfTracing } from '../../src/run/tracing.js';
import { profile } from '../../src/tools/profile/profile.js';
import { until, Workload } from './support.js';
import { now_ns, schedstat, stealing } from './times.js';

/** As the bundle finds them beside itself. */
process.env.TSTRACE_BPF_DIR = resolve('dist/bpf', process.arch);

/** Kernels lower the highest rate (perf_event_max_sample_rate) where an interrupt was once slow. */
const HZ = 1499;
/** Of the hog: so much CPU time at the full rate, and at each that is lower. */
const RUN_NS = 0.5e9;
const WEIGHTS = [1, 4, 16];

test('samples of a slowed profile weigh what the hog ran', async () => {
	const hog = await Workload.start('hog', '0');
	const traces: ReturnType<typeof traceOf>[] = [];
	try {
		await hog.stop();
		const whole = traceOf(hog.pid);
		traces.push(whole);
		const slowed = traceOf(hog.pid);
		traces.push(slowed);
		let last = reading(hog.pid);
		hog.continue();
		const phases: Phase[] = [];
		let changing_ns = 0;
		for (const [i, weight] of WEIGHTS.entries()) {
			const stolen_ns = stealing();
			if (i > 0) {
				assert.notEqual(slowed.reader.slowDown?.(), undefined);
				changing_ns += reading(hog.pid).run_ns - last.run_ns;
			}
			await until(() => reading(hog.pid).run_ns >= last.run_ns + RUN_NS);
			if (i === WEIGHTS.length - 1) await hog.stop();
			const now = reading(hog.pid);
			const ran = inSamples(now.run_ns - last.run_ns);
			const share = Math.min(1, ran / inSamples(now.at_ns - last.at_ns));
			phases.push({ weight, ran, share, stolen: inSamples(stolen_ns()) });
			last = now;
		}
		for (const trace of traces) trace.detach();
		const expected = sum(phases, ({ ran }) => ran);
		const extra = sum(phases, ({ stolen }) => stolen);
		const within = margin(phases, ({ weight }) => weight);
		const { value: samples, count } = await totalOf(slowed);
		const taken = sum(phases, ({ ran, stolen, weight }) => (ran + stolen) / weight);
		const most_taken = taken + inSamples(changing_ns) + margin(phases, () => 1);
		assert.ok(count <= most_taken, `${count} samples, not ${most_taken}`);
		// Where the hypervisor takes the CPU away, many timers become one that is late. If it says so, the
		// kernel leaves that time out, and the late sample stands for more than ran; if it does not, samples
		// are missing, and more of them at the full rate.
		const { value: atFullRate } = await totalOf(whole);
		assert.ok(atFullRate > expected / 2, `${atFullRate} samples at the full rate`);
		const least = Math.min(expected, atFullRate) - within - inSamples(changing_ns);
		const most = expected + extra + within;
		const what = `samples: ${samples}, not ${least} to ${most}`;
		assert.ok(samples >= least && samples <= most, what);
	} finally {
		for (const trace of traces) trace.close();
		hog.continue();
		await hog.end();
	}
});

function traceOf(pid: number) {
	const event = eventOf('cpu-clock');
	const common = commonSettings({ pid: [pid] }, [], profile.kind);
	const values = valuesOf(profile.options(), { frequency: HZ });
	const settings = { ...profile.settings(values, common), event };
	const { filter } = common;
	const subjects = { filter, command: undefined, words: [] };
	return new BpfTracing(profile, settings, subjects, { verbose: false, note: () => {} });
}

async function totalOf({ reader }: ReturnType<typeof traceOf>) {
	const found = await reader.read();
	const stacks = found.kind === 'stacks' ? found.stacks : [];
	const total = (of: 'value' | 'count') => stacks.reduce((all, stack) => all + stack[of], 0);
	return { value: total('value'), count: total('count') };
}

const inSamples = (ns: number) => (HZ * ns) / 1e9;

/** In numbers of samples at the full rate. */
interface Phase {
	readonly weight: number;
	readonly ran: number;
	/** Of its CPU's time. */
	readonly share: number;
	readonly stolen: number;
}

const sum = (phases: readonly Phase[], of: (phase: Phase) => number) =>
	phases.reduce((all, phase) => all + of(phase), 0);

/**
 * What samples that count for so much are off by chance, as the CPU's timer finds the hog or another:
 * four standard deviations of their sum, a sample that is missed at each change, and 2 % for the timer.
 */
function margin(phases: readonly Phase[], counting: (phase: Phase) => number): number {
	const taken = ({ ran, weight }: Phase) => ran / weight;
	const variance = sum(phases, (each) => counting(each) ** 2 * taken(each) * (1 - each.share));
	return 4 * Math.sqrt(variance) + sum(phases, (each) => counting(each) * (1 + 0.02 * taken(each)));
}

const reading = (pid: number) => ({ run_ns: schedstat(pid).run_ns, at_ns: now_ns() });

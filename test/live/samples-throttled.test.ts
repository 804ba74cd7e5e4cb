/** The kernel pauses sampling above perf_event_max_sample_rate: a profile with such pauses says so. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { stackReport } from './stacks.js';
import { Tracing, until, Workload } from './support.js';
import { schedstat } from './times.js';

const RATE = '/proc/sys/kernel/perf_event_max_sample_rate';
const HOG = resolve('build/workloads/hog');
/** One sample in each tick of the kernel, of those below. */
const LOW_RATE = '100';
const HZ = '997';
/** Hundreds of ticks. */
const RUN_NS = 1e9;
const skip = existsSync(RATE) ? {} : { skip: 'no perf_event_max_sample_rate' };

/** What is traced runs for `RUN_NS` with a rate; returns the losses. */
async function lossesAt(rate: string | undefined, by: readonly string[]) {
	const before = readFileSync(RATE, 'utf8');
	const [file = HOG, ...words] = [...by, HOG, '0'];
	const hog = await Workload.startBy(file, ...words);
	try {
		const args = ['profile', '--json', '-e', 'cpu-clock', '-F', HZ, '-p', `${hog.pid}`];
		const tracing = await Tracing.start(args, {}, by);
		if (rate !== undefined) writeFileSync(RATE, rate);
		const from_ns = schedstat(hog.pid).run_ns;
		await until(() => schedstat(hog.pid).run_ns >= from_ns + RUN_NS);
		return stackReport(await tracing.end('SIGINT')).lost;
	} finally {
		if (rate !== undefined) writeFileSync(RATE, before);
		await hog.end();
	}
}

for (const [how, by] of [
	['in the kernel', []],
	['one by one', ['setpriv', '--bounding-set=-all']],
] as const) {
	test(
		`samples ${how}: pauses are counted as lost, and without pauses nothing is`,
		skip,
		async () => {
			const { samples_throttled } = await lossesAt(LOW_RATE, by);
			assert.ok(Number(samples_throttled) > 0, `${samples_throttled} pauses`);
			assert.equal((await lossesAt(undefined, by)).samples_throttled, undefined);
		},
	);
}

/** The error that offcputime states, against the one that the same waits have, each of which timehist saw. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { errorOf, stackReport, sumOf } from './stacks.js';
import { Tracing, Workload } from './support.js';

/** The standard error of the sum of waits, sampled with this period: bpf/lib/sampling.h. */
const errorOfWaits = (waits_ns: readonly number[], period_ns: number) =>
	Math.sqrt(
		waits_ns
			.filter((each) => each < period_ns)
			.reduce((sum, each) => sum + each * (period_ns - each), 0),
	);

for (const [nap_usec, period_usec] of [
	[100, 1000],
	[400, 1000],
	[400, 5000],
] as const) {
	test(`waits of ${nap_usec} us and more, sampled by ${period_usec} us: the error is stated within a factor of 1.3`, async () => {
		const workload = await Workload.start('waits', '1000', `${nap_usec}`);
		const whose = ['-t', `${workload.tid}`, '--json'];
		const lines = await Tracing.start(['timehist', ...whose]);
		const period = ['--period', `${period_usec}`];
		const tracing = await Tracing.start(['offcputime', ...period, ...whose]);
		await workload.work();
		const report = stackReport(await tracing.end('SIGINT'));
		const { stdout, stderr } = await lines.end('SIGINT');
		await workload.end();
		const waits_ns = reportsOf(stdout)
			.flatMap(({ rows }) => rows)
			.filter(({ event }) => event === 'switch')
			.flatMap(({ wait_ns }) => (typeof wait_ns === 'number' ? wait_ns : []));
		assert.ok(waits_ns.length > 3000, `${waits_ns.length} waits: ${stderr}`);
		const due = errorOfWaits(waits_ns, period_usec * 1000);
		const stated = errorOf(report.stacks);
		const said = `${stated}, not ${due}`;
		assert.ok(stated < due * 1.3 && stated > due / 1.3, said);
		// And the sum is no further off than that: five errors are one run in a million.
		const truth = waits_ns.reduce((sum, each) => sum + each, 0);
		const off = Math.abs(sumOf(report.stacks) - truth);
		assert.ok(off <= 5 * due + truth * 0.05, `${off} off, ${said}`);
	});
}

/** The wall clock is set while tools trace: durations, intervals and sums are by another clock. */
import assert from 'node:assert/strict';
import { once, TOOLS_OF_STORM, untilNothingLeft } from './faults.js';
import { kernelObjects } from './kernel-objects.js';
import { testInVm } from './only-in-vm.js';
import { reportsOf, sawSomething } from './reports.js';
import { runToEnd, Tracing, Workload } from './support.js';

const HOUR_S = 3600;

function stepClock(seconds: number): void {
	const { status, stderr } = runToEnd('date', [
		'-s',
		`@${Math.floor(Date.now() / 1000) + seconds}`,
	]);
	assert.equal(status, 0, stderr);
}

for (const [tool = '', ...options] of TOOLS_OF_STORM) {
	for (const step_s of [HOUR_S, -HOUR_S]) {
		testInVm(`${tool}: the clock is set by ${step_s} s`, async () => {
			const before = kernelObjects();
			const storm = await Workload.start('storm');
			storm.begin();
			const begin_ns = process.hrtime.bigint();
			const args = [tool, ...options, '--json', '-p', `${storm.pid}`, '0.5', ...once(tool)];
			const tracing = await Tracing.start(args);
			stepClock(step_s);
			try {
				const { status, stdout, stderr } = await tracing.end();
				const longest_s = Number(process.hrtime.bigint() - begin_ns) / 1e9;
				assert.equal(status, 0, stderr);
				const reports = reportsOf(stdout);
				assert.ok(reports.length >= 1, 'no report');
				assert.ok(sawSomething(stdout), stdout);
				for (const { duration_s } of reports) {
					assert.ok(duration_s > 0 && duration_s <= longest_s, `${duration_s} s`);
				}
			} finally {
				stepClock(-step_s);
				await storm.end();
			}
			await untilNothingLeft(before);
		});
	}
}

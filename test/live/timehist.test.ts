/** timehist against what the kernel counted for the thread, and against perf sched timehist. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { schedstat, Tracing, until, Workload } from './support.js';

interface Line {
	readonly time_us: number;
	readonly cpu: number;
	readonly name: string;
	/** Undefined: not known. */
	readonly wait_ms: number | undefined;
	readonly delay_ms: number | undefined;
	readonly run_ms: number | undefined;
	readonly state: string;
	readonly rest: string;
}

const LINE =
	/^ *(\d+)\.(\d{6}) \[(\d{4})\] {2}(.*?\]) +([\d.]+|-) +([\d.]+|-) +([\d.]+|-) {2}(\w)(.*)$/;

function linesOf(stdout: string): Line[] {
	const number = (text = '-') => (text === '-' ? undefined : Number(text));
	return stdout.split('\n').flatMap((text) => {
		const match = LINE.exec(text);
		if (!match) return [];
		const [, s, us, cpu, name = '', wait, delay, run, state = '', rest = ''] = match;
		return {
			time_us: Number(s) * 1e6 + Number(us),
			cpu: Number(cpu),
			name,
			wait_ms: number(wait),
			delay_ms: number(delay),
			run_ms: number(run),
			state,
			rest,
		};
	});
}

/** Context switches of a thread, voluntary or not: man 5 proc, /proc/PID/status. */
function switches(pid: number): number {
	const status = readFileSync(`/proc/${pid}/status`, 'utf8');
	return [...status.matchAll(/ctxt_switches:\s+(\d+)/g)].reduce((sum, [, n]) => sum + Number(n), 0);
}

/** Asleep, so that what the kernel counted for it stands still. */
async function untilAsleep(pid: number): Promise<void> {
	await until(() => / S /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')));
}

const sum = (numbers: readonly (number | undefined)[]) =>
	numbers.reduce<number>((total, each) => total + (each ?? 0), 0);

const close = (a: number, b: number, share: number, slack: number) =>
	Math.abs(a - b) <= share * Math.max(a, b) + slack;

test('a line for each switch; sleeps, run times and delays as the kernel counted them', async () => {
	const naps = await Workload.start('naps', '200', '1000', '2000');
	await untilAsleep(naps.pid);
	const tracing = await Tracing.start(['timehist', '-t', `${naps.tid}`]);
	const before = { ...schedstat(naps.pid), switches: switches(naps.pid) };
	await naps.work();
	await untilAsleep(naps.pid);
	const after = { ...schedstat(naps.pid), switches: switches(naps.pid) };
	const { stdout, stderr, status } = await tracing.end('SIGINT');
	await naps.end();
	assert.equal(status, 0, stderr);
	const lines = linesOf(stdout);
	assert.equal(lines.length, after.switches - before.switches, stderr);
	assert.ok(lines.every(({ name }) => name === `naps[${naps.tid}]`));
	const naps_ms = lines.filter((_, i) => lines[i - 1]?.state === 'S').map(({ wait_ms }) => wait_ms);
	assert.ok(naps_ms.length >= 200 && naps_ms.length <= 202, `${naps_ms.length}`);
	for (const line of lines.slice(1)) {
		const { wait_ms = 0, delay_ms = 0 } = line;
		assert.ok(delay_ms <= wait_ms, JSON.stringify(line));
	}
	// The sleep itself: what was not spent in the queue, and is no longer than a timer's slack.
	const slept = lines
		.filter((line, i) => i > 0 && line.wait_ms && lines[i - 1]?.state === 'S')
		.map(({ wait_ms = 0, delay_ms = 0 }) => wait_ms - delay_ms)
		.sort((a, b) => a - b);
	assert.ok(slept.filter((ms) => ms >= 1.99).length >= 198, slept.slice(0, 5).join());
	assert.ok((slept[100] ?? 0) < 2.5, `${slept[100]}`);
	const run_ms = sum(lines.map((line) => line.run_ms));
	const delay_ms = sum(lines.map((line) => line.delay_ms));
	const kernel_run_ms = (after.run_ns - before.run_ns) / 1e6;
	const kernel_delay_ms = (after.delay_ns - before.delay_ns) / 1e6;
	assert.ok(close(run_ms, kernel_run_ms, 0.01, 0.5), `${run_ms} ${kernel_run_ms}`);
	assert.ok(close(delay_ms, kernel_delay_ms, 0.03, 0.5), `${delay_ms} ${kernel_delay_ms}`);
});

/** CPU quotas of others: a thread beside one that is throttled, and two threads of a group that has none left. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CpuCgroup } from './cpu-cgroup.js';
import { reportsOf } from './reports.js';
import { stackReport, sumOf } from './stacks.js';
import { Tracing, until, Workload } from './support.js';
import { type Report, total } from './why-reports.js';

const CPU = '1';
/** Much less than they would get on a busy machine. */
const QUOTA_PERCENT = 8;
const PERIODS = 20;

/** Traces some of three hogs on a CPU, of which two are in a group with a quota; and how long that had none. */
async function traced(
	tools: readonly string[],
	choose: (grouped: readonly Workload[], other: Workload) => readonly Workload[],
) {
	const cgroup = CpuCgroup.make('throttled-others');
	const hogs: Workload[] = [];
	try {
		for (let i = 0; i < 3; i++) hogs.push(await Workload.start('hog', CPU));
		const [other = assert.fail(), ...grouped] = hogs;
		for (const { pid } of grouped) cgroup.add(pid);
		cgroup.limitTo(QUOTA_PERCENT);
		await until(() => cgroup.throttled().times >= 2);
		// They stand still at both ends, so that all count the same.
		for (const hog of grouped) await hog.stop();
		const whose = choose(grouped, other).map(({ pid }) => pid);
		const tracings = await Promise.all(
			tools.map((tool) => Tracing.start([...tool.split(' '), '--json', '-p', whose.join()])),
		);
		const before = cgroup.throttled();
		for (const hog of grouped) hog.continue();
		await until(() => cgroup.throttled().times >= before.times + PERIODS);
		for (const hog of grouped) await hog.stop();
		const ns = cgroup.throttled().ns - before.ns;
		const ended = await Promise.all(tracings.map((tracing) => tracing.end('SIGINT')));
		return { ns, ended, whose };
	} finally {
		for (const hog of hogs) await hog.end();
		cgroup.remove();
	}
}

const sum = (rows: readonly object[], field: string) =>
	rows.reduce((all, row) => all + Number((row as Record<string, unknown>)[field] ?? 0), 0);

test('beside one that is throttled: who has no quota is not', async () => {
	const tools = ['why', 'offcputime --exact', 'runqlat --split', 'schedlat', 'timehist'];
	const { ended } = await traced(tools, (_, other) => [other]);
	const [why, stacks, ...others] = ended;
	const { account } = JSON.parse(why?.stdout ?? '') as Report;
	const runnable = account.filter(({ place }) => place === 'runnable');
	assert.ok(total(runnable) > 0);
	assert.deepEqual(
		runnable.filter(({ kind }) => kind === 'cpu_quota'),
		[],
	);
	assert.equal(sumOf(stackReport(stacks ?? assert.fail()).stacks, 'throttled'), 0);
	for (const { stdout } of others)
		for (const { groups = [], rows = [] } of reportsOf(stdout)) {
			assert.ok(!groups.some(({ key }) => key.kind === 'throttled'), stdout);
			assert.equal(sum(rows, 'throttled') + sum(rows, 'throttled_ns'), 0, stdout);
		}
});

test('two of a group: each is throttled as long as the group, as both want to go on all the time', async () => {
	const tools = ['offcputime --exact', 'runqlat --split -P', 'schedlat'];
	const { ns, ended, whose } = await traced(tools, (grouped) => grouped);
	const [stacks, groups, rows] = ended;
	for (const pid of whose) {
		const found = {
			offcputime: sumOf(
				stackReport(stacks ?? assert.fail()).stacks.filter(({ key }) => key.pid === pid),
				'throttled',
			),
			runqlat: sum(
				reportsOf(groups?.stdout ?? '')
					.flatMap((report) => report.groups)
					.filter(({ key }) => key.kind === 'throttled' && key.pid === pid),
				'sum',
			),
			schedlat: sum(
				reportsOf(rows?.stdout ?? '')
					.flatMap((report) => report.rows)
					.filter(({ key }) => (key as unknown as { pid: number }).pid === pid),
				'throttled',
			),
		};
		for (const [tool, throttled_ns] of Object.entries(found)) {
			const said = `${tool}: ${throttled_ns}, not ${ns}`;
			// Who does not run as the quota ends, on a busy machine, is not throttled so long.
			assert.ok(throttled_ns > 0.75 * ns && throttled_ns < 1.03 * ns, said);
		}
	}
});

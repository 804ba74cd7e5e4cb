/** What stat prints of counts, as they were asked for: text, rows of intervals, CSV, JSON; and what it says of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askedOf } from '../../../../src/cli/tool-command.js';
import { onlineCpus } from '../../../../src/perf/cpus.js';
import type { CountRow, StatFindings } from '../../../../src/tools/stat/findings.js';
import { rowsOf, withMetrics } from '../../../../src/tools/stat/rows.js';
import { RULES } from '../../../../src/tools/stat/rules.js';
import { stat } from '../../../../src/tools/stat/stat.js';
import { openTarget } from '../../../../src/tools/stat/target.js';
import { whyNot } from '../../../../src/tools/stat/why-not.js';
import { counted, findings, row, rowsOfValues } from './made.js';

const STYLE = { colour: false, width: 120 };

function viewOf(raw: object, command: readonly string[] = [], interval_s?: number) {
	const { settings } = askedOf(stat, { raw: { ...raw }, interval_s, count: undefined, command });
	const { report, shown } = stat.text(settings);
	assert.ok(shown);
	return {
		text: (of: StatFindings) => report(shown(of, false), STYLE),
		json: (of: StatFindings) => shown(of, true),
		remarks: (of: StatFindings) => shown(of, false).about.remarks.map(({ rule }) => rule),
		said: (of: StatFindings) =>
			shown(of, false)
				.about.remarks.map(({ text }) => text)
				.join('\n'),
	};
}

test('CSV: the names of columns once, and numbers to a millionth', async () => {
	const rows = withMetrics([row('cycles', 1_000_000_000), row('instructions', 333_333_333)], 3);
	const of = findings(rows, { elapsed_s: 3, until_s: 9 });
	const { text } = viewOf({ csv: true, interval: 3000 });
	const [names = '', ...lines] = (await text(of)).split('\n');
	assert.equal(names.split(',').length, lines[0]?.split(',').length);
	assert.match(names, /^until_s,elapsed_s,event,value,unit,status,per_s,metric,metric_value,/);
	assert.deepEqual(lines, [
		'9,3,cycles,1000000000,events,counted,333333333.333333,,,1,,',
		'9,3,instructions,333333333,events,counted,111111111,instructions_per_cycle,0.333333,1,,',
		'',
	]);
	assert.equal((await text(of)).split('\n').length, 3);
});

test('JSON: no digits that say nothing; text has them all', () => {
	const rows = withMetrics([row('faults', 10, { counted_share: 1 / 3 })], 3);
	const of = findings(rows, { elapsed_s: 3.000_000_04, until_s: 3 });
	const { json } = viewOf({});
	const [shown] = json(of).rows;
	assert.deepEqual([shown?.per_s, shown?.counted_share], [3.333_333, 0.333_333]);
	assert.equal(json(of).about.elapsed_s, 3);
});

test('each miss beside what it is a part of, by name, and never beside another event', () => {
	const values: Record<string, number> = {
		...{ cycles: 1e6, branches: 2e5, 'cache-references': 3e4 },
		...{ 'L1-dcache-loads': 4e5, 'LLC-loads': 5e3, 'dTLB-loads': 6e5, 'iTLB-loads': 7e4 },
		'L1-icache-loads': 8e5,
	};
	const misses: Readonly<Record<string, readonly [by: string, text: RegExp]>> = {
		'branch-misses': ['branches', / of all branches/],
		'cache-misses': ['cache-references', / of all references/],
		'L1-dcache-load-misses': ['L1-dcache-loads', / of all L1-dcache loads/],
		'L1-icache-load-misses': ['L1-icache-loads', / of all L1-icache loads/],
		'LLC-load-misses': ['LLC-loads', / of all LLC loads/],
		'dTLB-load-misses': ['dTLB-loads', / of all dTLB loads/],
		'iTLB-load-misses': ['iTLB-loads', / of all iTLB loads/],
	};
	const all = Object.keys(misses).map((name, i) => [name, 100 * (i + 1)] as const);
	const rows = rowsOfValues({ ...values, ...Object.fromEntries(all) }, 2);
	for (const [name, value] of all) {
		const [by = '', text] = misses[name] ?? [];
		const { metric, ...rest } = rows.find((each) => each.event === name) as CountRow;
		assert.deepEqual(metric, { name: 'miss_share', value: value / (values[by] ?? 0) }, name);
		assert.ok(text && rest.event);
	}
	const [stalled] = rowsOfValues({ 'stalled-cycles-backend': 250, cycles: 1000 }, 2);
	assert.deepEqual(stalled?.metric, { name: 'stalled_share', value: 0.25 });
});

test('texts beside counts: of what they are a share, how often a second, and in which unit', async () => {
	const rows = rowsOfValues(
		{ 'cache-references': 1000, 'cache-misses': 125, faults: 0, 'major-faults': 150 },
		1,
	);
	const joules = { ...row('faults', 12.345, { unit: 'Joules' }), event: 'power/energy-pkg/' };
	const ticks = { ...row('faults', 5, { unit: '' }), event: 'ticks', unit: 'tick' };
	const text = await viewOf({}).text(findings([...rows, joules, ticks], { elapsed_s: 1 }));
	assert.match(text, / 125 {2}cache-misses +12\.5 % of all references$/m);
	assert.match(text, / 0 {2}faults +0\/s$/m);
	assert.match(text, / 150 {2}major-faults +150\/s$/m);
	assert.match(text, /^ *12\.35 Joules {2}power\/energy-pkg\/$/m);
	assert.match(text, /^ *5\.00 tick {2}ticks$/m);
});

test('what was counted for a part of the time says so, in both forms; what was not counted does not', async () => {
	const scaled = row('cycles', 1000, { counted_share: 0.75 });
	const whole = row('cs', 7);
	const none = row('instructions', null, { counted_share: 0 });
	const once = await viewOf({}).text(findings([scaled, whole]));
	assert.match(once, /COUNTED\n.* cycles +75\.0 %\n.* cs +100\.0 %\n/);
	const rows = await viewOf({ interval: 100 }).text(findings([scaled, whole]));
	assert.match(rows, /cycles {2}counted 75\.0 %$/m);
	const uncounted = await viewOf({}).text(findings([whole, none]));
	assert.doesNotMatch(uncounted, /COUNTED/);
	assert.doesNotMatch(uncounted, /took turns/);
});

test('of an event: how long it was wanted and how long it counted', () => {
	const [one] = rowsOf(
		[
			{
				event: counted('cycles'),
				count: { value: 300n, enabled_ns: 4_000_000_000n, running_ns: 3_000_000_000n } as never,
				...{ refusal: undefined, userOnly: false },
			},
		],
		4,
	);
	assert.deepEqual(
		[one?.value, one?.enabled_ns, one?.running_ns, one?.counted_share],
		[400, 4e9, 3e9, 0.75],
	);
});

test('whole machines have no switches or migrations of their own, and are busy; programs wait, or run', () => {
	const many = { 'context-switches': 50_000, 'cpu-migrations': 5_000, 'minor-faults': 900_000 };
	const of = (about: Partial<StatFindings['about']>, clock: Readonly<Record<string, number>>) =>
		findings(rowsOfValues({ ...clock, ...many }, 2), about);
	const clock = { 'task-clock': 1e8 };
	assert.deepEqual(viewOf({}).remarks(of({ busy_share: 0.25 }, { 'cpu-clock': 4e9 })), ['busy']);
	assert.deepEqual(viewOf({ pid: [process.pid] }).remarks(of({}, clock)), [
		...['waits', 'switches', 'migrations', 'minor_faults'],
	]);
	const program = viewOf({}, ['true']);
	assert.match(
		program.said(of({}, clock)),
		/this program waits most of the time; try `tstrace why -- COMMAND`/,
	);
	const crowded = program.said(of({ machine_busy_share: 0.99 }, clock));
	assert.match(
		crowded,
		/while all CPUs were busy 99 % of the time: this program waits, perhaps for a CPU/,
	);
	assert.match(crowded, /25,000 switches\/s: they alone take about 10 % of a CPU/);
	const group = viewOf({ cgroup: ['/x'] });
	assert.match(group.said(of({}, clock)), /this cgroup waits/);
});

test('a rule for each name, in the order of the table', () => {
	assert.equal(new Set(RULES.map(({ name }) => name)).size, RULES.length);
});

test('the next command names who was counted, as long as it lives', () => {
	const of = findings(rowsOfValues({ 'task-clock': 1e8 }, 2));
	const gone = 4_194_304 - 1;
	for (const [raw, says] of [
		[{ pid: [process.pid] }, `\`tstrace why -p ${process.pid}\``],
		[{ pid: [gone, process.pid] }, `\`tstrace why -p ${gone},${process.pid}\``],
		[{ pid: [gone] }, '`tstrace why -p PID`'],
		[{ tid: [process.pid] }, `\`tstrace why -t ${process.pid}\``],
	] as const) {
		const said = viewOf(raw).said(of);
		assert.ok(said.includes(says), said);
	}
});

test('all CPUs are the whole machine, and some are not; a program, and its words', () => {
	const none = { pids: [], tids: [], comms: [], cgroups: [], follow: false };
	const target = (more: object) => {
		const filter = { ...none, cpus: [], userThreads: false, kernelThreads: false, ...more };
		const opened = openTarget({ filter, command: undefined, words: [] } as never, true);
		opened.close();
		return [opened.wholeMachine, opened.words];
	};
	const [cpu = 0] = onlineCpus();
	assert.deepEqual(target({}), [true, 'the machine']);
	assert.deepEqual(target({ cpus: [cpu] }), [false, `CPU ${cpu}`]);
	assert.deepEqual(target({ pids: [process.pid] }), [false, `process ${process.pid}`]);
	assert.deepEqual(target({ tids: [process.pid] }), [false, `thread ${process.pid}`]);
});

test('why there is no count: each error of the kernel that says there is no such event', () => {
	const machine = { pmu: true, virtual: false };
	for (const errno of ['ENOENT', 'EOPNOTSUPP', 'ENXIO'])
		assert.equal(
			whyNot(counted('cycles'), { errno, message: 'as it was' }, machine),
			'this processor does not count it',
			errno,
		);
	// Its PMU is the processor's: a modifier is no trouble there.
	assert.equal(
		whyNot(counted('cycles:u'), { errno: 'EINVAL', message: 'as it was' }, machine),
		'as it was',
	);
});

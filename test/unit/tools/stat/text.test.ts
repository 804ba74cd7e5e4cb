/** Counts as text and as CSV. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CSV_HEADER, csvLines } from '../../../../src/tools/stat/csv.js';
import { rounded } from '../../../../src/tools/stat/rounded.js';
import { renderCounts, renderInterval } from '../../../../src/tools/stat/table.js';
import { findings, row, rowsOfValues } from './made.js';

const STYLE = { colour: false, width: 80 };
const why = 'this virtual machine has no hardware counters';
const unsupported = (event: string) => row(event, null, { status: 'not_supported', why });

test('one result: counts, what they say beside each other, what has none and why, remarks', () => {
	const rows = rowsOfValues(
		{
			'task-clock': 1_234_567_890,
			'context-switches': 3411,
			'major-faults': 1,
			cycles: 3_703_703_670,
			instructions: 2_222_222_202,
			branches: 1_000_000,
			'branch-misses': 15_000,
		},
		2,
	);
	const remarks = [{ rule: 'waits', text: 'it waits' }];
	const all = [...rows, unsupported('LLC-loads'), unsupported('LLC-load-misses')];
	assert.equal(
		renderCounts(findings(all, { remarks, user_s: 0.25, system_s: 1.5 }), STYLE),
		`
        COUNT  EVENT
  1,234.57 ms  task-clock        0.62 CPUs utilised
        3,411  context-switches  1,706/s
            1  major-faults      0.50/s
3,703,703,670  cycles            3.00 GHz
2,222,222,202  instructions      0.60 per cycle
    1,000,000  branches          500,000/s
       15,000  branch-misses     1.50 % of all branches

2.000 s elapsed
CPU time: 0.250 s in user space, 1.500 s in the kernel
<not supported> LLC-loads, LLC-load-misses: this virtual machine has no hardware
  counters

it waits
`,
	);
});

test('scaled counts have a column that says for how much of the time they counted', () => {
	const rows = [row('cycles', 1000, { counted_share: 0.4 }), row('cs', 7)];
	assert.match(
		renderCounts(findings(rows), STYLE),
		/COUNTED\n.* cycles +40\.0 %\n.* cs +100\.0 %\n/,
	);
	const uncounted = [row('cycles', null, { counted_share: 0 }), row('cs', 7)];
	const text = renderCounts(findings(uncounted), STYLE);
	assert.doesNotMatch(text, /COUNTED/);
	assert.match(text, /<not counted> cycles: the processor had no free counter/);
});

test('several runs: the deviation as a share of the mean', () => {
	const runs = { deviation: 50, min: 900, max: 1100 };
	const rows = [
		row('cs', 1000, { runs }),
		row('faults', 0, { runs: { deviation: 0, min: 0, max: 0 } }),
	];
	const about = { runs: 12, elapsed_s: 2, elapsed_runs: { deviation: 0.5, min: 1.25, max: 2.5 } };
	const text = renderCounts(findings(rows, about), STYLE);
	assert.match(text, /1,000 {2}cs +± 5\.00 %\n +0 {2}faults\n/);
	assert.match(text, /2\.000 s elapsed, ± 25\.0 % \(12 runs, 1\.250 to 2\.500 s\)/);
});

test('intervals: rows with the time they end, the heading and the reasons once', () => {
	const rows = [...rowsOfValues({ 'task-clock': 5e8, faults: 10 }, 1), unsupported('cycles')];
	const at = (until_s: number) => findings(rows, { elapsed_s: 1, until_s });
	assert.equal(
		renderInterval(at(1.0004), STYLE, true),
		`
      TIME               COUNT  EVENT
     1.000           500.00 ms  task-clock  0.50 CPUs utilised
     1.000                  10  faults      10.0/s
<not supported> cycles: this virtual machine has no hardware counters
`,
	);
	assert.equal(
		renderInterval(at(12.3456), STYLE, false),
		`    12.346           500.00 ms  task-clock  0.50 CPUs utilised
    12.346                  10  faults      10.0/s
`,
	);
});

test('events that are not counted for different reasons: each has its own', () => {
	const lacking = (event: string, because: string) =>
		row(event, null, { status: 'not_supported', why: because });
	const rows = [lacking('cycles', 'first reason'), lacking('cs', 'second reason')];
	for (const render of [renderCounts, renderInterval]) {
		const text = render(findings(rows), STYLE, true).replace(/\s+/g, ' ');
		assert.match(text, /cycles: first reason/);
		assert.match(text, /cs: second reason/);
	}
});

test('control characters of a reason do not reach the terminal', () => {
	const hostile = row('cs', null, { status: 'not_supported', why: 'a\u001b[31mb' });
	assert.match(renderCounts(findings([hostile]), STYLE), /a\\x1b\[31mb/);
	const remarks = [{ rule: 'waits', text: 'try --cgroup \u001b]0;x\u0007' }];
	assert.match(renderCounts(findings([], { remarks }), STYLE), /\\x1b\]0;x\\x07/);
});

test('lines are 80 columns at most', () => {
	const long = rowsOfValues(
		{
			'syscalls:sys_enter_sched_get_priority_max:u': 2 ** 53,
			'L1-dcache-load-misses': 2 ** 53,
			'L1-dcache-loads': 2 ** 53,
		},
		1,
	);
	const all = [...long, unsupported('LLC-loads'), unsupported('cache-references')];
	for (const line of renderCounts(findings(all), STYLE).split('\n'))
		assert.ok(line.length <= 80, line);
});

test('CSV: a line for each event', () => {
	assert.equal(
		CSV_HEADER,
		'until_s,elapsed_s,event,value,unit,status,per_s,metric,metric_value,counted_share,deviation,runs\n',
	);
	const odd = { event: 'sched:a,"b"', per_s: 1.5 };
	const rows = [...rowsOfValues({ 'task-clock': 5e8 }, 2), row('sched:a', 3, odd)];
	const runs = { deviation: 1.5, min: 1, max: 5 };
	const all = [...rows, unsupported('cycles'), row('cs', 4, { runs })];
	assert.equal(
		csvLines(findings(all, { until_s: 7.1234567, runs: 3 })),
		[
			'7.123457,2,task-clock,500000000,ns,counted,,cpus_utilised,0.25,1,,3',
			'7.123457,2,"sched:a,""b""",3,events,counted,1.5,,,1,,3',
			'7.123457,2,cycles,,events,not_supported,,,,1,,3',
			'7.123457,2,cs,4,events,counted,,,,1,1.5,3',
			'',
		].join('\n'),
	);
});

test('CSV: each letter by itself that a cell has to be quoted for', () => {
	const cell = (event: string) => {
		const line = csvLines(findings([row('cs', 3, { event })], { until_s: 7 }));
		return line.slice('7,2,'.length, line.indexOf(',3,events'));
	};
	assert.equal(cell('cpu/event=0x3c,umask=1/'), '"cpu/event=0x3c,umask=1/"');
	assert.equal(cell('a"b'), '"a""b"');
	for (const letter of ['\n', '\r']) assert.equal(cell(`a${letter}b`), `"a${letter}b"`);
	assert.equal(cell("a;b 'c'"), "a;b 'c'");
});

test('JSON has six digits behind the point', () => {
	const [third] = rowsOfValues({ faults: 1 }, 3);
	const all = [
		third ?? row('cs', 1),
		row('cycles', 1, { counted_share: 1 / 3, metric: { name: 'ghz', value: 2 / 3 } }),
	];
	const { about, rows } = rounded(findings(all, { elapsed_s: 1 / 3, busy_share: 2 / 3 }));
	assert.deepEqual([about.elapsed_s, about.busy_share], [0.333333, 0.666667]);
	assert.equal(rows[0]?.per_s, 0.333333);
	assert.deepEqual([rows[1]?.counted_share, rows[1]?.metric?.value], [0.333333, 0.666667]);
});

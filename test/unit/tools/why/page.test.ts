import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PageBlock, PageReport } from '../../../../src/aggregate/page-report.js';
import { evidence, NOBODY, reportOf, seenOf } from './answers.js';

const MS = 1e6;

function block<T extends PageBlock['type']>(report: PageReport, type: T, at = 0) {
	const all = report.sections.flatMap(({ blocks }) => blocks);
	return all.filter((each) => each.type === type)[at] as Extract<PageBlock, { type: T }>;
}

test('the verdict, how sure it is, and what it is about', () => {
	const report = reportOf(evidence());
	assert.match(
		report.statement,
		/runs on a CPU for 48 % .*until the disk has written \/srv\/journal/,
	);
	assert.deepEqual(report.remarks, ['How sure this is: sure.']);
	assert.deepEqual(
		report.facts.map(({ name, value }) => `${name}: ${value}`),
		[
			'try next: tstrace profile -p 11 5',
			'window: 2.00 s, 2 threads',
			'wall-clock time: 4.00 s',
			'working: 2.00 s',
			'idle: 2.00 s',
		],
	);
});

test('why it is not surer', () => {
	const given = evidence();
	const report = reportOf({
		...given,
		samples: given.samples.flatMap((row) => [
			{ ...row, count: 6 },
			{ ...row, count: 3, frames: row.frames.slice(0, 1) },
		]),
		blocked: given.blocked.slice(2),
	});
	assert.match(
		report.remarks[0] ?? '',
		/^How sure this is: unsure, as .*of \d+ % of the time nothing was seen\.$/,
	);
	// Of 4 s nothing was seen for one.
	const working = report.facts.find(({ name }) => name === 'working');
	assert.equal(working?.value, '1.00 s');
});

test('the bar has all time, by place, and says its colours in words', () => {
	const { shares, legend } = block(reportOf(evidence()), 'shares');
	assert.deepEqual(
		shares.map(({ name, value, tone }) => [name, value / MS, tone]),
		[
			['running: in its own code', 950, 'cool'],
			['runnable: run queue', 50, 'hot'],
			['waiting: disk write /srv/journal', 700, 'warm'],
			['waiting: sleep', 300, 'warm'],
			['idle: socket accept', 2000, 'quiet'],
		],
	);
	assert.deepEqual(
		legend.map(({ text }) => text),
		['running 23.8 %', 'runnable 1.3 %', 'waiting 25.0 %', 'idle 50.0 %'],
	);
	const { rows } = block(reportOf(evidence()), 'table');
	assert.deepEqual(rows[2]?.cells, [
		...['waiting: disk write /srv/journal', '17.5 %', '700 ms'],
		...['3', '200 ms', '400 ms', '400 ms'],
	]);
});

test('of thousands of small places those that are alike are one, and nothing is missing', () => {
	const given = evidence();
	const [commit] = given.blocked;
	assert(commit);
	const blocked = Array.from({ length: 3000 }, (_, i) => {
		const value = 100_000;
		const object = { type: 'file', path: `/srv/${i}` } as const;
		const objects = [{ object, value, count: 1, variance: 0 }];
		return { ...commit, row: { ...commit.row, objects, value, parts: [value], sources: [] } };
	});
	const report = reportOf({ ...given, blocked: [...given.blocked, ...blocked] });
	const { shares } = block(report, 'shares');
	assert.equal(shares.length, 6);
	const total = shares.reduce((sum, { value }) => sum + value, 0);
	assert(Math.abs(total - 4000 * MS) < 1, `${total}`);
	const small = shares.find(({ name }) => name === 'waiting: elsewhere');
	// Waits are fitted to the time that threads did not run: 3050 ms, and there are 3350 ms of them.
	assert(Math.abs((small?.value ?? 0) / MS - (300 * 3050) / 3350) < 1e-3, `${small?.value}`);
	assert.equal(block(report, 'table').rows.length, 6);
});

test('a reason: its functions, its object, who was behind it, whose it is', () => {
	const { entries } = block(reportOf(evidence()), 'entries');
	assert.equal(entries.length, 3);
	const [, disk] = entries;
	assert.match(
		disk?.title ?? '',
		/^2\. 35 % of working time: server .* until the disk has written/,
	);
	assert.deepEqual(
		Object.fromEntries(disk?.lists.map(({ name, values }) => [name, values]) ?? []),
		{
			time: ['700 ms, in 3 waits'],
			where: ['main → commit'],
			object: ['/srv/journal'],
			'held by': [],
			longest: ['400 ms'],
			'chain, 100.0 %': ['← flusher (31) ran on a CPU: main → flush'],
			thread: ['server (12) 700 ms'],
		},
	);
	assert.equal(block(reportOf(evidence(), { top: 1 }), 'entries').entries.length, 1);
});

test('a reason of which a part was sampled: twice its standard error; of many threads the first ones, and how many more', () => {
	const given = evidence();
	const [commit, ...others] = given.blocked;
	assert(commit);
	const row = { ...commit.row, variance: (10 * MS) ** 2 };
	const disk = block(reportOf({ ...given, blocked: [{ ...commit, row }, ...others] }), 'entries');
	assert.deepEqual(disk.entries[1]?.lists[0]?.values, ['700 ms ± 20.0 ms, in 3 waits']);
	const many = Array.from({ length: 23 }, (_, i) => {
		const key = { pid: 11, tid: 100 + i, comm: 'many' };
		return { ...commit, row: { ...commit.row, key, sources: [] } };
	});
	const threads = many.map(({ row: { key } }) => {
		return { pid: 11, tid: key.tid as number, comm: 'many', life_ns: 700 * MS, run_ns: 0 };
	});
	const report = reportOf({ ...given, blocked: many, threads, forCpu: [], samples: [] });
	const { lists = [] } = block(report, 'entries').entries[0] ?? {};
	const [who = ''] = lists.find(({ name }) => name === 'threads')?.values ?? [];
	assert.equal(who.split(', ').length, 21);
	assert.match(who, /, 3 more$/);
});

test('the worst waits: a lane, and the same in a table', () => {
	const report = reportOf(evidence());
	const { lanes, length_ns } = block(report, 'timeline');
	assert.equal(length_ns, 2000 * MS);
	assert.deepEqual(
		lanes.map(({ name, bars }) => [name, bars.map(({ label }) => label)]),
		[
			[
				'server (12)',
				[
					...['1 disk write /srv/journal', '2 sleep', '3 disk write /srv/journal'],
					...['4 disk write /srv/journal', '5 runnable: run queue', '6 runnable: run queue'],
				],
			],
		],
	);
	assert.equal(
		lanes[0]?.bars[2]?.text,
		'3: server (12), 200 ms from 100 ms on: disk write /srv/journal',
	);
	assert.equal(lanes[0]?.bars[4]?.tone, 'hot');
	const { rows } = block(report, 'table', 1);
	assert.deepEqual(rows[0]?.cells, [
		...['1', '0 s', '350 ms', 'server (12)', 'disk write /srv/journal', 'commit'],
		['← flusher (31) ran on a CPU'],
	]);
	assert.deepEqual(
		rows.map(({ number }) => number),
		[1, 2, 3, 4, 5, 6],
	);
});

test('threads beyond twelve are in the table only, which is said', () => {
	const given = evidence();
	const seen = seenOf();
	const [commit] = given.blocked;
	assert(commit);
	const blocked = Array.from({ length: 15 }, (_, i) => ({
		...commit,
		row: { ...commit.row, key: { pid: 11, tid: 100 + i, comm: 'many' }, sources: [i] },
	}));
	for (const at of blocked.keys()) seen.longest.blocked(50 + at, { begin_ns: 5e9, end_ns: 5.1e9 });
	const numbers = blocked.map((_, i) => 50 + i);
	const report = reportOf({ ...given, blocked }, { seen: { ...seen, numbers } });
	assert.equal(block(report, 'timeline').lanes.length, 12);
	assert.match(report.sections[2]?.note ?? '', /The table has those of 4 more, too\.$/);
	// 15 of these, and 2 of another thread for a CPU.
	assert.equal(block(report, 'table', 1).rows.length, 17);
});

test('nobody was there: nothing is drawn, and it is said', () => {
	const report = reportOf(NOBODY);
	assert.match(report.statement, /^No thread of the target was there/);
	assert.deepEqual(
		report.sections.map(({ note, blocks }) => [note, blocks.length]),
		[
			['No thread was there.', 0],
			['There is none: no thread had work to do that it did not get on with.', 0],
			['No thread with work to do waited for 1 ms or longer.', 0],
		],
	);
});

test('all idle: an account without reasons, and no share of nothing', () => {
	const given = evidence();
	const [, , accept] = given.blocked;
	const [idle] = given.threads;
	assert(accept && idle);
	const report = reportOf({
		...given,
		...{ threads: [idle], blocked: [accept], forCpu: [], samples: [] },
	});
	assert.equal(block(report, 'shares').shares.length, 1);
	assert.equal(block(report, 'entries'), undefined);
	assert.doesNotMatch(JSON.stringify(report), /NaN|Infinity|null/);
});

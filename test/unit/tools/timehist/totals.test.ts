/** Totals of threads: what is not known is not 0, and numbers are used again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ThreadName } from '../../../../src/bpf/thread-names.js';
import { ThreadTotals } from '../../../../src/tools/timehist/totals.js';
import { renderThreadTotals } from '../../../../src/tools/timehist/totals-table.js';

const nobody = new Uint8Array();
const named = (tid: number, text: string): ThreadName => ({
	tgid: tid,
	tid,
	comm: text,
	words: [0, 0, 0, 0],
	text,
	plain: nobody,
	padded: nobody,
});

const rowOf = (totals: ThreadTotals, name: string) =>
	totals.rows().find(({ thread }) => thread === name);

test('a run time that is not known is in no minimum, mean or deviation', () => {
	const totals = new ThreadTotals();
	const name = named(7, 'a[7]');
	totals.of(name).add(0, 0, 0, undefined);
	const unknown = { run: 0, min_run: 0, avg_run: 0, max_run: 0, stddev_pct: 0 };
	const nothing = { ...unknown, wait: 0, delay: 0, throttled: 0, migrations: 0 };
	assert.deepEqual(rowOf(totals, 'a[7]'), { thread: 'a[7]', switches: 1, ...nothing });
	totals.of(name).add(0, 0, 0, 2e6);
	totals.of(name).add(1, 1e6, 1e5, 4e6);
	const { stddev_pct, ...rest } = rowOf(totals, 'a[7]') ?? {};
	assert.equal(Number(stddev_pct).toFixed(2), '23.57');
	const runs = { run: 6e6, min_run: 2e6, avg_run: 3e6, max_run: 4e6 };
	const others = { wait: 1e6, delay: 1e5, throttled: 0, migrations: 1 };
	assert.deepEqual(rest, { thread: 'a[7]', switches: 3, ...runs, ...others });
});

test('a number that is used again is another row', () => {
	const totals = new ThreadTotals();
	totals.of(named(7, 'a[7]')).add(0, 0, 0, 1e6);
	totals.ends(7);
	totals.of(named(7, 'b[7]')).add(0, 0, 0, 2e6);
	assert.equal(rowOf(totals, 'a[7]')?.run, 1e6);
	assert.equal(rowOf(totals, 'b[7]')?.run, 2e6);
	const text = renderThreadTotals(totals.rows(), { colour: false, width: 80 });
	assert.match(text, /^2 threads, 2 switches, 3\.00 ms run$/m);
});

test('so many threads have a row, those that have ended among them; all others have one together', () => {
	const totals = new ThreadTotals();
	for (let tid = 1; tid <= 70_000; tid++) {
		totals.of(named(tid, `t[${tid}]`)).add(0, 0, 0, 1000);
		totals.ends(tid);
	}
	const rows = totals.rows();
	assert.equal(rows.length, 65_536 + 1);
	assert.equal(rowOf(totals, '(others)')?.switches, 70_000 - 65_536);
});

test('the table has a column for CPU quotas where somebody was throttled', () => {
	const totals = new ThreadTotals();
	const style = { colour: false, width: 200 };
	totals.of(named(7, 'a[7]')).add(0, 8e7, 0, 2e7);
	assert.doesNotMatch(renderThreadTotals(totals.rows(), style), /THROTTLED/);
	totals.of(named(7, 'a[7]')).throttled_ns += 79e6;
	const text = renderThreadTotals(totals.rows(), style);
	assert.match(text, /^THREAD .* DELAY +THROTTLED +MIGR$/m);
	assert.match(text, /^a\[7\] .* 79\.0 ms +0$/m);
});

test('on a narrow terminal the table of threads leaves columns out, and names them', () => {
	const totals = new ThreadTotals();
	totals.of(named(7, 'tokio-runtime-w[1234567/1234560]')).add(0, 1e9, 1e8, 1.5e9);
	const style = (columns: number) => ({ colour: false, width: Math.min(80, columns), columns });
	const narrow = renderThreadTotals(totals.rows(), style(80));
	assert.ok(
		narrow.split('\n').every((line) => line.length <= 80),
		narrow,
	);
	assert.match(narrow, /a wider terminal or a pipe also shows .*STDDEV/);
	assert.match(renderThreadTotals(totals.rows(), style(120)), /STDDEV .* WAIT .* MIGR$/m);
});

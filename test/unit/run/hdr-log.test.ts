/** `--hdr FILE`: whatever a group is called, HdrHistogram's own reader finds each of them in the log. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { HistogramLogReader } from 'hdr-histogram-js';
import type { LatencyFindings, LatencyGroup } from '../../../src/aggregate/report.js';
import { type CommonSettings, commonSettings } from '../../../src/run/common-options.js';
import { Results } from '../../../src/run/results.js';
import { HOSTILE, histogramOf } from '../support.js';

const START = new Date('2026-03-04T05:06:07.000Z');
const DURATION_NS = 3e9;

const reportOf = (groups: readonly LatencyGroup[]) => ({
	tool: 'runqlat',
	circumstances: { command: [], host: '', kernel: '', arch: '', filters: {} },
	start: START,
	duration_ns: DURATION_NS,
	lost: {},
	cost: { programs: undefined, own_ns: 0, own_pct: 0 },
	findings: { kind: 'latency' as const, groups },
});

/** What a run writes there that found these groups. */
async function logOf(t: TestContext, groups: readonly LatencyGroup[]): Promise<string> {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-hdr-'));
	t.after(() => rmSync(folder, { recursive: true }));
	const [output, hdr] = [join(folder, 'result'), join(folder, 'log')];
	const common: CommonSettings = { ...commonSettings({}, [], 'latency'), output, hdr };
	const results = new Results<LatencyFindings>(common, { report: async () => '' }, undefined);
	results.begin();
	await results.report(reportOf(groups), true);
	results.close();
	return readFileSync(hdr, 'utf8');
}

/** Names that a thread may take: prctl(2) refuses none. */
const NAMES = [
	'worker',
	'a,b',
	',first',
	'last,',
	',',
	'a b, c',
	'Tag=x,1.0,2.0,3',
	'tab\there',
	'new\nline',
	'#[comment]',
	...HOSTILE,
];

test('a line for each group, which is read back whole, whatever its name is', async (t) => {
	const groups = NAMES.map((comm, i) => ({
		key: { comm },
		// Each another count, and another value.
		histogram: histogramOf(Array.from({ length: i + 1 }, () => 1000 + 100 * i)),
	}));
	const log = await logOf(t, groups);
	const reader = new HistogramLogReader(log);
	for (const [i, comm] of NAMES.entries()) {
		const read = reader.nextIntervalHistogram();
		assert.equal(read?.totalCount, i + 1, comm);
		assert.ok(Math.abs((read?.maxValue ?? 0) / (1000 + 100 * i) - 1) < 0.001, comm);
		assert.equal(read?.startTimeStampMsec, START.getTime(), comm);
		assert.equal(read?.endTimeStampMsec, START.getTime() + DURATION_NS / 1e6, comm);
		// No more of the name is lost than what separates fields, or what no terminal shows.
		const letters = comm.replace(/[^a-z0-9]/gi, '');
		assert.equal(`${read?.tag}`.replace(/[^a-z0-9]/gi, ''), `comm${letters}`, comm);
	}
	assert.equal(reader.nextIntervalHistogram(), null);
});

test('a name of several parts has all of them, each with what it is', async (t) => {
	const key = { pid: 17, tid: 18, comm: 'a,b' };
	const log = await logOf(t, [{ key, histogram: histogramOf([5000, 7000]) }]);
	const read = new HistogramLogReader(log).nextIntervalHistogram();
	assert.equal(read?.tag, 'pid=17;tid=18;comm=a_b');
	assert.equal(read?.totalCount, 2);
});

test('a log without a result goes; one that nobody reads is not waited for once somebody wants an end', async (t) => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-hdr-'));
	t.after(() => rmSync(folder, { recursive: true }));
	const [output, hdr] = [join(folder, 'result'), join(folder, 'log')];
	const common: CommonSettings = { ...commonSettings({}, [], 'latency'), output, hdr };
	const resultsNow = () =>
		new Results<LatencyFindings>(common, { report: async () => '' }, undefined);
	resultsNow().close();
	assert.deepEqual([output, hdr].filter(existsSync), []);
	execFileSync('mkfifo', [hdr]);
	const results = resultsNow();
	results.begin();
	results.giveUp();
	const groups = [{ key: {}, histogram: histogramOf([1]) }];
	await assert.rejects(results.report(reportOf(groups), true), /no process reads this pipe/);
	results.close();
});

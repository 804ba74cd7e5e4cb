import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderJson } from '../../../src/render/json.js';
import { HOSTILE, histogramOf } from '../support.js';

const jsonOf = async (report: Parameters<typeof renderJson>[0]) => {
	let text = '';
	for await (const piece of renderJson(report)) text += piece;
	return text;
};

const circumstances = {
	command: ['tstrace', 'runqlat', '5'],
	host: 'here',
	kernel: '6.1.0',
	arch: 'x64',
	filters: { pids: [7] },
};

const interval = {
	circumstances,
	tool: 'runqlat',
	start: new Date('2026-01-31T12:00:00Z'),
	duration_ns: 5.0000004e9,
	lost: { groups_full: 3 },
	cost: {
		programs: { bpf_runs: 10, bpf_ns: 750, cpu_pct: 0.000015, trap_ns: 90, trap_pct: 0.000002 },
		own_ns: 5e6,
		own_pct: 0.1,
	},
};

test('the envelope, with its groups', async () => {
	const groups = [{ key: { pid: 7 }, histogram: histogramOf([3, 3, 1000]) }];
	const text = await jsonOf({ ...interval, findings: { kind: 'latency', groups } });
	assert.ok(text.endsWith('}\n') && text.indexOf('\n') === text.length - 1, 'one line');
	assert.deepEqual(JSON.parse(text), {
		tool: 'runqlat',
		schema: 1,
		...circumstances,
		start: '2026-01-31T12:00:00.000Z',
		duration_s: 5,
		unit: 'ns',
		groups: [
			{
				key: { pid: 7 },
				count: 3,
				sum: 1006,
				min: 3,
				max: 1000,
				p50: 3,
				p90: 1000,
				p99: 1000,
				p999: 1000,
				buckets: [
					[3, 4, 2],
					[1000, 1008, 1],
				],
			},
		],
		lost: { groups_full: 3 },
		cost: { bpf_runs: 10, bpf_ns: 750, cpu_pct: 0, trap_ns: 90, own_ns: 5e6, own_pct: 0.1 },
	});
});

test('rows; and a cost that was not measured is null, not 0', async () => {
	const findings = { kind: 'rows', rows: [{ delay_ns: 5 }] } as const;
	const cost = { programs: undefined, own_ns: 0, own_pct: 0 };
	const report = JSON.parse(await jsonOf({ ...interval, cost, findings }));
	assert.deepEqual(report.rows, [{ delay_ns: 5 }]);
	const unmeasured = { bpf_runs: null, bpf_ns: null, cpu_pct: null, trap_ns: null };
	assert.deepEqual(report.cost, { ...unmeasured, own_ns: 0, own_pct: 0 });
});

test('names come through unchanged, and nothing of them reaches a terminal raw', async () => {
	const groups = HOSTILE.map((comm) => ({ key: { comm }, histogram: histogramOf([1]) }));
	const text = await jsonOf({ ...interval, findings: { kind: 'latency', groups } });
	assert.doesNotMatch(text, /[^\P{Cc}\n]|\u202e/u);
	const names = JSON.parse(text).groups.map((group: { key: { comm: string } }) => group.key.comm);
	assert.deepEqual(names, HOSTILE);
});

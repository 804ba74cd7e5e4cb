import assert from 'node:assert/strict';
import { test } from 'node:test';
import { profileOf } from '../../../src/aggregate/stack-profile.js';
import { renderJson } from '../../../src/render/json.js';
import { foldedOf, profilesOf } from '../input/formats.js';
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

test('stacks: numbers as they are known, and nothing of what does not apply', async () => {
	const user = (name: string) => ({ name, kind: 'user' }) as const;
	const row = {
		key: { pid: 7, comm: 'app' },
		frames: [
			{
				...user('main'),
				source: { language: 'wasm', name: 'main', file: '/srv/main.js', line: undefined },
			},
			{
				name: 'load',
				kind: 'jit',
				source: { language: 'wasm', name: 'load()', file: '/srv/a.js', line: 12 },
			},
			{ name: 'read', kind: 'kernel' },
		],
		parts: [5.4, 7.6, 0],
		value: 13.4,
		count: 2.25,
		variance: 10,
	} as const;
	const waker = {
		key: { pid: 9, comm: 'db' },
		frames: [
			{ ...user('wake'), source: { language: 'wasm', name: 'wake', file: undefined, line: 3 } },
		],
		cut: 'too deep',
		callerMissing: true,
	} as const;
	const stacks = [
		row,
		{ ...row, key: { comm: 'b' }, cut: 'no way on', callerMissing: true, waker, processes: 3 },
		{
			...row,
			key: { comm: 'c' },
			waitKind: 'disk write',
			objects: [
				{ object: { type: 'file', path: '/a' }, value: 3.4, count: 1, variance: 0 },
				{ object: { type: 'file', path: '/b' }, value: 1, count: 1, variance: 0 },
			],
			waker: { key: { comm: 'irq' }, frames: [] },
		},
	] as const;
	const findings = {
		kind: 'stacks',
		unit: 'ns',
		noun: 'wait',
		about: { period_ns: 5 },
		parts: ['blocked', 'run queue', 'preempted'],
		stacks,
		leftOut: [{ by: 'idle', rows: [row, row], threads: 1 }],
		notices: ['a notice'],
	} as const;
	const report = JSON.parse(await jsonOf({ ...interval, findings }));
	const same = {
		frames: ['main', 'load', 'read'],
		kinds: 'ujk',
		sources: [
			{ frame: 0, name: 'main', file: '/srv/main.js' },
			{ frame: 1, name: 'load()', file: '/srv/a.js', line: 12 },
		],
		value: 13,
		// Of what is estimated one decimal, of its error none.
		count: 2.3,
		error: 3,
		blocked: 5,
		run_queue: 8,
		preempted: 0,
	};
	assert.deepEqual(report.stacks, [
		{ ...same, key: { pid: 7, comm: 'app' } },
		{
			...same,
			cut: 'no way on',
			caller_missing: true,
			wait: {
				waker: {
					pid: 9,
					comm: 'db',
					frames: ['wake'],
					kinds: 'u',
					cut: 'too deep',
					caller_missing: true,
				},
			},
			processes: 3,
			key: { comm: 'b' },
		},
		{
			...same,
			wait: {
				kind: 'disk_write',
				object: '/a',
				objects: [
					{ type: 'file', path: '/a', value_ns: 3 },
					{ type: 'file', path: '/b', value_ns: 1 },
				],
				waker: { comm: 'irq' },
			},
			key: { comm: 'c' },
		},
	]);
	const { period_ns, unit, notices, left_out } = report;
	assert.deepEqual([period_ns, unit, notices], [5, 'ns', ['a notice']]);
	assert.deepEqual(left_out, { idle: { value: 27, count: 4.5, stacks: 2, threads: 1 } });
	// Of samples the count is the value, and has no error.
	const samples = { ...findings, unit: 'samples', parts: ['samples'], leftOut: [] } as const;
	const [first] = JSON.parse(await jsonOf({ ...interval, findings: samples })).stacks;
	const { error, blocked, run_queue, preempted, ...others } = same;
	assert.deepEqual(first, { ...others, key: { pid: 7, comm: 'app' } });
});

test('a picture of JSON has the roots that the direct one has, whatever stacks are apart by', async () => {
	const of = {
		frames: [{ name: 'main', kind: 'user' }],
		parts: [1],
		count: 1,
		variance: 0,
	} as const;
	const keys = [
		{ kind: 'disk write', object: '/a b', waker: 'c (7)', comm: 'd' },
		{ kind: 'other: do_wait', comm: 'd' },
		{ part: 'run queue', comm: 'd' },
		{ place: 'running', kind: 'in its own code', comm: 'd' },
		{ memory: 'slab', comm: 'd' },
		{ comm: 'd' },
	];
	const stacks = keys.map((key, at) => ({ ...of, key, value: 1 + at }));
	const about = { kind: 'stacks', unit: 'bytes', noun: 'wait', about: {} } as const;
	const findings = { ...about, parts: ['time'], stacks, notices: [] };
	const [read] = await profilesOf(await jsonOf({ ...interval, findings }));
	assert.ok(read);
	assert.equal(foldedOf(read), foldedOf(profileOf(stacks, {})));
	assert.match(foldedOf(read), /^disk write;\/a b;c \(7\);d;main 1$/m);
	assert.match(foldedOf(read), /^running: in its own code;d;main 4$/m);
});

test('a group in which nothing was counted has numbers, too; a table has what is said of all its rows', async () => {
	const groups = [{ key: {}, histogram: histogramOf([]) }];
	const latency = JSON.parse(await jsonOf({ ...interval, findings: { kind: 'latency', groups } }));
	const zero = { count: 0, sum: 0, min: 0, max: 0, p50: 0, p90: 0, p99: 0, p999: 0 };
	assert.deepEqual(latency.groups, [{ key: {}, ...zero, buckets: [] }]);
	const rows = [{ pid: 7 }];
	const findings = { kind: 'table', about: { unit: 'calls' }, rows } as const;
	const cost = {
		programs: { bpf_runs: 1, bpf_ns: 2, cpu_pct: 0.123456, trap_ns: 3, trap_pct: 0.5 },
		...{ own_ns: 4, own_pct: 0.654321 },
	};
	const table = JSON.parse(
		await jsonOf({ ...interval, duration_ns: 2_345_678_901, cost, findings }),
	);
	assert.deepEqual([table.unit, table.rows, table.duration_s], ['calls', rows, 2.345679]);
	assert.deepEqual([table.cost.cpu_pct, table.cost.own_pct], [0.1235, 0.6543]);
});

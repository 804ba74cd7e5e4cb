/** What counts say in words: each rule on either side of its threshold. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RULES, remarksOf, type Seen } from '../../../../src/tools/stat/rules.js';
import { row, rowsOfValues } from './made.js';

function seen(values: Readonly<Record<string, number>>, more: Partial<Seen> = {}): Seen {
	const elapsed_s = more.elapsed_s ?? 2;
	const rows = rowsOfValues(values, elapsed_s);
	return { rows, elapsed_s, cpus: 8, of: 'program', choice: ' -p 812', ...more };
}

/** What a rule says of a program that ran for 2 s on 8 CPUs; undefined: nothing. */
function says(rule: string, values: Readonly<Record<string, number>>, more: Partial<Seen> = {}) {
	assert.ok(
		RULES.some(({ name }) => name === rule),
		`there is a rule ${rule}`,
	);
	return remarksOf(seen(values, more)).find((remark) => remark.rule === rule)?.text;
}

const clock = (cpus: number) => ({ 'task-clock': cpus * 2e9 });

test('waits: below half a CPU', () => {
	assert.equal(
		says('waits', clock(0.3)),
		'0.30 CPUs utilised: this program waits most of the time; try `tstrace why -p 812`',
	);
	assert.match(says('waits', clock(0.012)) ?? '', /^0\.012 CPUs/);
	assert.match(says('waits', clock(0.49)) ?? '', /^0\.49 CPUs/);
	assert.equal(says('waits', clock(0.5)), undefined);
	assert.match(
		says('waits', clock(0.1), { of: 'cgroup', choice: ' --cgroup x' }) ?? '',
		/this cgroup waits.*why --cgroup x`$/,
	);
	assert.equal(
		says('waits', clock(0.25), { machine_busy_share: 0.95 }),
		'0.25 CPUs utilised, while all CPUs were busy 95 % of the time: this program waits, perhaps for a CPU; ' +
			'`tstrace why -p 812` tells',
	);
	assert.match(says('waits', clock(0.25), { machine_busy_share: 0.8 }) ?? '', /most of the time/);
	assert.equal(says('waits', clock(0.1), { of: 'cpus' }), undefined, 'CPUs do not wait');
	assert.equal(says('waits', { 'task-clock': 1e6 }, { elapsed_s: 0.09 }), undefined, 'too short');
});

test('one CPU: from 0.9 to 1.1 of several', () => {
	assert.equal(
		says('one_cpu', clock(1)),
		'1.0 CPUs utilised, of 8: as one thread that always runs; `tstrace profile -p 812` shows where',
	);
	assert.equal(says('one_cpu', clock(0.89)), undefined);
	assert.equal(says('one_cpu', clock(1.11)), undefined);
	assert.ok(says('one_cpu', clock(0.91)) && says('one_cpu', clock(1.09)));
	assert.equal(says('one_cpu', clock(1), { cpus: 1 }), undefined);
});

test('all CPUs: nine tenths of them', () => {
	assert.match(
		says('all_cpus', clock(7.3)) ?? '',
		/^7\.3 of 8 CPUs utilised: CPUs are what limits it/,
	);
	assert.equal(says('all_cpus', clock(7.1)), undefined);
	assert.equal(says('all_cpus', clock(8), { of: 'cpus' }), undefined);
});

test('busy: of the whole machine', () => {
	assert.equal(
		says('busy', {}, { of: 'cpus', busy_share: 0.344 }),
		'CPUs were busy 34 % of the time (8 CPUs, /proc/stat)',
	);
	assert.match(
		says('busy', {}, { busy_share: 0.95 }) ?? '',
		/95 % .*no room for more work; `tstrace runqlat`/,
	);
	assert.equal(says('busy', clock(1)), undefined);
});

test('instructions: more or less than one in each cycle', () => {
	const ipc = (value: number) => ({ cycles: 1000, instructions: 1000 * value });
	assert.match(
		says('instructions', ipc(0.62)) ?? '',
		/^0\.6 instructions per cycle: likely stalled on memory/,
	);
	assert.match(says('instructions', ipc(0.99)) ?? '', /stalled on memory/);
	assert.match(
		says('instructions', ipc(1)) ?? '',
		/^1\.0 instructions per cycle: likely limited by instructions/,
	);
	assert.match(says('instructions', { 'cycles:u': 10, 'instructions:u': 25 }) ?? '', /^2\.5 /);
	assert.equal(says('instructions', { cycles: 10 }), undefined);
});

test('stalled cycles: above what perf prints in red', () => {
	const front = (share: number) => ({ cycles: 1000, 'stalled-cycles-frontend': 1000 * share });
	const back = (share: number) => ({ cycles: 1000, 'stalled-cycles-backend': 1000 * share });
	assert.match(says('stalled_cycles_frontend', front(0.51)) ?? '', /fetching instructions in 51 %/);
	assert.equal(says('stalled_cycles_frontend', front(0.5)), undefined);
	assert.match(says('stalled_cycles_backend', back(0.76)) ?? '', /memory or other units in 76 %/);
	assert.equal(says('stalled_cycles_backend', back(0.75)), undefined);
});

test('misses: of branches one in ten, of cache references one in five', () => {
	assert.match(
		says('branch_misses', { branches: 100, 'branch-misses': 11 }) ?? '',
		/^11 % of branches/,
	);
	assert.equal(says('branch_misses', { branches: 100, 'branch-misses': 10 }), undefined);
	assert.match(
		says('cache_misses', { 'cache-references': 100, 'cache-misses': 21 }) ?? '',
		/^21 % of cache references/,
	);
	assert.equal(says('cache_misses', { 'cache-references': 100, 'cache-misses': 20 }), undefined);
});

test('switches, migrations, faults: rates of wall-clock time', () => {
	// Each is the count of 2 seconds.
	assert.match(
		says('switches', { 'context-switches': 24_000 }) ?? '',
		/^12,000 switches\/s: .*about 5 % of a CPU/,
	);
	assert.equal(says('switches', { 'context-switches': 19_999 }), undefined);
	assert.equal(says('switches', { 'context-switches': 99_999 }, { of: 'cpus' }), undefined);
	assert.match(says('migrations', { 'cpu-migrations': 400 }) ?? '', /^200 migrations\/s/);
	assert.equal(says('migrations', { 'cpu-migrations': 399 }), undefined);
	assert.match(says('major_faults', { 'major-faults': 20 }) ?? '', /^10 major faults\/s/);
	assert.equal(says('major_faults', { 'major-faults': 19 }), undefined);
	assert.match(
		says('minor_faults', { 'minor-faults': 200_000 }) ?? '',
		/^100,000 minor faults\/s.*-c 1 -p 812`/,
	);
	assert.equal(says('minor_faults', { 'minor-faults': 199_999 }), undefined);
});

test('rates of an event by whatever name, and where this user may count in user space only', () => {
	assert.ok(says('switches', { cs: 24_000 }));
	assert.ok(says('migrations', { migrations: 500 }));
	assert.match(says('major_faults', { 'major-faults:u': 30 }) ?? '', /^15 major/);
	assert.match(says('minor_faults', { 'minor-faults:u': 240_000 }) ?? '', /^120,000 minor/);
	assert.match(
		says('instructions', { 'cpu-cycles:ku': 10, 'instructions:uk': 25 }) ?? '',
		/^2\.5 /,
	);
	assert.equal(says('instructions', { 'cycles:k': 10, 'instructions:k': 25 }), undefined);
});

test('switches and migrations happen in the kernel: a count of user space says nothing of them', () => {
	assert.equal(says('switches', { 'cs:u': 99_999 }), undefined);
	assert.equal(says('migrations', { 'migrations:u': 99_999 }), undefined);
	assert.match(says('switches', { 'cs:u': 99_999, cs: 24_000 }) ?? '', /^12,000 /);
	assert.match(says('switches', { 'cs:k': 24_000 }) ?? '', /^12,000 /);
	assert.match(says('major_faults', { 'major-faults:u': 20, 'major-faults': 60 }) ?? '', /^30 /);
});

test('scaled counts say so', () => {
	const rows = [row('cycles', 10, { counted_share: 0.4 })];
	assert.match(says('scaled', {}, { rows }) ?? '', /took turns on the counters/);
	const uncounted = [row('cycles', null, { counted_share: 0 }), row('branches', 1)];
	assert.equal(says('scaled', {}, { rows: uncounted }), undefined);
});

test('every rule has a test here', () => {
	const tested =
		'busy waits one_cpu all_cpus instructions stalled_cycles_frontend stalled_cycles_backend branch_misses cache_misses switches migrations major_faults minor_faults scaled';
	assert.deepEqual(
		RULES.map(({ name }) => name),
		tested.split(' '),
	);
});

/** The error that is stated of a sum, whatever was merged and split: what waits that are known have. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	groupStacks,
	mergeStacks,
	type StackFindings,
	type StackRow,
	splitStacks,
	totalOf,
} from '../../../src/aggregate/stack-rows.js';
import { renderJson } from '../../../src/render/json.js';
import { randomFrom } from '../../random.js';

const PERIOD_NS = 1_000_000;
const PARTS = ['blocked', 'run queue', 'preempted'];
const RUNS = 400;

/** A stack whose waits are all alike but for their length: so many, each up to so long, in these parts. */
interface Known {
	readonly pid: number;
	readonly tid: number;
	readonly frame: string;
	readonly waits_ns: readonly number[];
	readonly shares: readonly number[];
}

const lengths = randomFrom(3);
const waitsUpTo = (count: number, most_ns: number) =>
	Array.from({ length: count }, () => Math.ceil((lengths() / 2 ** 32) * most_ns));

const KNOWN: readonly Known[] = [
	{ pid: 1, tid: 1, frame: 'read', waits_ns: waitsUpTo(300, 150_000), shares: [0.7, 0.3, 0] },
	{ pid: 1, tid: 2, frame: 'read', waits_ns: waitsUpTo(200, 900_000), shares: [0.9, 0.1, 0] },
	{ pid: 2, tid: 3, frame: 'read', waits_ns: waitsUpTo(400, 500_000), shares: [0.5, 0.5, 0] },
	{ pid: 2, tid: 3, frame: 'main', waits_ns: waitsUpTo(100, 800_000), shares: [0, 0, 1] },
	// Every one of them is kept: nothing of it is an estimate.
	{ pid: 3, tid: 4, frame: 'fsync', waits_ns: [2_000_000, 7_000_000], shares: [0.8, 0.2, 0] },
];

/** As bpf/lib/sampling.h chooses, and src/bpf/stacks/sums.ts adds up. */
function sampled({ pid, tid, frame, waits_ns, shares }: Known, random: () => number): StackRow {
	const sum = { value: 0, count: 0, variance: 0 };
	for (const wait_ns of waits_ns) {
		const chance = Math.min(1, wait_ns / PERIOD_NS);
		if (random() / 2 ** 32 >= chance) continue;
		sum.value += wait_ns / chance;
		sum.count += 1 / chance;
		sum.variance += (1 - chance) * PERIOD_NS ** 2;
	}
	const frames = [{ name: frame, kind: 'user' }] as const;
	const parts = shares.map((share) => share * sum.value);
	return { key: { pid, tid, comm: 'app' }, frames, parts, ...sum };
}

/** The square of the error of what is left of these waits, a share of each. */
const varianceOf = (all: readonly Known[], shareOf: (known: Known) => number) =>
	all.reduce((sum, known) => {
		const of = known.waits_ns.reduce((v, d) => v + (d < PERIOD_NS ? d * (PERIOD_NS - d) : 0), 0);
		return sum + shareOf(known) ** 2 * of;
	}, 0);

/** What becomes of the rows, by name, and of which waits that is. */
type Result = ReadonlyMap<string, StackRow>;
type Waits = (name: string) => { of: readonly Known[]; share?: (known: Known) => number };

const named = (rows: readonly StackRow[], name: (row: StackRow) => string): Result =>
	new Map(rows.map((row) => [name(row), row]));
const frameOf = ({ frames }: Pick<StackRow, 'frames'>) => frames[0]?.name ?? '';
const findings = (stacks: readonly StackRow[], parts = PARTS): StackFindings => ({
	kind: 'stacks',
	unit: 'ns',
	about: {},
	noun: 'wait',
	parts,
	stacks,
	notices: [],
});

const WAYS: Readonly<Record<string, readonly [(rows: StackRow[]) => Result, Waits]>> = {
	'threads of a process, added up': [
		(rows) => named(groupStacks(rows, 'process'), (row) => `${row.key.pid} ${frameOf(row)}`),
		(name) => ({ of: KNOWN.filter(({ pid, frame }) => name === `${pid} ${frame}`) }),
	],
	'all of a name, added up': [
		(rows) => named(groupStacks(rows, 'comm'), frameOf),
		(name) => ({ of: KNOWN.filter(({ frame }) => name === frame) }),
	],
	'rows that read the same': [
		(rows) => named(mergeStacks(rows.map((row) => ({ ...row, key: {} }))), frameOf),
		(name) => ({ of: KNOWN.filter(({ frame }) => name === frame) }),
	],
	'the total': [
		(rows) => new Map([['all', totalOf({ stacks: rows, parts: PARTS })]]),
		() => ({ of: KNOWN }),
	],
	'each part for itself': [
		(rows) =>
			named(splitStacks(findings(rows)), ({ key, frames }) =>
				[key.part, key.tid, frames[0]?.name].join(':'),
			),
		(name) => {
			const [part = '', tid, frame] = name.split(':');
			const share = ({ shares }: Known) => shares[PARTS.indexOf(part)] ?? 0;
			return { of: KNOWN.filter((each) => `${each.tid}` === tid && each.frame === frame), share };
		},
	],
};

for (const [way, [become, waits]] of Object.entries(WAYS)) {
	test(`${way}: the error is that of the waits, within a factor of 1.3`, () => {
		const stated = new Map<string, number>();
		const squares = new Map<string, number>();
		const add = (to: Map<string, number>, name: string, more: number) =>
			to.set(name, (to.get(name) ?? 0) + more / RUNS);
		const random = randomFrom(1);
		for (let run = 1; run <= RUNS; run++) {
			const rows = KNOWN.map((known) => sampled(known, random));
			for (const [name, { value, variance }] of become(rows)) {
				const { of, share = () => 1 } = waits(name);
				const truth = of.reduce(
					(sum, known) => sum + share(known) * known.waits_ns.reduce((a, b) => a + b, 0),
					0,
				);
				add(stated, name, variance);
				add(squares, name, (value - truth) ** 2);
			}
		}
		assert.ok(stated.size > 0);
		for (const [name, variance] of stated) {
			const { of, share = () => 1 } = waits(name);
			const due = Math.sqrt(varianceOf(of, share));
			if (due === 0) {
				assert.equal(variance, 0, name);
				continue;
			}
			for (const [what, error] of [
				['stated', Math.sqrt(variance)],
				['made', Math.sqrt(squares.get(name) ?? 0)],
			] as const)
				assert.ok(error < due * 1.3 && error > due / 1.3, `${name}: ${error} ${what}, not ${due}`);
		}
	});
}

test('JSON has the error and not its square; values are rounded to the nearest', async () => {
	const row = {
		...(sampled(KNOWN[4] as Known, () => 0) as StackRow),
		value: 10.6,
		variance: 90.25,
	};
	let text = '';
	const report = {
		tool: 'offcputime',
		circumstances: { command: [], host: '', kernel: '', arch: '', filters: {} },
		start: new Date(0),
		duration_ns: 1e9,
		findings: findings([{ ...row, parts: [1.5, 2.4, 6.7] }]),
		lost: {},
		cost: { programs: undefined, own_ns: 0, own_pct: 0 },
	};
	for await (const piece of renderJson(report)) text += piece;
	const [stack] = JSON.parse(text).stacks;
	assert.deepEqual(
		[stack.value, stack.error, stack.blocked, stack.run_queue, stack.preempted],
		[11, 10, 2, 2, 7],
	);
});

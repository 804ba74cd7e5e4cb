import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Guarded } from '../../../bench/experiments/measure.js';
import { runRounds } from '../../../bench/experiments/rounds.js';
import { conclude, explain, judge, NOT_IN_BASE } from '../../../bench/guard/judge.js';
import { sidesOf } from '../../../bench/guard/sides.js';
import { Failed } from '../../../bench/shared/children.js';
import { firstLine_ms, TSTRACE, traced } from '../../../bench/shared/tracer.js';

const WORK = {
	workload: 'tstrace x: work',
	figures: [
		{ key: 'ns', name: 'BPF time per context switch', unit: 'ns' },
		{ key: 'mb', name: 'peak resident memory', unit: 'MB', digits: 0, bound: 1.1 },
	],
};

type Samples = Record<string, readonly Record<string, number>[]>;

/** What is judged of these samples, by side. */
const judged = (samples: Samples) =>
	judge(WORK, { samples: new Map(Object.entries(samples)), missing: [], rounds: 1 });
const kinds = (samples: Samples) => judged(samples).map(({ kind }) => kind);

test('a ratio may be as large as its bound, and no larger', () => {
	const base = [{ ns: 100, mb: 100 }];
	assert.deepEqual(kinds({ base, now: [{ ns: 125, mb: 110 }] }), ['fine', 'fine']);
	assert.deepEqual(kinds({ base, now: [{ ns: 126, mb: 110 }] }), ['worse', 'fine']);
	assert.deepEqual(kinds({ base, now: [{ ns: 125, mb: 111 }] }), ['fine', 'worse']);
	assert.deepEqual(kinds({ base, now: [{ ns: 1, mb: 1 }] }), ['fine', 'fine']);
});

test('ratios are of the same round: a busy machine slows both', () => {
	const [first] = judged({
		base: [100, 1000, 100].map((ns) => ({ ns })),
		now: [110, 1100, 300].map((ns) => ({ ns })),
	});
	assert.ok(first?.kind === 'fine');
	assert.deepEqual(
		[first.base, first.now, first.ratio.median, first.ratio.max],
		[100, 300, 1.1, 3],
	);
	assert.equal(
		explain(first),
		'  1.100 (1.100 – 3.000) ≤ 1.25  100.0 → 300.0 ns  BPF time per context switch',
	);
	assert.ok(explain(first).length <= 80);
});

test('what was not measured fails', () => {
	const verdicts = judged({ base: [{ ns: 1 }], now: [{ ns: 1 }] });
	assert.deepEqual(verdicts[1], {
		...{ kind: 'failed', workload: WORK.workload, why: 'no peak resident memory' },
	});
});

/** The guard's verdicts, if one tstrace or both end like this. */
async function judgedWhere(failures: { base?: Error; now?: Error }) {
	const guarded: Guarded = {
		...WORK,
		side: (program) => ({
			...{ name: 'tstrace x', command: program },
			run: async () => {
				const failure = program === TSTRACE ? failures.now : failures.base;
				if (failure) throw failure;
				return { ns: 1, mb: 1 };
			},
		}),
	};
	const sides = sidesOf(guarded, 'base/bin/tstrace');
	return judge(guarded, await runRounds({ ...guarded, sides }, 2));
}

test('what the base does not know is skipped; all else that fails is a failure', async () => {
	const unknown = new Failed('tstrace ended: unknown option --new', 2);
	const broken = new Failed('tstrace ended: no such map\nand more', 1);
	const { workload } = WORK;
	assert.deepEqual(await judgedWhere({ base: unknown }), [
		{ kind: 'skipped', workload, why: NOT_IN_BASE },
	]);
	const why = 'tstrace ended: no such map';
	assert.deepEqual(await judgedWhere({ base: broken }), [
		{ kind: 'failed', workload, why: `base failed: ${why}` },
	]);
	assert.deepEqual(await judgedWhere({ base: unknown, now: broken }), [
		{ kind: 'failed', workload, why: `now failed: ${why}` },
	]);
	const [verdict] = await judgedWhere({ now: unknown });
	assert.equal(verdict?.kind, 'failed');
	assert.equal((await judgedWhere({})).length, 2);
});

test('a command that does not know its words says so by its status', async () => {
	const command = ['sh', '-c', 'echo "tstrace: unknown option --new" >&2; exit 2'];
	const refused = (error: unknown) =>
		error instanceof Failed && error.status === 2 && /unknown option/.test(error.message);
	await assert.rejects(firstLine_ms(command, /^Tracing /m), refused);
	await assert.rejects(
		traced({ command }, async () => undefined),
		refused,
	);
});

test('the guard passes if something was compared, and nothing is worse or failed', async () => {
	const fine = judged({ base: [{ ns: 2, mb: 1 }], now: [{ ns: 1, mb: 1 }] });
	const worse = judged({ base: [{ ns: 1, mb: 1 }], now: [{ ns: 2, mb: 1 }] });
	const skipped = await judgedWhere({ base: new Failed('unknown', 2) });
	const failed = await judgedWhere({ base: new Failed('broken', 1) });
	const passes = (...verdicts: (typeof fine)[]) => conclude(verdicts.flat()).passes;
	assert.deepEqual(
		[passes(fine), passes(fine, skipped), passes(fine, worse), passes(fine, failed)],
		[true, true, false, false],
	);
	assert.deepEqual([passes(), passes(skipped)], [false, false]);
	assert.equal(
		conclude([...worse, ...skipped]).text,
		[
			'2 ratios, 1 above the bound; 1 skipped; 0 failed',
			'tstrace x: work',
			'  2.000 > 1.25  1.0 → 2.0 ns  BPF time per context switch',
		].join('\n'),
	);
	assert.match(conclude(skipped).text, /\nnothing was compared$/);
});

/**
 * `make bench-guard`: whether this tstrace costs more than the base commit's. Both do the same work
 * on this machine, round after round.
 *
 * usage: main.js [--base COMMIT] [TOOL...]
 *
 * ROUNDS=N: how many rounds.
 */
import { parseArgs } from 'node:util';
import type { Benchmark, Guarded } from '../experiments/measure.js';
import { runRounds } from '../experiments/rounds.js';
import { endOnSignals } from '../shared/children.js';
import { openScratch } from '../shared/scratch.js';
import { BENCHMARKS } from '../tools/all.js';
import { buildBase, describe, findBase, NoBase } from './base.js';
import { conclude, explain, isWorse, judge, type Verdict } from './judge.js';
import { sidesOf } from './sides.js';

const ROUNDS = Number(process.env.ROUNDS || 5);
/** Once more, for what seemed worse: the machine may have been busy. */
const AGAIN_ROUNDS = 2 * ROUNDS + 1;

const out = (text: string) => process.stdout.write(`${text}\n`);

const TOOLS = BENCHMARKS.map(({ tool }) => tool);
const USAGE = `usage: make bench-guard [BASE=COMMIT] [TOOL=${TOOLS.join('|')}] [ROUNDS=N]`;

class Usage extends Error {}

async function guard(guarded: Guarded, program: string): Promise<Verdict[]> {
	out(`\n${guarded.workload}`);
	const judged = async (rounds: number) => {
		const experiment = { ...guarded, sides: sidesOf(guarded, program) };
		const verdicts = judge(guarded, await runRounds(experiment, rounds));
		for (const verdict of verdicts) out(explain(verdict));
		return verdicts;
	};
	const verdicts = await judged(ROUNDS);
	if (!verdicts.some(isWorse)) return verdicts;
	out(`  worse: again, in ${AGAIN_ROUNDS} rounds`);
	return judged(AGAIN_ROUNDS);
}

function asked(): { base: string | undefined; chosen: readonly Benchmark[] } {
	const { values, positionals } = parseArgs({
		options: { base: { type: 'string' } },
		allowPositionals: true,
	});
	if (positionals.some((name) => !TOOLS.includes(name)) || !(ROUNDS > 0)) throw new Usage(USAGE);
	const chosen = BENCHMARKS.filter(
		({ tool }) => positionals.length === 0 || positionals.includes(tool),
	);
	return { base: values.base, chosen };
}

async function main(): Promise<number> {
	const { base, chosen } = asked();
	const commit = findBase(base);
	out(`base: ${describe(commit)}`);
	openScratch();
	const program = await buildBase(commit);
	out(`Ratio now / base: median (least – most), bound; values base → now. Rounds: ${ROUNDS}.`);
	const verdicts: Verdict[] = [];
	for (const { guarded } of chosen)
		for (const each of guarded) verdicts.push(...(await guard(each, program)));
	const { text, passes } = conclude(verdicts);
	out(`\n${text}`);
	return passes ? 0 : 1;
}

endOnSignals();
try {
	process.exitCode = await main();
} catch (error) {
	if (!(error instanceof Usage || error instanceof NoBase)) throw error;
	process.stderr.write(`bench-guard: ${error.message}\n`);
	process.exitCode = 2;
}

/**
 * `make bench`: measures the tools beside their peers, prints the figures, and writes
 * docs/benchmarks.json and docs/benchmarks.md. `make bench-guard`: measures the guarded ratios again.
 *
 * usage: main.js [--guard] [TOOL...]
 *
 * ROUNDS=N: how many rounds; what is written goes to build/ if they are fewer than 5. QUICK=1: two.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { explain, guardedPart, isWorse, judge, TOLERANCE, type Verdict } from './guard.js';
import { commit, machine } from './machine.js';
import { renderMarkdown } from './markdown.js';
import type { Benchmark, Experiment } from './measure.js';
import { allPeers } from './peers.js';
import {
	type Benchmarks,
	type FigureResult,
	figureResult,
	figuresOf,
	mergeFigures,
} from './results.js';
import { runRounds } from './rounds.js';
import { openScratch } from './scratch.js';
import { renderFigure } from './text.js';
import { BENCHMARKS } from './tools/all.js';
import { sinceMs } from './tracer.js';

const RECORDED = 'docs/benchmarks.json';
const QUICK = process.env.QUICK === '1';
const ROUNDS = Number(process.env.ROUNDS || (QUICK ? 2 : 7));
const GUARD_ROUNDS = Number(process.env.ROUNDS || 3);
/** Once more, for what seemed worse: the machine may have been busy. */
const GUARD_AGAIN_ROUNDS = 2 * GUARD_ROUNDS + 1;
/** Fewer are not worth recording; an experiment's own number of rounds is. */
const RECORDED_ROUNDS = 5;
const OUT = QUICK || ROUNDS < RECORDED_ROUNDS ? 'build' : 'docs';
const COMMIT = commit();

const toolsInOrder = BENCHMARKS.map(({ tool }) => tool);

const out = (text: string) => process.stdout.write(`${text}\n`);

async function measure(tool: string, experiment: Experiment, rounds: number) {
	const begin = process.hrtime.bigint();
	const runs = await runRounds(experiment, rounds);
	out(`rounds: ${runs.rounds}, in ${(sinceMs(begin) / 1000).toFixed(0)} s`);
	const origin = { date: new Date().toISOString(), commit: COMMIT };
	const results = experiment.figures
		.map((figure) => figureResult(tool, experiment, figure, runs, origin))
		.filter(({ sides }) => sides.length > 0);
	for (const result of results) out(renderFigure(result));
	for (const { name, why } of runs.missing) out(`not measured: ${name}: ${why}\n`);
	return results;
}

async function measureAll({ tool, experiments }: Benchmark, rounds: number) {
	const results: FigureResult[] = [];
	out(`== ${tool}\n`);
	for (const experiment of experiments) {
		out(`${experiment.workload}\n`);
		results.push(...(await measure(tool, experiment, rounds)));
	}
	return results;
}

function recorded(): Benchmarks | undefined {
	try {
		return JSON.parse(readFileSync(RECORDED, 'utf8'));
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
		throw error;
	}
}

/** Writes after each tool: all of them take half an hour, and may be interrupted. */
async function bench(chosen: readonly Benchmark[]): Promise<void> {
	const begin = process.hrtime.bigint();
	const before = figuresOf(recorded(), machine());
	const fresh: FigureResult[] = [];
	for (const each of chosen) {
		fresh.push(...(await measureAll(each, ROUNDS)));
		write(mergeFigures(before, fresh, toolsInOrder));
	}
	out(`written: ${OUT}/benchmarks.json, ${OUT}/benchmarks.md`);
	if (OUT !== 'docs') out(`not recorded in docs: that takes ${RECORDED_ROUNDS} rounds or more`);
	out(`took ${(sinceMs(begin) / 60_000).toFixed(1)} minutes`);
}

function write(figures: readonly FigureResult[]): void {
	const benchmarks: Benchmarks = {
		schema: 1,
		command: 'make bench',
		date: new Date().toISOString(),
		machine: machine(),
		peers: allPeers(),
		figures,
	};
	mkdirSync(OUT, { recursive: true });
	writeFileSync(`${OUT}/benchmarks.json`, `${JSON.stringify(benchmarks, null, '\t')}\n`);
	writeFileSync(`${OUT}/benchmarks.md`, renderMarkdown(benchmarks));
}

/** Whether every guarded ratio was compared, and none is worse. */
async function guard(chosen: readonly Benchmark[]): Promise<boolean> {
	const before = recorded()?.figures ?? [];
	const verdicts: Verdict[] = [];
	for (const { tool, experiments } of chosen) {
		const known = before.filter((figure) => figure.tool === tool);
		const parts = experiments.flatMap((each) => guardedPart(each) ?? []);
		const results: FigureResult[] = [];
		for (const part of parts) {
			out(`== ${tool}: ${part.workload}\n`);
			let now = await measure(tool, part, GUARD_ROUNDS);
			if (judge([part], known, now).some(isWorse)) {
				out('worse than recorded; once more, with more rounds\n');
				now = await measure(tool, part, GUARD_AGAIN_ROUNDS);
			}
			results.push(...now);
		}
		verdicts.push(
			...judge(parts, known, results).map((each) => ({ ...each, what: `${tool}: ${each.what}` })),
		);
	}
	out(`Ratios against ${RECORDED}; ${TOLERANCE} times what is recorded is too much:`);
	for (const verdict of verdicts) out(explain(verdict));
	const compared = verdicts.filter(({ gap }) => gap === undefined);
	if (compared.length === 0)
		out('nothing could be compared: `make bench` records, with the peers installed');
	return compared.length > 0 && !verdicts.some(({ fails }) => fails);
}

// So that no child outlives us: children.ts kills them as this process exits.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
	process.once(signal, () => process.exit(1));
const args = process.argv.slice(2);
const names = args.filter((word) => word !== '--guard');
const chosen = BENCHMARKS.filter(({ tool }) => names.length === 0 || names.includes(tool));
if (chosen.length < names.length || !(ROUNDS > 0)) {
	out(
		`usage: make bench [TOOL=${BENCHMARKS.map(({ tool }) => tool).join('|')}] [ROUNDS=N] [QUICK=1]`,
	);
	process.exitCode = 2;
} else if (args.includes('--guard')) {
	openScratch();
	process.exitCode = (await guard(chosen)) ? 0 : 1;
} else {
	openScratch();
	await bench(chosen);
}

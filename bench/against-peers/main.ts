/**
 * `make bench`: measures the tools beside their peers, prints the figures, and writes
 * docs/benchmarks.json and docs/benchmarks.md.
 *
 * usage: main.js [TOOL...]
 *
 * ROUNDS=N: how many rounds; what is written goes to build/ if they are fewer than 5. QUICK=1: two.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { release } from 'node:os';
import type { Benchmark, Experiment } from '../experiments/measure.js';
import {
	type Benchmarks,
	type FigureResult,
	figureResult,
	figuresOf,
	mergeFigures,
} from '../experiments/results.js';
import { runRounds } from '../experiments/rounds.js';
import { endOnSignals } from '../shared/children.js';
import { commit, machine } from '../shared/machine.js';
import { allPeers } from '../shared/peers.js';
import { openScratch } from '../shared/scratch.js';
import { sinceMs } from '../shared/tracer.js';
import { BENCHMARKS } from '../tools/all.js';
import { renderMarkdown } from './markdown.js';
import { renderFigure } from './text.js';

const RECORDED = 'docs/benchmarks.json';
const QUICK = process.env.QUICK === '1';
const ROUNDS = Number(process.env.ROUNDS || (QUICK ? 2 : 7));
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
	const origin = { date: new Date().toISOString(), commit: COMMIT, kernel: release() };
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
	const record = recorded();
	const before = figuresOf(record, machine());
	if (record && before.length === 0)
		out(`${RECORDED} is of another machine: its figures are not kept beside those of this one`);
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

endOnSignals();
const names = process.argv.slice(2);
const chosen = BENCHMARKS.filter(({ tool }) => names.length === 0 || names.includes(tool));
if (chosen.length < names.length || !(ROUNDS > 0)) {
	out(
		`usage: make bench [TOOL=${BENCHMARKS.map(({ tool }) => tool).join('|')}] [ROUNDS=N] [QUICK=1]`,
	);
	process.exitCode = 2;
} else {
	openScratch();
	await bench(chosen);
}
